#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> segment_fuzz() { return {}; }

}  // namespace tenure::testing
