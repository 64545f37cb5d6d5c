#include "case.h"

namespace tenure::testing {

std::vector<Case> pad_cases() { return {}; }

}  // namespace tenure::testing
