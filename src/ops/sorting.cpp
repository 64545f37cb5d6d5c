#include "ops/families.h"

namespace tenure {
namespace ops {

Family sorting_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
