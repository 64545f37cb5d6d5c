#include "case.h"

namespace tenure::testing {

std::vector<Case> maths_cases() { return {}; }

}  // namespace tenure::testing
