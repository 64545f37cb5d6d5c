#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> counting_fuzz() { return {}; }

}  // namespace tenure::testing
