#include "ops/families.h"

namespace tenure {
namespace ops {

Family matrix_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
