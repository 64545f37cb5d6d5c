#pragma once

#include "ops/attrs.h"

namespace tenure::ops {

struct GatherAttrs {  // axis is normalised, and not below batch_dims
  int axis = 0;
  int batch_dims = 0;
  TENURE_ATTRS(GatherAttrs, axis, batch_dims)
};

struct GatherGradAttrs {  // of a gather from `shape`
  Shape shape;
  int axis = 0;
  int batch_dims = 0;
  TENURE_ATTRS(GatherGradAttrs, shape, axis, batch_dims)
};

struct OneHotAttrs {  // axis is one of the result's
  std::int64_t depth = 0;
  int axis = 0;
  Scalar on = 1;
  Scalar off = 0;
  DType dtype = DType::float32;
  TENURE_ATTRS(OneHotAttrs, depth, axis, on, off, dtype)
};

}  // namespace tenure::ops
