// Strided copies, and the kernels that are little else: copy, unslice and add_slice.
//
// Axes that continue each other in both layouts are merged first; what the innermost axis and, for
// transposes, one other axis look like then decides how elements are moved. The remaining axes are
// walked like an odometer, cut anywhere among threads.
#include "backend/cpu/copy.h"

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <cstring>
#include <utility>

#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "ops/attrs.h"

namespace tenure::cpu {
namespace {

constexpr std::int64_t kSerialBytes = 4 * kSerialElements;

// An integer of an element's size. It may alias: elements are moved whatever their type.
template <std::size_t size>
struct WordOf;
template <>
struct WordOf<1> {
  using Type [[gnu::may_alias]] = std::uint8_t;
};
template <>
struct WordOf<2> {
  using Type [[gnu::may_alias]] = std::uint16_t;
};
template <>
struct WordOf<4> {
  using Type [[gnu::may_alias]] = std::uint32_t;
};
template <>
struct WordOf<8> {
  using Type [[gnu::may_alias]] = std::uint64_t;
};

struct Axis {
  std::int64_t size;
  std::int64_t dst;  // strides, in elements
  std::int64_t src;
};

// Every merged axis at least doubles the number of elements, which fits 63 bits.
constexpr std::size_t kMaxAxes = 63;

class CopyAxes {
 public:
  // From the innermost axis outwards.
  void add(std::int64_t size, std::int64_t dst, std::int64_t src) {
    if (size == 1) return;
    if (count_ > 0) {
      Axis& last = axes_[count_ - 1];
      if (dst == last.dst * last.size && src == last.src * last.size) {
        last.size *= size;
        return;
      }
    }
    axes_[count_++] = {size, dst, src};
  }
  Axis remove(std::size_t index) {
    const Axis removed = axes_[index];
    for (std::size_t i = index + 1; i < count_; ++i) axes_[i - 1] = axes_[i];
    --count_;
    return removed;
  }
  void insert_innermost(Axis axis) {
    for (std::size_t i = count_; i > 0; --i) axes_[i] = axes_[i - 1];
    axes_[0] = axis;
    ++count_;
  }
  std::size_t count() const { return count_; }
  const Axis& operator[](std::size_t index) const { return axes_[index]; }
  std::int64_t numel() const {
    std::int64_t numel = 1;
    for (std::size_t i = 0; i < count_; ++i) numel *= axes_[i].size;
    return numel;
  }

 private:
  std::array<Axis, kMaxAxes> axes_;
  std::size_t count_ = 0;
};

// A position among the elements of some axes.
class Odometer {
 public:
  Odometer(const CopyAxes& axes, std::int64_t index) : axes_(axes) {
    for (std::size_t i = 0; i < axes.count(); ++i) {
      digits_[i] = index % axes[i].size;
      index /= axes[i].size;
      dst_ += digits_[i] * axes[i].dst;
      src_ += digits_[i] * axes[i].src;
    }
  }
  void advance() {
    for (std::size_t i = 0; i < axes_.count(); ++i) {
      const Axis& axis = axes_[i];
      dst_ += axis.dst;
      src_ += axis.src;
      if (++digits_[i] < axis.size) return;
      digits_[i] = 0;
      dst_ -= axis.size * axis.dst;
      src_ -= axis.size * axis.src;
    }
  }
  std::int64_t dst() const { return dst_; }
  std::int64_t src() const { return src_; }
  std::int64_t innermost_digit() const { return digits_[0]; }

 private:
  const CopyAxes& axes_;
  std::array<std::int64_t, kMaxAxes> digits_;
  std::int64_t dst_ = 0;
  std::int64_t src_ = 0;
};

// Calls move(odometer) at every position; `bytes` are moved by one call.
template <class Move>
void for_each_position(const CopyAxes& axes, std::int64_t bytes, Move move) {
  parallel_for(axes.numel(), ceil_div(kSerialBytes, bytes),
               [&](std::int64_t begin, std::int64_t end) {
                 Odometer at(axes, begin);
                 for (std::int64_t i = begin; i < end; ++i, at.advance()) move(at);
               });
}

void copy_bytes(std::byte* dst, const std::byte* src, std::int64_t bytes) {
  parallel_for(bytes, kSerialBytes, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(dst + begin, src + begin, static_cast<std::size_t>(end - begin));
  });
}

template <class Word>
void fill(Word* dst, std::int64_t count, Word value) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) dst[i] = value;
}

