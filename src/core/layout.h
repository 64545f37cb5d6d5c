// Shapes and strides together: where each element of a tensor lies in its storage.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenure/dtype.h"
#include "tenure/shape.h"

namespace tenure {

struct Layout {
  Shape shape;
  Strides strides;          // in elements
  std::int64_t offset = 0;  // of element 0, in elements
  DType dtype = DType::float32;
  bool contiguous = true;  // row-major without gaps, whatever the offset

  std::size_t nbytes() const { return static_cast<std::size_t>(shape.numel()) * size_of(dtype); }
};

// Row-major strides of `shape`.
inline Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  std::int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

// Axes of size 1 and empty shapes are contiguous whatever their strides say.
inline bool is_contiguous(const Shape& shape, const Strides& strides) {
  if (shape.numel() == 0) return true;
  std::int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] != 1 && strides[axis] != step) return false;
    step *= shape[axis];
  }
  return true;
}

inline void make_contiguous(Layout& layout, Shape shape, DType dtype) {
  layout.strides = contiguous_strides(shape);
  layout.shape = std::move(shape);
  layout.offset = 0;
  layout.dtype = dtype;
  layout.contiguous = true;
}

inline Layout contiguous_layout(Shape shape, DType dtype) {
  Layout layout;
  make_contiguous(layout, std::move(shape), dtype);
  return layout;
}

}  // namespace tenure
