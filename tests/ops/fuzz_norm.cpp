#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> norm_fuzz() { return {}; }

}  // namespace tenure::testing
