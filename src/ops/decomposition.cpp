#include "ops/families.h"

namespace tenure {
namespace ops {

Family decomposition_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
