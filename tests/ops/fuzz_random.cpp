#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> random_fuzz() { return {}; }

}  // namespace tenure::testing
