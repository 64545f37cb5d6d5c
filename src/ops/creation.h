#pragma once

#include "ops/op_def.h"

namespace tenure::ops {

extern const OpDef kFill;  // FillAttrs

}  // namespace tenure::ops
