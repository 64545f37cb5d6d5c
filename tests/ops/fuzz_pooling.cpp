#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> pooling_fuzz() { return {}; }

}  // namespace tenure::testing
