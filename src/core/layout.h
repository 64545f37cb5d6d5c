// Shapes and strides together: where each element of a tensor lies in its storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "tenure/dtype.h"
#include "tenure/shape.h"

namespace tenure {

// No tensor has more bytes, so that offsets and sums of a few sizes can be counted too.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;

// Whether every product of some of the dimensions, times an element's bytes, can be counted: also
// one that leaves out a zero, such as the rows of an empty matrix. All shapes of tensors are; what
// is computed of them further on need not be checked again.
inline bool is_countable(const Shape& shape, DType dtype) {
  auto bytes = static_cast<std::int64_t>(size_of(dtype));
  bool counted = true;
  for (const std::int64_t dim : shape) {
    counted &= dim >= 0 && !__builtin_mul_overflow(bytes, dim + (dim == 0 ? 1 : 0), &bytes);
  }
  return counted && bytes <= kMostBytes;
}
[[noreturn]] void raise_not_countable(std::string_view op, const Shape& shape, DType dtype);

struct Layout {
  Shape shape;
  Strides strides;          // in elements
  std::int64_t offset = 0;  // of element 0, in elements
  DType dtype = DType::float32;
  bool contiguous = true;  // row-major without gaps, whatever the offset

  std::size_t nbytes() const { return static_cast<std::size_t>(shape.numel()) * size_of(dtype); }
};

// Makes row-major strides of a shape.
inline void make_strides(Strides& shape) {
  std::int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) step *= std::exchange(shape[axis], step);
}
inline Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  make_strides(strides);
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
  layout.strides = shape;
  make_strides(layout.strides);  // in place: a copy of what was just written has to wait for it
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
