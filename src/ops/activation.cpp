#include "ops/families.h"

namespace tenure {
namespace ops {

Family activation_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
