#include "ops/families.h"

namespace tenure {
namespace ops {

Family dilation_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
