#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> matrix_fuzz() { return {}; }

}  // namespace tenure::testing
