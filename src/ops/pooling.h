// How windows lie on an image: for pooling, and for what else slides windows over images.
#pragma once

#include "ops/pooling_attrs.h"
#include "tenure/pool.h"

namespace tenure::ops {

// Windows over an image of shape `x`; ShapeError when there are none.
PoolAttrs pool_attrs(const char* op, const Shape& x, const Shape& window,
                     const PoolOptions& options);

// `x` with the sizes along the axes that windows slide along replaced.
Shape with_sizes(Shape x, const Shape& sizes, const PoolAttrs& attrs);

}  // namespace tenure::ops
