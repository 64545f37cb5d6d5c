#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> sampling_fuzz() { return {}; }

}  // namespace tenure::testing
