// Attributes of the functions in math.h and activation.h.
#pragma once

#include <span>

#include "ops/attrs.h"
#include "tenure/activation.h"

namespace tenure {

inline std::span<const char* const> choices(Activation) {
  static constexpr const char* names[] = {"linear", "relu",    "relu6", "elu",         "leaky_relu",
                                          "prelu",  "sigmoid", "tanh",  "hard_sigmoid"};
  return names;
}

namespace ops {

// Of one that takes nothing but x.
Tensor activated(Activation activation, Tensor x);

struct ClipAttrs {
  Scalar low = 0;
  Scalar high = 0;
  TENURE_ATTRS(ClipAttrs, low, high)
};

struct AlphaAttrs {  // the slope or value below zero
  double alpha = 0;
  TENURE_ATTRS(AlphaAttrs, alpha)
};

struct GeluAttrs {
  bool approximate = false;
  TENURE_ATTRS(GeluAttrs, approximate)
};

}  // namespace ops
}  // namespace tenure
