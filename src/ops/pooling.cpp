#include "ops/families.h"

namespace tenure {
namespace ops {

Family pooling_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
