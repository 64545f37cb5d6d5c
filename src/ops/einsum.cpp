#include "ops/families.h"

namespace tenure {
namespace ops {

Family einsum_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
