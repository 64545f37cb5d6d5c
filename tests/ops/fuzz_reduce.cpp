#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> reduce_fuzz() { return {}; }

}  // namespace tenure::testing
