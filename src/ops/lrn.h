#pragma once

#include "ops/op_def.h"

namespace tenure::ops {

extern const OpDef kLocalResponse;
extern const OpDef kLocalResponseGrad;

}  // namespace tenure::ops
