#include "ops/families.h"

namespace tenure {
namespace ops {

Family norm_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
