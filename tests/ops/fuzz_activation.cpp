#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> activation_fuzz() { return {}; }

}  // namespace tenure::testing
