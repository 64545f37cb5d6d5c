#include "ops/families.h"

namespace tenure {
namespace ops {

Family fft_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
