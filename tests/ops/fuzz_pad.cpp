#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> pad_fuzz() { return {}; }

}  // namespace tenure::testing
