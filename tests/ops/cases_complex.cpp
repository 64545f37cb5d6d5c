#include "case.h"

namespace tenure::testing {

std::vector<Case> complex_cases() { return {}; }

}  // namespace tenure::testing
