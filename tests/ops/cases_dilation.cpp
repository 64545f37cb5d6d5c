#include "case.h"

namespace tenure::testing {

std::vector<Case> dilation_cases() { return {}; }

}  // namespace tenure::testing
