// Sums, products, extremes and logic over any axes.
//
// How a reduction is cut into pieces depends on its shape alone, and pieces are put together in
// order, so the result has the same bits on any number of threads.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "backend/cpu/kernels.h"
#include "backend/cpu/parallel.h"
#include "backend/cpu/reduce_lanes.h"
#include "backend/cpu/reduce_layout.h"
#include "ops/attrs.h"

namespace tenure::cpu {
namespace {

constexpr std::int64_t kPieceElements = 64 * 1024;
constexpr std::int64_t kEnoughPieces = 64;  // for any number of threads
constexpr std::int64_t kShortRun = 16;      // not worth the call of a vector loop
constexpr std::int64_t kMaxRows = 64;       // in one such call

// A reduction has the type of its elements, Element, and of what they add up to, Total.

template <class T>
struct FloatSum {
  using Element = T;
  using Total = double;
  static constexpr Total kIdentity = 0;
  static Total merge(Total a, Total b) { return a + b; }
  static const ReduceLoop<T, Total>& loop() { return reduce_loops<T>().sum; }
};

template <class T>
struct FloatMax {
  using Element = T;
  using Total = T;
  static constexpr Total kIdentity = -std::numeric_limits<T>::infinity();
  static Total merge(Total a, Total b) { return a < b || std::isnan(b) ? b : a; }
  static const ReduceLoop<T, Total>& loop() { return reduce_loops<T>().max; }
};

template <class T>
struct FloatMin {
  using Element = T;
  using Total = T;
  static constexpr Total kIdentity = std::numeric_limits<T>::infinity();
  static Total merge(Total a, Total b) { return b < a || std::isnan(b) ? b : a; }
  static const ReduceLoop<T, Total>& loop() { return reduce_loops<T>().min; }
};

// A reduction whose loops the compiler writes.
template <class Op>
struct Plain : Op {
  using typename Op::Element;
  using typename Op::Total;
  static Total run(const Element* src, std::int64_t count) noexcept {
    Total total = Op::kIdentity;
    for (std::int64_t i = 0; i < count; ++i) total = Op::merge(total, src[i]);
    return total;
  }
  static void rows(const Element* const* src, std::int64_t count, std::int64_t width,
                   Total* dst) noexcept {
    for (std::int64_t r = 0; r < count; ++r) {
      const Element* row = src[r];
#pragma omp simd
      for (std::int64_t j = 0; j < width; ++j) dst[j] = Op::merge(dst[j], row[j]);
    }
  }
  static constexpr ReduceLoop<Element, Total> kLoop{run, rows};
  static const ReduceLoop<Element, Total>& loop() { return kLoop; }
};

// In double: a product of float32 may be in range while a part of it is not.
template <class T>
struct FloatProduct {
  using Element = T;
  using Total = double;
  static constexpr Total kIdentity = 1;
  static Total merge(Total a, Total b) { return a * b; }
};

template <class T>
struct WrappingSum {
  using Element = std::make_unsigned_t<T>;
  using Total = Element;
  static constexpr Total kIdentity = 0;
  static Total merge(Total a, Total b) { return a + b; }
};

template <class T>
struct WrappingProduct {
  using Element = std::make_unsigned_t<T>;
  using Total = Element;
  static constexpr Total kIdentity = 1;
  static Total merge(Total a, Total b) { return a * b; }
};

template <class T>
struct IntegerMax {
  using Element = T;
  using Total = T;
  static constexpr Total kIdentity = std::numeric_limits<T>::lowest();
  static Total merge(Total a, Total b) { return std::max(a, b); }
};

template <class T>
struct IntegerMin {
  using Element = T;
  using Total = T;
  static constexpr Total kIdentity = std::numeric_limits<T>::max();
  static Total merge(Total a, Total b) { return std::min(a, b); }
};

// Of bytes that are 0 or 1.
struct Any {
  using Element = std::uint8_t;
  using Total = std::uint8_t;
  static constexpr Total kIdentity = 0;
  static Total merge(Total a, Total b) { return a | b; }
};

struct All {
  using Element = std::uint8_t;
  using Total = std::uint8_t;
  static constexpr Total kIdentity = 1;
  static Total merge(Total a, Total b) { return a & b; }
};

// Into how many pieces the elements of one output, or of one row of outputs, are cut.
std::int64_t pieces_of(const ReduceLayout& layout) {
  const std::int64_t kept = layout.kept.numel();
  if (layout.inner_reduced) {
    const std::int64_t count = layout.reduced.numel() * layout.inner;
    const bool whole = kept >= kEnoughPieces || count < 2 * kPieceElements;
    return whole ? 1 : ceil_div(count, kPieceElements);
  }
  const std::int64_t rows = layout.reduced.numel();
  const std::int64_t wholes = kept * ceil_div(layout.inner, kMaxWidth);
  const std::int64_t most = kept * layout.inner * rows / kPieceElements;
  return std::max<std::int64_t>(
      1, std::min({ceil_div(kEnoughPieces, wholes), ceil_div(rows, kMaxRows), most}));
}

// What a thread computes at a time of a tensor that is not there.
constexpr std::size_t kRoomBytes = 256 * 1024;
constexpr std::int64_t kRowsTogether = 4096;  // elements of short rows

// Whether every output is made of elements that lie next to each other, and not too many at a time.
template <class R>
bool takes_prologue(const ops::KernelArgs& args) noexcept {
  if (args.in[0].numel() == 0) return false;
  const ReduceLayout layout(*args.in[0].shape, args.attrs.as<ops::ReduceAttrs>().axes);
  const std::int64_t at_once = pieces_of(layout) > 1 ? kPieceElements : layout.inner;
  return layout.inner_reduced && layout.reduced.numel() == 1 &&
         static_cast<std::size_t>(at_once) * sizeof(typename R::Element) <= kRoomBytes;
}

template <class R>
std::size_t scratch_bytes(const ops::KernelArgs& args) noexcept {
  if (args.in[0].numel() == 0) return 0;
  const ReduceLayout layout(*args.in[0].shape, args.attrs.as<ops::ReduceAttrs>().axes);
  const std::int64_t pieces = pieces_of(layout);
  if (pieces == 1) return 0;
  return static_cast<std::size_t>(pieces * args.out[0].numel()) * sizeof(typename R::Total);
}

// Elements [begin, end), in order, of those that make one output. `src` is its first.
template <class R>
typename R::Total reduce_some(const ReduceLayout& layout, const typename R::Element* src,
                              std::int64_t begin, std::int64_t end) {
  typename R::Total total = R::kIdentity;
  std::int64_t run = begin / layout.inner;
  std::int64_t skip = begin - run * layout.inner;
  for (; begin < end; ++run, skip = 0) {
    const std::int64_t count = std::min(layout.inner - skip, end - begin);
    const typename R::Element* first = src + layout.reduced.offset(run) + skip;
    if (layout.inner < kShortRun) {
      for (std::int64_t i = 0; i < count; ++i) total = R::merge(total, first[i]);
    } else {
      total = R::merge(total, R::loop().run(first, count));
    }
    begin += count;
  }
  return total;
}

// Puts the pieces of each output together, in order.
template <class R>
void merge_pieces(std::int64_t outputs, std::int64_t pieces, const typename R::Total* partial,
                  typename R::Element* dst) {
  for (std::int64_t o = 0; o < outputs; ++o) {
    typename R::Total total = R::kIdentity;
    for (std::int64_t p = 0; p < pieces; ++p) total = R::merge(total, partial[o * pieces + p]);
    dst[o] = static_cast<typename R::Element>(total);
  }
}

template <class R>
void reduce_runs(const ReduceLayout& layout, const typename R::Element* src,
                 typename R::Element* dst, typename R::Total* partial) {
  using Element = typename R::Element;
  const std::int64_t outputs = layout.kept.numel();
  const std::int64_t count = layout.reduced.numel() * layout.inner;
  const std::int64_t pieces = pieces_of(layout);
  if (pieces == 1) {
    parallel_for(
        outputs, ceil_div(kSerialElements, count), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t o = begin; o < end; ++o) {
            dst[o] =
                static_cast<Element>(reduce_some<R>(layout, src + layout.kept.offset(o), 0, count));
          }
        });
    return;
  }
  parallel_each(outputs * pieces, [&](std::int64_t index) {
    const std::int64_t first = index % pieces * kPieceElements;
    partial[index] = reduce_some<R>(layout, src + layout.kept.offset(index / pieces), first,
                                    std::min(count, first + kPieceElements));
  });
  merge_pieces<R>(outputs, pieces, partial, dst);
}

