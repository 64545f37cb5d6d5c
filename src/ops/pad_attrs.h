#pragma once

#include "ops/attrs.h"

namespace tenure::ops {

struct PadAttrs {  // how many of `value` come before and after the elements of each axis
  Shape before;
  Shape after;
  Scalar value = 0;
  TENURE_ATTRS(PadAttrs, before, after, value)
};

}  // namespace tenure::ops
