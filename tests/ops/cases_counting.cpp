#include "case.h"

namespace tenure::testing {

std::vector<Case> counting_cases() { return {}; }

}  // namespace tenure::testing