// The same of elements that are computed now. They lie one output after the other.
template <class R>
void reduce_computed(const ReduceLayout& layout, const ops::Prologue& compute,
                     typename R::Element* dst, typename R::Total* partial) {
  using Element = typename R::Element;
  const std::int64_t outputs = layout.kept.numel();
  const std::int64_t count = layout.inner;
  const std::int64_t pieces = pieces_of(layout);
  if (pieces == 1) {
    const std::int64_t together = std::max<std::int64_t>(1, kRowsTogether / count);
    parallel_for(
        outputs, ceil_div(kSerialElements, count), [&](std::int64_t begin, std::int64_t end) {
          alignas(64) std::byte room[kRoomBytes];
          const auto* rows = reinterpret_cast<const Element*>(room);
          for (std::int64_t o = begin; o < end; o += together) {
            const std::int64_t some = std::min(together, end - o);
            compute(o * count, (o + some) * count, room);
            for (std::int64_t i = 0; i < some; ++i) {
              dst[o + i] = static_cast<Element>(reduce_some<R>(layout, rows + i * count, 0, count));
            }
          }
        });
    return;
  }
  parallel_each(outputs * pieces, [&](std::int64_t index) {
    alignas(64) std::byte room[kRoomBytes];
    const std::int64_t first = index % pieces * kPieceElements;
    const std::int64_t some = std::min(count - first, kPieceElements);
    const std::int64_t begin = index / pieces * count + first;
    compute(begin, begin + some, room);
    // One run, as it would be of elements in memory.
    partial[index] = reduce_some<R>(layout, reinterpret_cast<const Element*>(room), 0, some);
  });
  merge_pieces<R>(outputs, pieces, partial, dst);
}

