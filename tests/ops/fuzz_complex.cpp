#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> complex_fuzz() { return {}; }

}  // namespace tenure::testing