// dst[j * dst_row + i] = src[i * src_row + j]. Squares go through a buffer, so that every cache
// line is read and written once, in one go.
template <std::size_t size>
struct Transpose {
  using Word = typename WordOf<size>::Type;
  static constexpr std::int64_t kSide = size >= 4 ? 16 : 64 / static_cast<std::int64_t>(size);
  static constexpr std::int64_t kStrip = 256 / size;  // rows of dst worth taking together

  static void square(Word* dst, std::int64_t dst_row, const Word* src, std::int64_t src_row) {
    Word lines[kSide][kSide];
    for (std::int64_t i = 0; i < kSide; ++i) {
      std::memcpy(lines[i], src + i * src_row, sizeof(lines[i]));
    }
    for (std::int64_t j = 0; j < kSide; ++j) {
      for (std::int64_t i = 0; i < kSide; ++i) dst[j * dst_row + i] = lines[i][j];
    }
  }

  static void strip(Word* dst, std::int64_t dst_row, const Word* src, std::int64_t src_row,
                    std::int64_t rows, std::int64_t columns) {
    for (std::int64_t i = 0; i < columns; i += kSide) {
      const std::int64_t wide = std::min(kSide, columns - i);
      for (std::int64_t j = 0; j < rows; j += kSide) {
        const std::int64_t high = std::min(kSide, rows - j);
        Word* to = dst + j * dst_row + i;
        const Word* from = src + i * src_row + j;
        if (wide == kSide && high == kSide) {
          square(to, dst_row, from, src_row);
          continue;
        }
        for (std::int64_t y = 0; y < high; ++y) {
          for (std::int64_t x = 0; x < wide; ++x) to[y * dst_row + x] = from[x * src_row + y];
        }
      }
    }
  }
};

template <std::size_t size>
void copy_axes(std::byte* dst_bytes, const std::byte* src_bytes, CopyAxes& axes) {
  using Word = typename WordOf<size>::Type;
  auto* dst = reinterpret_cast<Word*>(dst_bytes);
  const auto* src = reinterpret_cast<const Word*>(src_bytes);
  if (axes.count() == 0) {
    *dst = *src;
    return;
  }
  const Axis inner = axes.remove(0);
  const std::int64_t bytes = inner.size * static_cast<std::int64_t>(size);
  if (inner.dst == 1 && inner.src == 1) {
    if (axes.count() == 0) {
      copy_bytes(dst_bytes, src_bytes, bytes);
      return;
    }
    for_each_position(axes, bytes, [&](const Odometer& at) {
      std::memcpy(dst + at.dst(), src + at.src(), static_cast<std::size_t>(bytes));
    });
    return;
  }
  if (inner.dst == 1 && inner.src == 0) {
    if (axes.count() == 0) {
      const Word value = *src;
      parallel_for(inner.size, kSerialElements, [&](std::int64_t begin, std::int64_t end) {
        fill(dst + begin, end - begin, value);
      });
      return;
    }
    for_each_position(axes, bytes,
                      [&](const Odometer& at) { fill(dst + at.dst(), inner.size, src[at.src()]); });
    return;
  }
  for (std::size_t i = 0; i < axes.count() && inner.dst == 1; ++i) {
    if (axes[i].src != 1) continue;
    constexpr std::int64_t kStrip = Transpose<size>::kStrip;
    const Axis rows = axes.remove(i);
    axes.insert_innermost({ceil_div(rows.size, kStrip), kStrip * rows.dst, kStrip});
    for_each_position(axes, bytes * kStrip, [&](const Odometer& at) {
      const std::int64_t left = rows.size - at.innermost_digit() * kStrip;
      Transpose<size>::strip(dst + at.dst(), rows.dst, src + at.src(), inner.src,
                             std::min(kStrip, left), inner.size);
    });
    return;
  }
  if (axes.count() == 0) {
    parallel_for(inner.size, kSerialElements, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) dst[i * inner.dst] = src[i * inner.src];
    });
    return;
  }
  for_each_position(axes, bytes, [&](const Odometer& at) {
    Word* to = dst + at.dst();
    const Word* from = src + at.src();
    for (std::int64_t i = 0; i < inner.size; ++i) to[i * inner.dst] = from[i * inner.src];
  });
}

void copy_axes(std::byte* dst, const std::byte* src, CopyAxes& axes, std::size_t element_size) {
  switch (element_size) {
    case 1:
      return copy_axes<1>(dst, src, axes);
    case 2:
      return copy_axes<2>(dst, src, axes);
    case 4:
      return copy_axes<4>(dst, src, axes);
    default:
      return copy_axes<8>(dst, src, axes);
  }
}