template <class R>
void reduce_rows(const ReduceLayout& layout, const typename R::Element* src,
                 typename R::Element* dst, typename R::Total* partial) {
  using Element = typename R::Element;
  using Total = typename R::Total;
  const std::int64_t width = layout.inner;
  const std::int64_t rows = layout.reduced.numel();
  const std::int64_t tiles = ceil_div(width, kMaxWidth);
  const std::int64_t pieces = pieces_of(layout);
  const auto reduce_tile = [&](std::int64_t index) {
    const std::int64_t column = index % tiles * kMaxWidth;
    const std::int64_t columns = std::min(kMaxWidth, width - column);
    const std::int64_t piece = index / tiles % pieces;
    const std::int64_t output = index / tiles / pieces;
    const Element* first = src + layout.kept.offset(output) + column;
    const std::int64_t last_row = (piece + 1) * rows / pieces;
    Total total[kMaxWidth];
    std::fill_n(total, ceil_div(columns, 16) * 16, R::kIdentity);
    for (std::int64_t row = piece * rows / pieces; row < last_row; row += kMaxRows) {
      const Element* pointers[kMaxRows];
      const std::int64_t count = std::min(kMaxRows, last_row - row);
      for (std::int64_t r = 0; r < count; ++r) pointers[r] = first + layout.reduced.offset(row + r);
      R::loop().rows(pointers, count, columns, total);
    }
    if (pieces > 1) {
      std::copy_n(total, columns, partial + (output * pieces + piece) * width + column);
    } else {
      Element* to = dst + output * width + column;
#pragma omp simd
      for (std::int64_t j = 0; j < columns; ++j) to[j] = static_cast<Element>(total[j]);
    }
  };
  const std::int64_t outputs = layout.kept.numel();
  if (outputs * width * rows < kSerialElements) {
    for (std::int64_t i = 0; i < outputs * pieces * tiles; ++i) reduce_tile(i);
  } else {
    parallel_each(outputs * pieces * tiles, reduce_tile);
  }
  if (pieces == 1) return;
  for (std::int64_t o = 0; o < outputs; ++o) {
    for (std::int64_t j = 0; j < width; ++j) {
      Total total = R::kIdentity;
      for (std::int64_t p = 0; p < pieces; ++p) {
        total = R::merge(total, partial[(o * pieces + p) * width + j]);
      }
      dst[o * width + j] = static_cast<Element>(total);
    }
  }
}

