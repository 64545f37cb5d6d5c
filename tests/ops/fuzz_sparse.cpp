#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> sparse_fuzz() { return {}; }

}  // namespace tenure::testing
