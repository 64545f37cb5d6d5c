#pragma once

#include "ops/attrs.h"

namespace tenure::ops {

struct PadAttrs {  // how many of `value` come before and after each axis; below 0: what is cut off
  Shape before;
  Shape after;
  Scalar value = 0;
  TENURE_ATTRS(PadAttrs, before, after, value)
};

}  // namespace tenure::ops
