// Padding with a value. Seen from the last axis that is padded, the output is rows: each lies in
// the padding as a whole, or has a stretch of the input in its middle. Where less than nothing is
// padded, that stretch is a part of the input.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "backend/cpu/convert.h"
#include "backend/cpu/copy.h"
#include "backend/cpu/elementwise.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "core/with_type.h"
#include "ops/pad_attrs.h"

namespace tenure::cpu {
namespace {

template <class T>
T element(const Scalar& value) {
  return value.is_integer() ? convert<T>(value.to_int64()) : convert<T>(value.to_double());
}

template <class T>
void fill(T* dst, std::int64_t count, T value) {
  TENURE_VECTORISE
  for (std::int64_t i = 0; i < count; ++i) dst[i] = value;
}

// Fills what lies outside of the input's block.
template <class T>
void fill_frame(const Shape& shape, const Shape& inner_shape, const Shape& before, T* dst,
                T value) {
  const int rank = shape.rank();
  int last = rank - 1;
  std::int64_t inner = 1;
  while (last >= 0 && shape[last] == inner_shape[last]) inner *= shape[last--];
  if (last < 0) return;
  const std::int64_t width = shape[last] * inner;
  const std::int64_t left = before[last] * inner, middle = inner_shape[last] * inner;
  const std::int64_t rows = shape.numel() / width;
  parallel_for(rows, kSerialElements / width + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      bool outside = false;
      std::int64_t rest = row;
      for (int axis = last - 1; axis >= 0; --axis) {
        const std::int64_t at = rest % shape[axis] - before[axis];
        outside = outside || at < 0 || at >= inner_shape[axis];
        rest /= shape[axis];
      }
      T* to = dst + row * width;
      if (outside) {
        fill(to, width, value);
      } else {
        fill(to, left, value);
        fill(to + left + middle, width - left - middle, value);
      }
    }
  });
}

void pad(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::PadAttrs>();
  const ops::KernelView& in = args.in[0];
  const ops::KernelView& out = args.out[0];
  if (out.numel() == 0) return;
  // The block of the input that the output has: its size, and where it begins in either.
  Shape block = *in.shape, begin = attrs.before;
  std::int64_t from = 0, to = 0;
  for (int axis = 0; axis < out.shape->rank(); ++axis) {
    const std::int64_t before = attrs.before[axis], dim = (*out.shape)[axis];
    const std::int64_t cut = std::min(std::max<std::int64_t>(-before, 0), block[axis]);
    begin[axis] = std::min(std::max<std::int64_t>(before, 0), dim);
    block[axis] = std::min(block[axis] - cut, dim - begin[axis]);
    from += cut * (*in.strides)[axis];
    to += begin[axis] * (*out.strides)[axis];
  }
  with_type(out.dtype, [&](auto zero) {
    using T = decltype(zero);
    fill_frame(*out.shape, block, begin, out.as<T>(), element<T>(attrs.value));
  });
  if (block.numel() == 0) return;
  const std::size_t size = size_of(out.dtype);
  const auto bytes = static_cast<std::int64_t>(size);
  copy_strided(out.data + to * bytes, *out.strides, in.data + from * bytes, *in.strides, block,
               size);
}

}  // namespace

std::span<const ops::KernelRow> pad_kernels() {
  static constexpr auto rows = []<std::size_t... i>(std::index_sequence<i...>) {
    return std::array{ops::KernelRow{"pad", static_cast<DType>(i), pad}...};
  }(std::make_index_sequence<kDTypeCount>());
  return rows;
}

}  // namespace tenure::cpu
