#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> sorting_fuzz() { return {}; }

}  // namespace tenure::testing
