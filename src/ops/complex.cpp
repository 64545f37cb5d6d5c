#include "ops/families.h"

namespace tenure {
namespace ops {

Family complex_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
