// What the files of elementwise ops share.
#pragma once

#include "ops/op_def.h"
#include "ops/promote.h"

namespace tenure::ops {

inline constexpr Inputs kEither = input(0) | input(1);
inline constexpr const char* kSteps = "its result changes only in steps";

// The gradient of one operand: `flow()` summed down to the operand's shape, if anyone needs it.
Tensor operand(GradContext& g, int i, auto&& flow) {
  return g.needs(i) ? unbroadcast(flow(), g.x_shape(i)) : Tensor();
}

// Runs an op of one input; integers and bool become float32.
Tensor on_floats(const OpDef& op, Arg&& x, AttrsRef attrs = {});
// Runs an op of one input; bool becomes int32.
Tensor on_numbers(const OpDef& op, Arg&& x);
// Runs an op of two inputs whose dtypes are made to agree; with `arithmetic`, bool becomes int32.
Tensor binary(const OpDef& op, Arg& a, Arg& b, bool arithmetic = true);
// The same; integers, bool and numbers become floats.
Tensor binary_on_floats(const OpDef& op, Arg& a, Arg& b);

}  // namespace tenure::ops
