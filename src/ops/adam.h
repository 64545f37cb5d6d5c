// The update of the Adam optimizer as one op: what twelve elementwise ones would do, with the same
// roundings, in one pass over memory. Eager and traced steps of nn::Adam and of TensorFlow.js call
// it.
#pragma once

#include <array>
#include <source_location>

#include "ops/attrs.h"
#include "ops/op_def.h"

namespace tenure::ops {

struct AdamAttrs {
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  TENURE_ATTRS(AdamAttrs, beta_1, beta_2)
};

// Inputs: value, mean, square and gradient of one shape, then two numbers: rate and epsilon.
// Outputs: the new value, mean and square, each of which may lie over the old one:
//
//   mean' = mean * beta_1 + gradient * (1 - beta_1)
//   square' = square * beta_2 + gradient * gradient * (1 - beta_2)
//   value' = value - mean' * rate / (sqrt(square') + epsilon)
extern const OpDef kAdam;

std::array<Tensor, 3> adam(std::array<Tensor, 6> in, const AdamAttrs& attrs,
                           std::source_location site = std::source_location::current());

}  // namespace tenure::ops
