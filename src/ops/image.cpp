#include "ops/families.h"

namespace tenure {
namespace ops {

Family image_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
