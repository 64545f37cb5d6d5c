#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> matmul_fuzz() { return {}; }

}  // namespace tenure::testing
