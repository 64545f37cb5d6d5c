#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> scan_fuzz() { return {}; }

}  // namespace tenure::testing
