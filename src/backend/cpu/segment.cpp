// Reductions of rows by an id.
//
// Threads share the segments among them and each walks all ids, so a segment's rows are taken in
// order whatever the number of threads.
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "backend/cpu/index_view.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "ops/segment_attrs.h"

namespace tenure::cpu {
namespace {

using Complex = std::complex<float>;

// Integers wrap.
template <class T>
struct ArithmeticOf {
  using Type = T;
};
template <std::integral T>
struct ArithmeticOf<T> {
  using Type = std::make_unsigned_t<T>;
};

template <class T>
struct Sum {
  using Element = typename ArithmeticOf<T>::Type;
  static Element identity() { return {}; }
  static Element merge(Element a, Element b) { return a + b; }
};

template <class T>
struct Prod {
  using Element = typename ArithmeticOf<T>::Type;
  static Element identity() { return 1; }
  static Element merge(Element a, Element b) { return a * b; }
};

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(x);
  } else {
    return false;
  }
}

template <class T>
struct Max {
  using Element = T;
  static Element identity() { return std::numeric_limits<T>::lowest(); }
  static Element merge(Element a, Element b) { return b > a || is_nan(b) ? b : a; }
};

template <class T>
struct Min {
  using Element = T;
  static Element identity() { return std::numeric_limits<T>::max(); }
  static Element merge(Element a, Element b) { return b < a || is_nan(b) ? b : a; }
};

template <class Op>
void unsorted(const ops::KernelArgs& args) noexcept {
  using T = typename Op::Element;
  const IndexView ids(args.in[1]);
  const std::int64_t segments = args.attrs.as<ops::SegmentAttrs>().count;
  if (args.out[0].numel() == 0) return;
  const std::int64_t width = args.out[0].numel() / segments;
  const T* src = args.in[0].as<T>();
  T* dst = args.out[0].as<T>();
  const bool small = ids.size() * width + args.out[0].numel() < kSerialElements;
  parallel_for(segments, small ? segments : 1, [&](std::int64_t begin, std::int64_t end) {
    std::fill(dst + begin * width, dst + end * width, Op::identity());
    for (std::int64_t i = 0; i < ids.size(); ++i) {
      const std::int64_t id = ids[i];
      if (id < begin || id >= end) continue;
      T* to = dst + id * width;
      const T* from = src + i * width;
      for (std::int64_t j = 0; j < width; ++j) to[j] = Op::merge(to[j], from[j]);
    }
  });
}

void take(const ops::KernelArgs& args) noexcept {
  const IndexView ids(args.in[1]);
  if (args.out[0].numel() == 0) return;
  const std::int64_t rows = (*args.in[0].shape)[0];
  const auto bytes =
      static_cast<std::size_t>(args.out[0].numel() / ids.size()) * size_of(args.in[0].dtype);
  const std::byte* src = args.in[0].data;
  std::byte* dst = args.out[0].data;
  const std::int64_t grain = 4 * kSerialElements / static_cast<std::int64_t>(bytes) + 1;
  parallel_for(ids.size(), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::byte* to = dst + static_cast<std::size_t>(i) * bytes;
      const std::int64_t id = ids[i];
      if (id >= 0 && id < rows) {
        std::memcpy(to, src + static_cast<std::size_t>(id) * bytes, bytes);
      } else {
        std::memset(to, 0, bytes);
      }
    }
  });
}

void measure_sparse(const ops::KernelArgs& args, std::span<std::int64_t> sizes) noexcept {
  const IndexView indices(args.in[1]), ids(args.in[2]);
  const std::int64_t rows = (*args.in[0].shape)[0];
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < last) {
      args.complain(i == 0 ? "segment id {0} at position {1} is negative"
                           : "segment id {0} at position {1} is below {2}, the one before it",
                    ids[i], i, last);
      return;
    }
    last = ids[i];
    if (indices[i] < 0 || indices[i] >= rows) {
      args.complain("index {0} at position {1} is out of range for {2} rows", indices[i], i, rows);
      return;
    }
  }
  sizes[0] = ids.size() == 0 ? 0 : last + 1;
}

