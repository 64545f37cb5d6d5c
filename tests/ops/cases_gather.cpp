#include "case.h"

namespace tenure::testing {

std::vector<Case> gather_cases() { return {}; }

}  // namespace tenure::testing
