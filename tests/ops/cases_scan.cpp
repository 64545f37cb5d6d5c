#include "case.h"

namespace tenure::testing {

std::vector<Case> scan_cases() { return {}; }

}  // namespace tenure::testing
