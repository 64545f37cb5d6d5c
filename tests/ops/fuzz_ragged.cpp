#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> ragged_fuzz() { return {}; }

}  // namespace tenure::testing
