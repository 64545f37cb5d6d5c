#include "ops/families.h"

namespace tenure {
namespace ops {

Family boxes_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
