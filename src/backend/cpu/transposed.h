// Matrices that a kernel wants transposed, once for each value of a variable.
#pragma once

#include "backend/cpu/copy.h"
#include "core/layout.h"
#include "ops/kernel.h"

namespace tenure::cpu {

// `items` row-major matrices one after the other, each transposed.
template <std::size_t kElementSize>
void transpose_items(const std::byte* src, const ops::WantedForm::Sizes& sizes,
                     std::byte* dst) noexcept {
  const auto [items, rows, columns] = sizes;
  copy_strided(dst, {rows * columns, rows, 1}, src, {rows * columns, 1, columns},
               {items, columns, rows}, kElementSize);
}

// Input `input`, which is such a stack, with its matrices transposed.
template <class T>
ops::WantedForm transposed(std::size_t input, std::int64_t items, std::int64_t rows,
                           std::int64_t columns) {
  return {.input = input,
          .bytes = static_cast<std::size_t>(items * rows * columns) * sizeof(T),
          .sizes = {items, rows, columns},
          .make = transpose_items<sizeof(T)>};
}

}  // namespace tenure::cpu
