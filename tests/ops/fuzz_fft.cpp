#include "fuzz.h"

namespace tenure::testing {

std::vector<Fuzz> fft_fuzz() { return {}; }

}  // namespace tenure::testing
