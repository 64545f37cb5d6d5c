#include "ops/families.h"

namespace tenure {
namespace ops {

Family convolution_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
