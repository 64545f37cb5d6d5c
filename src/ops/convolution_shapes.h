// From what the user wrote about a convolution to attributes: checks, and shapes with channels
// last.
#pragma once

#include "ops/convolution_attrs.h"
#include "tenure/conv.h"
#include "tenure/shape.h"

namespace tenure::ops {

// The shape with its channels last, and back.
Shape channels_last(const Shape& shape, bool channels_first);
Shape as_given(const Shape& shape, bool channels_first);
// The axes that move a tensor's channels to the back, or to the front again.
Axes to_last(int rank);
Axes to_first(int rank);

// A convolution's shapes, all with a batch and channels last, and its attributes but for `result`.
struct ConvShapes {
  Shape x;
  Shape filter;
  Shape y;
  ConvAttrs attrs;
};

// `x` and `filter` as the user gave them. Raises a ShapeError that names `op` if they do not fit.
ConvShapes conv_shapes(const char* op, int axes, bool depthwise, const Shape& x,
                       const Shape& filter, const ConvOptions& options);

}  // namespace tenure::ops
