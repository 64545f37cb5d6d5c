#include "ops/families.h"

namespace tenure {
namespace ops {

Family pad_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
