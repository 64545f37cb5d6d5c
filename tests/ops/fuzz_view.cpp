#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> view_fuzz() { return {}; }

}  // namespace tenure::testing
