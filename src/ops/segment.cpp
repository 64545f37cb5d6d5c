#include "ops/families.h"

namespace tenure {
namespace ops {

Family segment_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
