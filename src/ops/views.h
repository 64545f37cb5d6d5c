#pragma once

#include "ops/op_def.h"

namespace tenure::ops {

extern const OpDef kCopy;  // row-major copy of any layout; the same value

}  // namespace tenure::ops
