// Other looks at the same bytes, and joining tensors. Views copy nothing where strides allow it; a
// view keeps the whole storage alive (why_alive says so).
//
//   tenure::Tensor row = x[2];
//   tenure::Tensor half = tenure::slice(x, {0, 0}, {-1, 16});   // -1: to the end
#pragma once

#include <source_location>
#include <vector>

#include "tenure/export.h"
#include "tenure/shape.h"
#include "tenure/tensor.h"

namespace tenure {

TENURE_API Tensor reshape(Arg x, const Shape& shape);  // one dimension may be -1
TENURE_API Tensor transpose(Arg x);                    // all axes reversed
TENURE_API Tensor transpose(Arg x, const Axes& axes);
TENURE_API Tensor slice(Arg x, const Shape& begin, const Shape& size);
TENURE_API Tensor slice(Arg x, const Shape& begin, const Shape& size, const Shape& step);
TENURE_API Tensor broadcast_to(Arg x, const Shape& shape);
TENURE_API Tensor expand_dims(Arg x, int axis);
TENURE_API Tensor squeeze(Arg x);  // drops axes of size 1
TENURE_API Tensor squeeze(Arg x, const Axes& axes);
TENURE_API Tensor contiguous(Arg x);  // itself, or a row-major copy

TENURE_API Tensor concat(std::vector<Tensor> tensors, int axis = 0,
                         std::source_location site = std::source_location::current());

}  // namespace tenure
