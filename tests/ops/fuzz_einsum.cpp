#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> einsum_fuzz() { return {}; }

}  // namespace tenure::testing
