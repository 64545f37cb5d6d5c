#include "ops/families.h"

namespace tenure {
namespace ops {

Family sampling_ops() { return {}; }

}  // namespace ops
}  // namespace tenure
