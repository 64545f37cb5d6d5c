// What a user's own gradient function has to give.
#pragma once

#include <cstddef>

#include "tenure/tensor.h"

namespace tenure::ops {

void check_count(std::size_t gradients, std::size_t inputs);
// The gradient of input i, which has that dtype and shape; an empty handle is none.
void check_gradient(std::size_t i, const Tensor& gradient, DType dtype, const Shape& shape);

}  // namespace tenure::ops
