#include <array>
#include <cstdint>
#include <utility>

#include "backend/cpu/copy.h"
#include "backend/cpu/kernels.h"
#include "ops/attrs.h"

namespace tenure::cpu {
namespace {

// Seen from the axis, every input is a matrix that fills some columns of the output.
void concat_kernel(const ops::KernelArgs& args) noexcept {
  const int axis = args.attrs.as<ops::AxisAttrs>().axis;
  const Shape& shape = *args.out[0].shape;
  if (shape.numel() == 0) return;
  std::int64_t rows = 1;
  std::int64_t inner = 1;
  for (int i = 0; i < axis; ++i) rows *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  const std::int64_t width = shape[axis] * inner;
  const std::size_t size = size_of(args.out[0].dtype);
  std::byte* dst = args.out[0].data;
  for (const ops::KernelView& in : args.in) {
    const std::int64_t columns = (*in.shape)[axis] * inner;
    copy_strided(dst, {width, 1}, in.data, {columns, 1}, {rows, columns}, size);
    dst += columns * static_cast<std::int64_t>(size);
  }
}

}  // namespace

std::span<const ops::KernelRow> concat_kernels() {
  static constexpr auto rows = []<std::size_t... i>(std::index_sequence<i...>) {
    return std::array{ops::KernelRow{"concat", static_cast<DType>(i), concat_kernel}...};
  }(std::make_index_sequence<kDTypeCount>());
  return rows;
}

}  // namespace tenure::cpu
