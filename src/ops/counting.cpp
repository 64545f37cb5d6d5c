#include "ops/families.h"

namespace tenure {
namespace ops {

Family counting_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
