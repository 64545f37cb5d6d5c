#include "ops/families.h"

namespace tenure {
namespace ops {

Family maths_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
