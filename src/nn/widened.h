// What float16 and bfloat16 are too narrow for is computed in float32: losses, metrics, penalties,
// and the updates of optimizers with what these remember.
#pragma once

#include <utility>

#include "core/half.h"
#include "tensor/access.h"
#include "tenure/math.h"

namespace tenure::nn::detail {

inline DType widened(DType dtype) { return is_half(dtype) ? DType::float32 : dtype; }

// `what` is named where the handle is empty.
inline Tensor widened(Tensor x, const char* what) {
  const DType dtype = tenure::detail::checked(x, what).layout.dtype;
  return is_half(dtype) ? cast(std::move(x), DType::float32) : x;
}

}  // namespace tenure::nn::detail
