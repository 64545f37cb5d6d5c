// Attributes of the functions in math.h and activation.h.
#pragma once

#include "ops/attrs.h"

namespace tenure::ops {

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

}  // namespace tenure::ops
