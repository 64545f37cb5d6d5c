#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> decomposition_fuzz() { return {}; }

}  // namespace tenure::testing
