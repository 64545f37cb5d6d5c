#include "case.h"

namespace tenure::testing {

std::vector<Case> softmax_cases() { return {}; }

}  // namespace tenure::testing
