#include "case.h"

namespace tenure::testing {

std::vector<Case> segment_cases() { return {}; }

}  // namespace tenure::testing
