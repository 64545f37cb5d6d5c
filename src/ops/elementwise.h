// What the files of elementwise ops share.
#pragma once

#include "ops/op_def.h"
#include "ops/promote.h"
#include "ops/shapes.h"

namespace tenure::ops {

inline constexpr Inputs kEither = input(0) | input(1);
inline constexpr const char* kSteps = "its result changes only in steps";

// A function of one value, and of what it keeps for its gradient; without one it changes in steps.
constexpr OpDef of_one(const char* name, const char* tfjs, Takes takes, GradKeeps keeps = {},
                       Grads (*grad)(GradContext&) = nullptr) {
  return {.name = name,
          .infer = same_shape,
          .tfjs = tfjs,
          .takes = takes,
          .accepts = Accepts::elementwise,
          .may_overwrite = input(0),
          .grad_keeps = keeps,
          .grad = grad,
          .no_gradient = grad == nullptr ? kSteps : nullptr};
}

// The same of two, which broadcast.
constexpr OpDef of_two(const char* name, const char* tfjs, Takes takes, GradKeeps keeps = {},
                       Grads (*grad)(GradContext&) = nullptr) {
  OpDef op = of_one(name, tfjs, takes, keeps, grad);
  op.infer = broadcast;
  op.inputs = 2;
  op.may_overwrite = kEither;
  return op;
}

// The gradient of one operand: `flow()` summed down to the operand's shape, if anyone needs it.
Tensor operand(GradContext& g, int i, auto&& flow) {
  return g.needs(i) ? unbroadcast(flow(), g.x_shape(i)) : Tensor();
}

}  // namespace tenure::ops
