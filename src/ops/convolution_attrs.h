// Attributes of the convolutions and their gradients.
#pragma once

#include "ops/attrs.h"
#include "ops/maths_attrs.h"
#include "tenure/conv.h"

namespace tenure::ops {

// The same for a convolution and its two gradients, but for `result`. Lists have an entry per
// spatial axis.
struct ConvAttrs {
  Shape strides;
  Shape dilations;
  Shape before;  // padding in front of the input
  Shape result;  // the result's shape: of y, x or the filter
  std::int64_t groups = 1;
  Activation activation = Activation::linear;
  double alpha = 0;  // of leaky_relu
  TENURE_ATTRS(ConvAttrs, strides, dilations, before, result, groups, activation, alpha)
};

}  // namespace tenure::ops
