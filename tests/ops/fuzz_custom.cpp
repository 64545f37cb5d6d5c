#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> custom_fuzz() { return {}; }

}  // namespace tenure::testing
