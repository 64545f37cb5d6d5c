#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> logical_fuzz() { return {}; }

}  // namespace tenure::testing
