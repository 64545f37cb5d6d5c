#pragma once

#include "tenure/tensor.h"

namespace tenure::ops {

// Zeros of `shape`, with each element of `dy` added where `indices` say along the last axis: the
// gradient of picking elements of every row.
Tensor scatter_last_axis(Tensor dy, Tensor indices, const Shape& shape);

}  // namespace tenure::ops
