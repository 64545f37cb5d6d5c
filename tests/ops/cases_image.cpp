#include "case.h"

namespace tenure::testing {

std::vector<Case> image_cases() { return {}; }

}  // namespace tenure::testing
