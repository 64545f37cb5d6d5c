#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> space_fuzz() { return {}; }

}  // namespace tenure::testing
