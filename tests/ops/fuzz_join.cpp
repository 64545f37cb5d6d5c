#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> join_fuzz() { return {}; }

}  // namespace tenure::testing
