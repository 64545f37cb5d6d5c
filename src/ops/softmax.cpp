#include "ops/families.h"

namespace tenure {
namespace ops {

Family softmax_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
