// What ops that the library keeps to itself expect of their inputs. Gradients are made there of
// inputs that fit; JavaScript may call them with any.
#pragma once

#include <string_view>

#include "core/raise.h"
#include "tenure/tenure.h"

namespace tenure::node {

// An input as float32, of a shape that is known.
inline Tensor fitting(std::string_view op, std::string_view what, Tensor x, const Shape& shape) {
  if (x.shape() != shape) {
    raise<ShapeError>("{}: the {} is {}, but must be {}", op, what, x.shape(), shape);
  }
  return x.dtype() == DType::float32 ? x : cast(std::move(x), DType::float32);
}

inline void check_rank(std::string_view op, std::string_view what, const Shape& shape, int rank) {
  if (shape.rank() != rank) {
    raise<ShapeError>("{}: the {} must have rank {}: {}", op, what, rank, shape);
  }
}

}  // namespace tenure::node
