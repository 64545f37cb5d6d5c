#include "ops/families.h"

namespace tenure {
namespace ops {

Family space_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
