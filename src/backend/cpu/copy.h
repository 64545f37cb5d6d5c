// Copies between layouts.
#pragma once

#include <cstddef>

#include "tenure/shape.h"

namespace tenure::cpu {

// Any strides, 0 and negative ones included, counted in elements; both pointers are at element 0.
// Elements of dst must not overlap each other or src.
void copy_strided(std::byte* dst, const Strides& dst_strides, const std::byte* src,
                  const Strides& src_strides, const Shape& shape,
                  std::size_t element_size) noexcept;

}  // namespace tenure::cpu
