#pragma once

#include "ops/op_def.h"

namespace tenure::ops {

extern const OpDef kSub;
extern const OpDef kMul;
extern const OpDef kDiv;
extern const OpDef kNeg;
extern const OpDef kMatmul;
extern const OpDef kCast;

}  // namespace tenure::ops
