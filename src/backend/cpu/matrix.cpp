// Diagonals and bands: data movement, by the size of an element.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "backend/cpu/copy.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "core/layout.h"
#include "ops/matrix_attrs.h"

namespace tenure::cpu {
namespace {

void undiagonal_kernel(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::UndiagonalAttrs>();
  const auto size = static_cast<std::int64_t>(size_of(args.out[0].dtype));
  std::byte* dst = args.out[0].data;
  parallel_for(args.out[0].numel() * size, kSerialElements * 8,
               [&](std::int64_t begin, std::int64_t end) {
                 std::memset(dst + begin, 0, static_cast<std::size_t>(end - begin));
               });
  if (args.in[0].numel() == 0) return;
  const Strides& strides = *args.out[0].strides;
  Strides along;
  for (int axis = 0; axis < strides.rank(); ++axis) {
    if (axis != attrs.axis1 && axis != attrs.axis2) along.push_back(strides[axis]);
  }
  along.push_back(strides[attrs.axis1] + strides[attrs.axis2]);
  const std::int64_t first = attrs.offset >= 0 ? attrs.offset * strides[attrs.axis2]
                                               : -attrs.offset * strides[attrs.axis1];
  copy_strided(dst + first * size, along, args.in[0].data, *args.in[0].strides, *args.in[0].shape,
               static_cast<std::size_t>(size));
}

void band_part_kernel(const ops::KernelArgs& args) noexcept {
  const auto [lower, upper] = args.attrs.as<ops::BandAttrs>();
  const Shape& shape = *args.out[0].shape;
  if (shape.numel() == 0) return;
  const std::int64_t rows = shape[-2], columns = shape[-1];
  const auto size = static_cast<std::int64_t>(size_of(args.out[0].dtype));
  const std::byte* src = args.in[0].data;
  std::byte* dst = args.out[0].data;
  const std::int64_t below = lower < 0 ? rows : lower, above = upper < 0 ? columns : upper;
  const std::int64_t grain = std::max<std::int64_t>(1, kSerialElements / columns);
  parallel_for(shape.numel() / columns, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t i = row % rows;
      const std::int64_t first = std::clamp<std::int64_t>(i - below, 0, columns);
      const std::int64_t last = std::clamp<std::int64_t>(i + above + 1, first, columns);
      const std::byte* from = src + row * columns * size;
      std::byte* to = dst + row * columns * size;
      std::memset(to, 0, static_cast<std::size_t>(first * size));
      if (from != to) {
        std::memcpy(to + first * size, from + first * size,
                    static_cast<std::size_t>((last - first) * size));
      }
      std::memset(to + last * size, 0, static_cast<std::size_t>((columns - last) * size));
    }
  });
}

constexpr auto kRows = []<std::size_t... i>(std::index_sequence<i...>) {
  return std::array{ops::KernelRow{"undiagonal", static_cast<DType>(i), undiagonal_kernel}...,
                    ops::KernelRow{"band_part", static_cast<DType>(i), band_part_kernel}...};
}(std::make_index_sequence<kDTypeCount>());

}  // namespace

std::span<const ops::KernelRow> matrix_kernels() { return kRows; }

}  // namespace tenure::cpu
