#include "ops/families.h"

namespace tenure {
namespace ops {

Family gather_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
