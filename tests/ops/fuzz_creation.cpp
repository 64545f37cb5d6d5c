#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> creation_fuzz() { return {}; }

}  // namespace tenure::testing
