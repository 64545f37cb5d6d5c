#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> image_fuzz() { return {}; }

}  // namespace tenure::testing