template <class R>
void reduce(const ops::KernelArgs& args) noexcept {
  using Element = typename R::Element;
  const Element* src = args.in[0].as<Element>();
  Element* dst = args.out[0].as<Element>();
  if (args.in[0].numel() == 0) {
    std::fill_n(dst, args.out[0].numel(), static_cast<Element>(R::kIdentity));
    return;
  }
  const ReduceLayout layout(*args.in[0].shape, args.attrs.as<ops::ReduceAttrs>().axes);
  auto* partial = reinterpret_cast<typename R::Total*>(args.scratch);
  if (args.prologue) {
    reduce_computed<R>(layout, args.prologue, dst, partial);
  } else if (layout.inner_reduced) {
    reduce_runs<R>(layout, src, dst, partial);
  } else {
    reduce_rows<R>(layout, src, dst, partial);
  }
}

template <class R>
constexpr ops::KernelRow row(std::string_view op, DType dtype) {
  return {.op = op,
          .dtype = dtype,
          .run = reduce<R>,
          .scratch_bytes = scratch_bytes<R>,
          .takes_prologue = takes_prologue<R>};
}

}  // namespace

std::span<const ops::KernelRow> reduce_kernels() {
  static constexpr ops::KernelRow rows[] = {
      row<FloatSum<float>>("sum", DType::float32),
      row<FloatSum<double>>("sum", DType::float64),
      row<Plain<WrappingSum<std::int32_t>>>("sum", DType::int32),
      row<Plain<WrappingSum<std::int64_t>>>("sum", DType::int64),
      row<Plain<FloatProduct<float>>>("prod", DType::float32),
      row<Plain<FloatProduct<double>>>("prod", DType::float64),
      row<Plain<WrappingProduct<std::int32_t>>>("prod", DType::int32),
      row<Plain<WrappingProduct<std::int64_t>>>("prod", DType::int64),
      row<FloatMax<float>>("max", DType::float32),
      row<FloatMax<double>>("max", DType::float64),
      row<Plain<IntegerMax<std::int32_t>>>("max", DType::int32),
      row<Plain<IntegerMax<std::int64_t>>>("max", DType::int64),
      row<Plain<IntegerMax<std::uint8_t>>>("max", DType::uint8),
      row<Plain<IntegerMax<std::int8_t>>>("max", DType::int8),
      row<FloatMin<float>>("min", DType::float32),
      row<FloatMin<double>>("min", DType::float64),
      row<Plain<IntegerMin<std::int32_t>>>("min", DType::int32),
      row<Plain<IntegerMin<std::int64_t>>>("min", DType::int64),
      row<Plain<IntegerMin<std::uint8_t>>>("min", DType::uint8),
      row<Plain<IntegerMin<std::int8_t>>>("min", DType::int8),
      row<Plain<Any>>("any", DType::boolean),
      row<Plain<All>>("all", DType::boolean),
  };
  return rows;
}

}  // namespace tenure::cpu
