#include "ops/families.h"

namespace tenure {
namespace ops {

Family logical_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