template <class T, bool mean>
void sparse(const ops::KernelArgs& args) noexcept {
  using Element = typename Sum<T>::Element;
  const IndexView indices(args.in[1]), ids(args.in[2]);
  if (args.out[0].numel() == 0) return;
  const std::int64_t segments = (*args.out[0].shape)[0];
  const std::int64_t width = args.out[0].numel() / segments;
  const Element* src = args.in[0].as<Element>();
  Element* dst = args.out[0].as<Element>();
  const bool small = ids.size() * width + args.out[0].numel() < kSerialElements;
  parallel_for(segments, small ? segments : 1, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t i = ids.first_from(begin);
    for (std::int64_t segment = begin; segment < end; ++segment) {
      Element* to = dst + segment * width;
      std::fill_n(to, width, Element());
      const std::int64_t first = i;
      for (; i < ids.size() && ids[i] == segment; ++i) {
        const Element* from = src + indices[i] * width;
        for (std::int64_t j = 0; j < width; ++j) to[j] += from[j];
      }
      if constexpr (mean) {
        using Count = std::conditional_t<std::is_same_v<T, double>, double, float>;
        const auto count = static_cast<Count>(i - first);
        for (std::int64_t j = 0; j < width && i > first; ++j) to[j] /= count;
      }
    }
  });
}

template <template <class> class Op, class T>
constexpr ops::KernelRow row(std::string_view op) {
  return {op, dtype_of<T>, unsorted<Op<T>>};
}

template <class T, bool mean>
constexpr ops::KernelRow sparse_row() {
  return {mean ? "sparse_segment_mean" : "sparse_segment_sum", dtype_of<T>, sparse<T, mean>,
          nullptr, measure_sparse};
}

constexpr ops::KernelRow kRows[] = {
    row<Sum, float>("unsorted_segment_sum"),
    row<Sum, double>("unsorted_segment_sum"),
    row<Sum, std::int32_t>("unsorted_segment_sum"),
    row<Sum, std::int64_t>("unsorted_segment_sum"),
    row<Sum, Complex>("unsorted_segment_sum"),
    row<Prod, float>("unsorted_segment_prod"),
    row<Prod, double>("unsorted_segment_prod"),
    row<Prod, std::int32_t>("unsorted_segment_prod"),
    row<Prod, std::int64_t>("unsorted_segment_prod"),
    row<Max, float>("unsorted_segment_max"),
    row<Max, double>("unsorted_segment_max"),
    row<Max, std::int32_t>("unsorted_segment_max"),
    row<Max, std::int64_t>("unsorted_segment_max"),
    row<Max, std::uint8_t>("unsorted_segment_max"),
    row<Max, std::int8_t>("unsorted_segment_max"),
    row<Min, float>("unsorted_segment_min"),
    row<Min, double>("unsorted_segment_min"),
    row<Min, std::int32_t>("unsorted_segment_min"),
    row<Min, std::int64_t>("unsorted_segment_min"),
    row<Min, std::uint8_t>("unsorted_segment_min"),
    row<Min, std::int8_t>("unsorted_segment_min"),
    sparse_row<float, false>(),
    sparse_row<double, false>(),
    sparse_row<std::int32_t, false>(),
    sparse_row<std::int64_t, false>(),
    sparse_row<Complex, false>(),
    sparse_row<float, true>(),
    sparse_row<double, true>(),
    sparse_row<Complex, true>(),
};

constexpr auto kAllRows = []<std::size_t... i>(std::index_sequence<i...>) {
  std::array<ops::KernelRow, std::size(kRows) + sizeof...(i)> all{
      ops::KernelRow{"segment_take", static_cast<DType>(i), take}...};
  for (std::size_t r = 0; r < std::size(kRows); ++r) all[sizeof...(i) + r] = kRows[r];
  return all;
}(std::make_index_sequence<kDTypeCount>());

}  // namespace

std::span<const ops::KernelRow> segment_kernels() { return kAllRows; }

}  // namespace tenure::cpu
