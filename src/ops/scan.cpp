#include "ops/families.h"

namespace tenure {
namespace ops {

Family scan_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
