#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> convolution_fuzz() { return {}; }

}  // namespace tenure::testing
