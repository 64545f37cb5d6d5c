#include "ops/families.h"

namespace tenure {
namespace ops {

Family sparse_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
