// What the files of elementwise ops share.
#pragma once

#include "ops/op_def.h"
#include "ops/promote.h"
#include "ops/shapes.h"

namespace tenure::ops {

inline constexpr Inputs kEither = input(0) | input(1);
inline constexpr const char* kSteps = "its result changes only in steps";

// A function of one value whose result changes in steps, and one with a gradient.
constexpr OpDef of_one(const char* name, const char* tfjs, Takes takes) {
  return {.name = name,
          .infer = same_shape,
          .tfjs = tfjs,
          .takes = takes,
          .accepts = Accepts::elementwise,
          .may_overwrite = input(0),
          .no_gradient = kSteps};
}

constexpr OpDef of_one(const char* name, const char* tfjs, Takes takes, GradKeeps keeps,
                       Grads (*grad)(GradContext&)) {
  OpDef op = of_one(name, tfjs, takes);
  op.grad_keeps = keeps;
  op.grad = grad;
  op.no_gradient = nullptr;
  return op;
}

// The same of two, which broadcast.
constexpr OpDef of_two(OpDef op) {
  op.infer = broadcast;
  op.inputs = 2;
  op.may_overwrite = kEither;
  return op;
}

constexpr OpDef of_two(const char* name, const char* tfjs, Takes takes) {
  return of_two(of_one(name, tfjs, takes));
}

constexpr OpDef of_two(const char* name, const char* tfjs, Takes takes, GradKeeps keeps,
                       Grads (*grad)(GradContext&)) {
  return of_two(of_one(name, tfjs, takes, keeps, grad));
}

// The gradient of one operand: `flow()` summed down to the operand's shape, if anyone needs it.
Tensor operand(GradContext& g, int i, auto&& flow) {
  return g.needs(i) ? unbroadcast(flow(), g.x_shape(i)) : Tensor();
}

}  // namespace tenure::ops
