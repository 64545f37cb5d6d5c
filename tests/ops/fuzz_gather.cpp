#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> gather_fuzz() { return {}; }

}  // namespace tenure::testing
