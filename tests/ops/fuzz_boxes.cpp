#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> boxes_fuzz() { return {}; }

}  // namespace tenure::testing
