#include "ops/families.h"

namespace tenure {
namespace ops {

Family ragged_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
