#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> dilation_fuzz() { return {}; }

}  // namespace tenure::testing
