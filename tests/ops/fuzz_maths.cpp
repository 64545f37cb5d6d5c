#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> maths_fuzz() { return {}; }

}  // namespace tenure::testing
