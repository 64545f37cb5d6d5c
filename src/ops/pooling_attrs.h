// Windows over an image, as ops and kernels see them.
#pragma once

#include "ops/attrs.h"

namespace tenure::ops {

// One entry per axis a window slides along. `in` and `out` are the sizes there.
struct PoolAttrs {
  Shape window;
  Shape strides;
  Shape dilations;
  Shape before;  // padding
  Shape in;
  Shape out;
  bool batched = true;  // the first axis is not one of them
  bool channels_first = false;
  bool batch_in_index = false;
  TENURE_ATTRS(PoolAttrs, window, strides, dilations, before, in, out, batched, channels_first,
               batch_in_index)
};

}  // namespace tenure::ops