void copy_kernel(const ops::KernelArgs& args) noexcept {
  const ops::KernelView& in = args.in[0];
  const ops::KernelView& out = args.out[0];
  copy_strided(out.data, *out.strides, in.data, *in.strides, *in.shape, size_of(in.dtype));
}

// The axes of a part, row-major, in the whole that it was sliced from; returns where in the whole
// it begins.
std::int64_t place_part(const ops::UnsliceAttrs& attrs, const Shape& part, CopyAxes& axes) {
  std::int64_t src_stride = 1;
  std::int64_t dst_stride = 1;
  std::int64_t first = 0;
  for (int axis = attrs.shape.rank() - 1; axis >= 0; --axis) {
    axes.add(part[axis], attrs.step[axis] * dst_stride, src_stride);
    first += attrs.begin[axis] * dst_stride;
    src_stride *= part[axis];
    dst_stride *= attrs.shape[axis];
  }
  return first;
}

void unslice_kernel(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::UnsliceAttrs>();
  const ops::KernelView& in = args.in[0];
  const std::size_t size = size_of(in.dtype);
  std::byte* dst = args.out[0].data;
  const std::int64_t bytes = attrs.shape.numel() * static_cast<std::int64_t>(size);
  parallel_for(bytes, kSerialBytes, [&](std::int64_t begin, std::int64_t end) {
    std::memset(dst + begin, 0, static_cast<std::size_t>(end - begin));
  });
  if (in.numel() == 0) return;
  CopyAxes axes;
  const std::int64_t first = place_part(attrs, *in.shape, axes);
  copy_axes(dst + first * static_cast<std::int64_t>(size), in.data, axes, size);
}

template <class T>
void add_slice_kernel(const ops::KernelArgs& args) noexcept {
  const ops::KernelView& whole = args.in[0];
  const ops::KernelView& part = args.in[1];
  T* dst = args.out[0].as<T>();
  if (dst != whole.as<T>()) {
    copy_bytes(args.out[0].data, whole.data, whole.numel() * static_cast<std::int64_t>(sizeof(T)));
  }
  if (part.numel() == 0) return;
  CopyAxes axes;
  dst += place_part(args.attrs.as<ops::UnsliceAttrs>(), *part.shape, axes);
  const T* src = part.as<T>();
  if (axes.count() == 0) {
    *dst += *src;
    return;
  }
  const Axis inner = axes.remove(0);  // of the part it is row-major: src is 1
  const auto add = [&](T* to, const T* from, std::int64_t count) {
    if (inner.dst == 1) {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i * inner.dst] += from[i];
    }
  };
  if (axes.count() == 0) {
    parallel_for(inner.size, kSerialElements, [&](std::int64_t begin, std::int64_t end) {
      add(dst + begin * inner.dst, src + begin, end - begin);
    });
    return;
  }
  for_each_position(axes, inner.size * static_cast<std::int64_t>(sizeof(T)),
                    [&](const Odometer& at) { add(dst + at.dst(), src + at.src(), inner.size); });
}

template <std::size_t... i>
constexpr auto rows_for(std::string_view op, ops::KernelFn run, std::index_sequence<i...>) {
  return std::array{ops::KernelRow{op, static_cast<DType>(i), run}...};
}

}  // namespace

void copy_strided(std::byte* dst, const Strides& dst_strides, const std::byte* src,
                  const Strides& src_strides, const Shape& shape,
                  std::size_t element_size) noexcept {
  if (shape.numel() == 0) return;
  CopyAxes axes;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    axes.add(shape[axis], dst_strides[axis], src_strides[axis]);
  }
  copy_axes(dst, src, axes, element_size);
}

std::span<const ops::KernelRow> copy_kernels() {
  constexpr auto kDTypes = std::make_index_sequence<kDTypeCount>();
  static constexpr auto copies = rows_for("copy", copy_kernel, kDTypes);
  static constexpr auto unslices = rows_for("unslice", unslice_kernel, kDTypes);
  static constexpr std::array<ops::KernelRow, 3> sums{
      {{"add_slice", DType::float32, add_slice_kernel<float>},
       {"add_slice", DType::float64, add_slice_kernel<double>},
       {"add_slice", DType::complex64, add_slice_kernel<std::complex<float>>}}};
  static constexpr auto rows = [] {
    std::array<ops::KernelRow, 2 * kDTypeCount + sums.size()> all{};
    auto end = std::copy(copies.begin(), copies.end(), all.begin());
    end = std::copy(unslices.begin(), unslices.end(), end);
    std::copy(sums.begin(), sums.end(), end);
    return all;
  }();
  return rows;
}

}  // namespace tenure::cpu
