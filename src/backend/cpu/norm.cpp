// Batch and layer normalisation, forward and backward.
//
// Moments are taken in one pass over memory: of eight rows (or a run that fits the cache) about
// their own mean, and then put together in double. No difference of large sums, no second pass.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/highway_targets.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/lrn.h"
#include "backend/cpu/norm_layout.h"
#include "ops/norm_attrs.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/norm.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/accumulate-inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

constexpr std::int64_t kRows = 8;         // that are summed in registers
constexpr std::int64_t kTile = 256;       // columns at a time
constexpr std::int64_t kRunPiece = 4096;  // elements of a run at a time

// As many elements as a vector of double has.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_wide(D d, const T* src) {
  if constexpr (sizeof(T) == sizeof(double)) {
    return hn::LoadU(d, src);
  } else {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), src));
  }
}

// Adds `rows` rows to the moments of each column, of which there are `seen` rows already.
template <class T>
void add_rows(const T* src, std::int64_t rows, std::int64_t stride, std::int64_t width, double seen,
              double* mean, double* squares) {
  const hn::ScalableTag<T> d;
  HWY_ALIGN T block_mean[kTile];
  HWY_ALIGN T block_squares[kTile];
  const auto count = static_cast<double>(rows);
  const auto inverse = hn::Set(d, static_cast<T>(1 / count));
  const double share = count / (seen + count);
  const double weight = seen * share;
  for (std::int64_t column = 0; column < width; column += kTile) {
    const std::int64_t columns = std::min(kTile, width - column);
    const T* first = src + column;
    for_vectors<T>(columns, [&](auto at) HWY_ATTR {
      if (rows == kRows) {
        const auto load = [&](int r) HWY_ATTR { return at.load(first + r * stride); };
        const auto middle = hn::Mul(combine_pairs<Sum, 8>(load), inverse);
        at.store(middle, block_mean);
        at.store(combine_pairs<Sum, 8>([&](int r) HWY_ATTR {
                   const auto apart = hn::Sub(load(r), middle);
                   return hn::Mul(apart, apart);
                 }),
                 block_squares);
        return;
      }
      auto sum = hn::Zero(d), sum_squares = hn::Zero(d);
      for (std::int64_t r = 0; r < rows; ++r) sum = hn::Add(sum, at.load(first + r * stride));
      const auto middle = hn::Mul(sum, inverse);
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto apart = hn::Sub(at.load(first + r * stride), middle);
        sum_squares = hn::MulAdd(apart, apart, sum_squares);
      }
      at.store(middle, block_mean);
      at.store(sum_squares, block_squares);
    });
    double* to_mean = mean + column;
    double* to_squares = squares + column;
    for_vectors<double>(columns, [&](auto at) HWY_ATTR {
      const hn::ScalableTag<double> wide;
      const auto before = at.load(to_mean);
      const auto apart = hn::Sub(load_wide(wide, block_mean + at.i), before);
      const auto both_squares = hn::Add(at.load(to_squares), load_wide(wide, block_squares + at.i));
      at.store(hn::MulAdd(apart, hn::Set(wide, share), before), to_mean);
      at.store(hn::MulAdd(hn::Mul(apart, apart), hn::Set(wide, weight), both_squares), to_squares);
    });
  }
}

template <class T>
void column_moments(const T* src, std::int64_t rows, std::int64_t stride, std::int64_t width,
                    double* mean, double* squares) {
  std::fill_n(mean, width, 0.0);
  std::fill_n(squares, width, 0.0);
  for (std::int64_t r = 0; r < rows; r += kRows) {
    add_rows(src + r * stride, std::min(kRows, rows - r), stride, width, static_cast<double>(r),
             mean, squares);
  }
}

// Where a line's mean lies, as a T and what is left of it.
template <class T>
struct SplitMean {
  T high;
  double low;
  explicit SplitMean(double mean)
      : high(static_cast<T>(mean)), low(mean - static_cast<double>(high)) {}
};

template <class T>
HWY_INLINE RunningMoments moments_of_piece(const T* src, std::int64_t count) {
  const hn::ScalableTag<T> d;
  const auto number = static_cast<double>(count);
  const double mean = reduce_run<Sum>(src, count) / number;
  const SplitMean<T> split(mean);
  const auto middle = hn::Set(d, split.high);
  const double squares = sum_of<T>(count, [&](auto at) HWY_ATTR {
    const auto apart = hn::Sub(at.load(src), middle);
    return hn::Mul(apart, apart);
  });
  return {number, mean, std::max(squares - number * split.low * split.low, 0.0)};  // NaN stays
}

template <class T>
HWY_INLINE RunningMoments moments_of_run(const T* src, std::int64_t count) {
  if (count <= kRunPiece) return moments_of_piece(src, count);
  RunningMoments moments;
  for (std::int64_t i = 0; i < count; i += kRunPiece) {
    moments.add(moments_of_piece(src + i, std::min(kRunPiece, count - i)));
  }
  return moments;
}

// From this many bytes on a result is written past the caches, which keep the input instead.
constexpr std::int64_t kStreamBytes = std::int64_t{8} << 20;

// Whether rows can be written that way: whole vectors, each where a vector begins.
template <class T>
bool streams(const T* src, const T* dst, std::int64_t numel, std::int64_t width) {
  const std::size_t bytes = hn::Lanes(hn::ScalableTag<T>()) * sizeof(T);
  const auto row = static_cast<std::size_t>(width) * sizeof(T);
  return src != dst && numel * static_cast<std::int64_t>(sizeof(T)) >= kStreamBytes &&
         row % bytes == 0 && reinterpret_cast<std::uintptr_t>(dst) % bytes == 0;
}

// dst = (x - mean) * a + b, with one of each per column.
template <bool stream, class T>
void transform_rows(const T* src, T* dst, std::int64_t rows, std::int64_t width, const T* mean,
                    const T* a, const T* b) {
  const hn::ScalableTag<T> d;
  for (std::int64_t r = 0; r < rows; ++r, src += width, dst += width) {
    for_vectors<T>(width, [&](auto at) HWY_ATTR {
      const auto centred = hn::Sub(at.load(src), at.load(mean));
      const auto y = hn::MulAdd(centred, at.load(a), at.load(b));
      if constexpr (stream) {
        hn::Stream(y, d, dst + at.i);
      } else {
        at.store(y, dst);
      }
    });
  }
  if constexpr (stream) hwy::FlushStream();
}

template <class T>
void transform_run(const T* src, T* dst, std::int64_t count, T mean, T a, T b) {
  const hn::ScalableTag<T> d;
  for_vectors<T>(count, [&](auto at) HWY_ATTR {
    const auto centred = hn::Sub(at.load(src), hn::Set(d, mean));
    at.store(hn::MulAdd(centred, hn::Set(d, a), hn::Set(d, b)), dst);
  });
}

// Values of a T per column, one row of them after the other, at the end of the scratch.
template <class T>
struct Tables {
  T* first;
  std::int64_t period;
  T* operator[](int i) const { return first + i * period; }
  void set(int i, std::int64_t feature, std::int64_t features, double value) const {
    for (std::int64_t j = feature; j < period; j += features) {
      (*this)[i][j] = static_cast<T>(value);
    }
  }
};

constexpr int kTables = 4;

// Two sums a piece and column, and the tables.
template <class T>
std::size_t batch_scratch(const ops::KernelArgs& args) noexcept {
  const BatchLayout layout(*args.in[0].shape, args.attrs.as<ops::BatchNormAttrs>().axis);
  return static_cast<std::size_t>(layout.period) *
         (static_cast<std::size_t>(2 * layout.pieces) * sizeof(double) + kTables * sizeof(T));
}

template <class T>
struct BatchScratch {
  double* first;
  double* second;
  Tables<T> tables;
  BatchScratch(const BatchLayout& layout, std::byte* scratch)
      : first(reinterpret_cast<double*>(scratch)),
        second(first + layout.pieces * layout.period),
        tables{reinterpret_cast<T*>(second + layout.pieces * layout.period), layout.period} {}
};

// dst = (src - mean) * a + b, from tables 0, 1 and 2.
template <class T>
void transform(const BatchLayout& layout, const T* src, T* dst, const Tables<T>& tables) {
  if (layout.inner == 1) {
    const bool past_caches = streams(src, dst, layout.numel(), layout.period);
    each_index(layout.serial(), layout.pieces, [&](std::int64_t piece) {
      const std::int64_t offset = layout.first_row(piece) * layout.period;
      const auto run = past_caches ? transform_rows<true, T> : transform_rows<false, T>;
      run(src + offset, dst + offset, layout.rows_of(piece), layout.period, tables[0], tables[1],
          tables[2]);
    });
    const std::int64_t offset = layout.rows * layout.period;
    transform_rows<false>(src + offset, dst + offset, 1, layout.rest, tables[0], tables[1],
                          tables[2]);
    return;
  }
  each_index(layout.serial(), layout.outer * layout.features, [&](std::int64_t i) {
    const std::int64_t feature = i % layout.features;
    transform_run(src + i * layout.inner, dst + i * layout.inner, layout.inner, tables[0][feature],
                  tables[1][feature], tables[2][feature]);
  });
}

// The moments of each piece and column, or feature.
template <class T>
void piece_moments(const BatchLayout& layout, const T* src, double* mean, double* squares) {
  if (layout.inner == 1) {
    each_index(layout.serial(), layout.pieces, [&](std::int64_t piece) {
      double* own_mean = mean + piece * layout.period;
      double* own_squares = squares + piece * layout.period;
      column_moments(src + layout.first_row(piece) * layout.period, layout.rows_of(piece),
                     layout.period, layout.period, own_mean, own_squares);
      // The columns of a feature come to its first.
      const auto rows = static_cast<double>(layout.rows_of(piece));
      for (std::int64_t f = 0; f < layout.features; ++f) {
        RunningMoments moments;
        for (std::int64_t j = f; j < layout.period; j += layout.features) {
          moments.add({rows, own_mean[j], own_squares[j]});
        }
        own_mean[f] = moments.mean;
        own_squares[f] = moments.squares;
      }
    });
    return;
  }
  each_index(layout.serial(), layout.pieces * layout.features, [&](std::int64_t i) {
    const std::int64_t piece = i / layout.features, feature = i % layout.features;
    RunningMoments moments;
    for (std::int64_t r = 0; r < layout.rows_of(piece); ++r) {
      const std::int64_t run = (layout.first_row(piece) + r) * layout.features + feature;
      moments.add(moments_of_run(src + run * layout.inner, layout.inner));
    }
    mean[i] = moments.mean;
    squares[i] = moments.squares;
  });
}

template <class T>
RunningMoments moments_of_feature(const BatchLayout& layout, const T* src, std::int64_t feature,
                                  const double* mean, const double* squares) {
  RunningMoments moments;
  for (std::int64_t piece = 0; piece < layout.pieces; ++piece) {
    const std::int64_t repeats = layout.period / layout.features;
    const auto count = static_cast<double>(layout.rows_of(piece) * repeats * layout.inner);
    const std::int64_t at = piece * layout.period + feature;
    moments.add({count, mean[at], squares[at]});
  }
  const T* rest = src + layout.rows * layout.period;
  for (std::int64_t j = feature; j < layout.rest; j += layout.features) {
    moments.add({1, static_cast<double>(rest[j]), 0});
  }
  return moments;
}

template <class T>
double value_or(const T* values, std::int64_t i, double otherwise) {
  return values != nullptr ? static_cast<double>(values[i]) : otherwise;
}

template <class T>
void batch_norm_training(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::BatchNormAttrs>();
  const BatchLayout layout(*args.in[0].shape, attrs.axis);
  const BatchScratch<T> scratch(layout, args.scratch);
  const T* src = args.in[0].as<T>();
  const T* scale = attrs.scaled ? args.in[1].as<T>() : nullptr;
  const T* offset = attrs.shifted ? args.in[args.in.size() - 1].as<T>() : nullptr;
  piece_moments(layout, src, scratch.first, scratch.second);
  for (std::int64_t f = 0; f < layout.features; ++f) {
    const RunningMoments moments =
        moments_of_feature(layout, src, f, scratch.first, scratch.second);
    const bool empty = moments.count == 0;
    const double mean = empty ? std::numeric_limits<double>::quiet_NaN() : moments.mean;
    const double variance = empty ? mean : moments.squares / moments.count;
    args.out[1].as<T>()[f] = static_cast<T>(mean);
    args.out[2].as<T>()[f] = static_cast<T>(variance);
    const SplitMean<T> split(mean);
    const double a = value_or(scale, f, 1) / std::sqrt(variance + attrs.epsilon);
    scratch.tables.set(0, f, layout.features, static_cast<double>(split.high));
    scratch.tables.set(1, f, layout.features, a);
    scratch.tables.set(2, f, layout.features, value_or(offset, f, 0) - split.low * a);
  }
  transform(layout, src, args.out[0].as<T>(), scratch.tables);
}

template <class T>
void batch_norm(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::BatchNormAttrs>();
  const BatchLayout layout(*args.in[0].shape, attrs.axis);
  const BatchScratch<T> scratch(layout, args.scratch);
  const T* mean = args.in[1].as<T>();
  const T* variance = args.in[2].as<T>();
  const T* scale = attrs.scaled ? args.in[3].as<T>() : nullptr;
  const T* offset = attrs.shifted ? args.in[args.in.size() - 1].as<T>() : nullptr;
  for (std::int64_t f = 0; f < layout.features; ++f) {
    const double deviation = std::sqrt(static_cast<double>(variance[f]) + attrs.epsilon);
    scratch.tables.set(0, f, layout.features, static_cast<double>(mean[f]));
    scratch.tables.set(1, f, layout.features, value_or(scale, f, 1) / deviation);
    scratch.tables.set(2, f, layout.features, value_or(offset, f, 0));
  }
  transform(layout, args.in[0].as<T>(), args.out[0].as<T>(), scratch.tables);
}

// Adds to each column the sums of dy and of dy (x - mean) over some rows.
template <class T>
void add_gradient_rows(const T* dy, const T* x, std::int64_t rows, std::int64_t stride,
                       std::int64_t width, const T* mean, double* sums, double* products) {
  const hn::ScalableTag<T> d;
  HWY_ALIGN T block_sums[kTile];
  HWY_ALIGN T block_products[kTile];
  for (std::int64_t column = 0; column < width; column += kTile) {
    const std::int64_t columns = std::min(kTile, width - column);
    for (std::int64_t row = 0; row < rows; row += kRows) {
      const std::int64_t count = std::min(kRows, rows - row);
      const T* first_dy = dy + row * stride + column;
      const T* first_x = x + row * stride + column;
      for_vectors<T>(columns, [&](auto at) HWY_ATTR {
        const auto middle = at.load(mean + column);
        auto sum = hn::Zero(d), product = hn::Zero(d);
        for (std::int64_t r = 0; r < count; ++r) {
          const auto flow = at.load(first_dy + r * stride);
          sum = hn::Add(sum, flow);
          product = hn::MulAdd(flow, hn::Sub(at.load(first_x + r * stride), middle), product);
        }
        at.store(sum, block_sums);
        at.store(product, block_products);
      });
      for_vectors<double>(columns, [&](auto at) HWY_ATTR {
        const hn::ScalableTag<double> wide;
        double* to_sums = sums + column;
        double* to_products = products + column;
        at.store(hn::Add(at.load(to_sums), load_wide(wide, block_sums + at.i)), to_sums);
        at.store(hn::Add(at.load(to_products), load_wide(wide, block_products + at.i)),
                 to_products);
      });
    }
  }
}

// Per piece and column: the sums of dy and of dy (x - mean), the mean from table 0.
template <class T>
void gradient_sums(const BatchLayout& layout, const T* dy, const T* x,
                   const BatchScratch<T>& scratch) {
  const std::int64_t cells = layout.pieces * layout.period;
  std::fill_n(scratch.first, 2 * cells, 0.0);
  if (layout.inner == 1) {
    each_index(layout.serial(), layout.pieces, [&](std::int64_t piece) {
      const std::int64_t offset = layout.first_row(piece) * layout.period;
      add_gradient_rows(dy + offset, x + offset, layout.rows_of(piece), layout.period,
                        layout.period, scratch.tables[0], scratch.first + piece * layout.period,
                        scratch.second + piece * layout.period);
    });
    const std::int64_t offset = layout.rows * layout.period;
    add_gradient_rows(dy + offset, x + offset, 1, layout.period, layout.rest, scratch.tables[0],
                      scratch.first, scratch.second);
    return;
  }
  each_index(layout.serial(), cells, [&](std::int64_t i) {
    const hn::ScalableTag<T> d;
    const std::int64_t piece = i / layout.features, feature = i % layout.features;
    const auto middle = hn::Set(d, scratch.tables[0][feature]);
    for (std::int64_t r = 0; r < layout.rows_of(piece); ++r) {
      const std::int64_t run =
          ((layout.first_row(piece) + r) * layout.features + feature) * layout.inner;
      scratch.first[i] += reduce_run<Sum>(dy + run, layout.inner);
      scratch.second[i] += sum_of<T>(layout.inner, [&](auto at) HWY_ATTR {
        return hn::Mul(at.load(dy + run), hn::Sub(at.load(x + run), middle));
      });
    }
  });
}

// dst = dy * a + ((x - mean) * slope + constant), from tables 0 to 3.
template <class T>
void gradient_transform(const BatchLayout& layout, const T* dy, const T* x, T* dst,
                        const Tables<T>& tables) {
  const auto rows = [&](std::int64_t offset, std::int64_t count, std::int64_t width) HWY_ATTR {
    for (std::int64_t r = 0; r < count; ++r, offset += width) {
      for_vectors<T>(width, [&](auto at) HWY_ATTR {
        const auto centred = hn::Sub(at.load(x + offset), at.load(tables[0]));
        const auto of_statistics = hn::MulAdd(centred, at.load(tables[2]), at.load(tables[3]));
        at.store(hn::MulAdd(at.load(dy + offset), at.load(tables[1]), of_statistics), dst + offset);
      });
    }
  };
  if (layout.inner == 1) {
    each_index(layout.serial(), layout.pieces, [&](std::int64_t piece) {
      rows(layout.first_row(piece) * layout.period, layout.rows_of(piece), layout.period);
    });
    rows(layout.rows * layout.period, 1, layout.rest);
    return;
  }
  each_index(layout.serial(), layout.outer * layout.features, [&](std::int64_t i) {
    const hn::ScalableTag<T> d;
    const std::int64_t f = i % layout.features, offset = i * layout.inner;
    for_vectors<T>(layout.inner, [&](auto at) HWY_ATTR {
      const auto centred = hn::Sub(at.load(x + offset), hn::Set(d, tables[0][f]));
      const auto of_statistics =
          hn::MulAdd(centred, hn::Set(d, tables[2][f]), hn::Set(d, tables[3][f]));
      at.store(hn::MulAdd(at.load(dy + offset), hn::Set(d, tables[1][f]), of_statistics),
               dst + offset);
    });
  });
}

// Inputs: dy, x, mean, variance, the gradients of mean and variance, and the scale.
template <class T>
void batch_norm_grad(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::BatchNormAttrs>();
  const BatchLayout layout(*args.in[0].shape, attrs.axis);
  const BatchScratch<T> scratch(layout, args.scratch);
  const T* dy = args.in[0].as<T>();
  const T* x = args.in[1].as<T>();
  const T* scale = attrs.scaled ? args.in[6].as<T>() : nullptr;
  for (std::int64_t f = 0; f < layout.features; ++f) {
    scratch.tables.set(0, f, layout.features, value_or(args.in[2].as<T>(), f, 0));
  }
  gradient_sums(layout, dy, x, scratch);
  const auto n = static_cast<double>(layout.per_feature());
  for (std::int64_t f = 0; f < layout.features; ++f) {
    double sum = 0, product = 0;
    for (std::int64_t piece = 0; piece < layout.pieces; ++piece) {
      for (std::int64_t j = f; j < layout.period; j += layout.features) {
        sum += scratch.first[piece * layout.period + j];
        product += scratch.second[piece * layout.period + j];
      }
    }
    const double variance = static_cast<double>(args.in[3].as<T>()[f]) + attrs.epsilon;
    const double inverse = 1 / std::sqrt(variance);
    const double a = value_or(scale, f, 1) * inverse;
    const double of_mean = static_cast<double>(args.in[4].as<T>()[f]);
    const double of_variance = static_cast<double>(args.in[5].as<T>()[f]);
    args.out[1].as<T>()[f] = static_cast<T>(product * inverse);
    args.out[2].as<T>()[f] = static_cast<T>(sum);
    scratch.tables.set(1, f, layout.features, a);
    scratch.tables.set(2, f, layout.features, (2 * of_variance - a / variance * product) / n);
    scratch.tables.set(3, f, layout.features, (of_mean - a * sum) / n);
  }
  gradient_transform(layout, dy, x, args.out[0].as<T>(), scratch.tables);
}

// Lines that are normalised by themselves: the last `axes` axes, and how many lines there are.
struct LineLayout {
  std::int64_t width = 1;
  std::int64_t lines = 0;
  std::int64_t pieces = 1;

  LineLayout(const Shape& shape, int axes) {
    for (int i = shape.rank() - axes; i < shape.rank(); ++i) width *= shape[i];
    lines = width == 0 ? 0 : shape.numel() / width;
    pieces = std::clamp<std::int64_t>(lines * width / BatchLayout::kPieceElements, 1,
                                      std::clamp<std::int64_t>(lines, 1, BatchLayout::kMostPieces));
  }
  bool serial() const { return lines * width < kSerialElements; }
  std::int64_t first_line(std::int64_t piece) const { return piece * lines / pieces; }
};

// z = (x - mean) * a + b is the line normalised.
template <class T>
struct Normaliser {
  T mean, a, b;
  Normaliser(const RunningMoments& moments, double epsilon)
      : Normaliser(SplitMean<T>(moments.mean), moments.squares / moments.count + epsilon) {}
  template <class V, class D>
  HWY_INLINE V apply(D d, V x) const {
    return hn::MulAdd(hn::Sub(x, hn::Set(d, mean)), hn::Set(d, a), hn::Set(d, b));
  }

 private:
  Normaliser(const SplitMean<T>& split, double variance)
      : mean(split.high),
        a(static_cast<T>(1 / std::sqrt(variance))),
        b(static_cast<T>(-split.low / std::sqrt(variance))) {}
};

template <class T>
HWY_INLINE void layer_norm_line(const T* src, T* dst, std::int64_t width, const T* scale,
                                const T* offset, double epsilon) {
  const hn::ScalableTag<T> d;
  const Normaliser<T> normal(moments_of_run(src, width), epsilon);
  if (scale != nullptr && offset != nullptr) {
    for_vectors<T>(width, [&](auto at) HWY_ATTR {
      const auto z = normal.apply(d, at.load(src));
      at.store(hn::MulAdd(z, at.load(scale), at.load(offset)), dst);
    });
    return;
  }
  for_vectors<T>(width, [&](auto at) HWY_ATTR {
    auto z = normal.apply(d, at.load(src));
    if (scale != nullptr) z = hn::Mul(z, at.load(scale));
    if (offset != nullptr) z = hn::Add(z, at.load(offset));
    at.store(z, dst);
  });
}

template <class T>
void layer_norm(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::LayerNormAttrs>();
  const LineLayout layout(*args.in[0].shape, attrs.axes);
  const T* scale = attrs.scaled ? args.in[1].as<T>() : nullptr;
  const T* offset = attrs.shifted ? args.in[args.in.size() - 1].as<T>() : nullptr;
  each_index(layout.serial(), layout.lines, [&](std::int64_t line) {
    const std::int64_t at = line * layout.width;
    layer_norm_line(args.in[0].as<T>() + at, args.out[0].as<T>() + at, layout.width, scale, offset,
                    attrs.epsilon);
  });
}

// Two sums a piece and column, padded to whole vectors.
std::int64_t padded(std::int64_t width) { return (width + 15) / 16 * 16; }

std::size_t layer_scratch(const ops::KernelArgs& args) noexcept {
  const LineLayout layout(*args.in[0].shape, args.attrs.as<ops::LayerNormAttrs>().axes);
  return static_cast<std::size_t>(2 * layout.pieces * padded(layout.width)) * sizeof(double);
}

// dx = (h - mean(h) - z mean(h z)) * a with h = dy scale; adds dy z and dy to the column's sums.
template <class T>
HWY_INLINE void layer_gradient_line(const T* dy, const T* x, T* dx, std::int64_t width,
                                    const T* scale, double epsilon, double* products,
                                    double* sums) {
  const hn::ScalableTag<T> d;
  const Normaliser<T> normal(moments_of_run(x, width), epsilon);
  const auto scaled = [&](auto at) HWY_ATTR {
    const auto flow = at.load(dy);
    return scale != nullptr ? hn::Mul(flow, at.load(scale)) : flow;
  };
  const auto count = static_cast<double>(width);
  const double mean = sum_of<T>(width, scaled) / count;
  const double mean_product =
      sum_of<T>(width, [&](auto at)
                           HWY_ATTR { return hn::Mul(scaled(at), normal.apply(d, at.load(x))); }) /
      count;
  const auto middle = hn::Set(d, static_cast<T>(mean));
  const auto slope = hn::Set(d, static_cast<T>(mean_product));
  for_vectors<T>(width, [&](auto at) HWY_ATTR {
    const auto flow = at.load(dy);
    const auto z = normal.apply(d, at.load(x));
    const auto h = scaled(at);
    const auto around = hn::NegMulAdd(z, slope, hn::Sub(h, middle));
    AccumulatorOf<Sum, T> product(products + at.i);
    product.add(hn::Mul(flow, z));
    product.store(products + at.i);
    AccumulatorOf<Sum, T> sum(sums + at.i);
    sum.add(flow);
    sum.store(sums + at.i);
    at.store(hn::Mul(around, hn::Set(d, normal.a)), dx);
  });
}

template <class T>
void layer_norm_grad(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::LayerNormAttrs>();
  const LineLayout layout(*args.in[0].shape, attrs.axes);
  const T* scale = attrs.scaled ? args.in[2].as<T>() : nullptr;
  const std::int64_t row = padded(layout.width);
  auto* products = reinterpret_cast<double*>(args.scratch);
  double* sums = products + layout.pieces * row;
  std::fill_n(products, 2 * layout.pieces * row, 0.0);
  each_index(layout.serial(), layout.pieces, [&](std::int64_t piece) {
    for (std::int64_t l = layout.first_line(piece); l < layout.first_line(piece + 1); ++l) {
      const std::int64_t at = l * layout.width;
      layer_gradient_line(args.in[0].as<T>() + at, args.in[1].as<T>() + at,
                          args.out[0].as<T>() + at, layout.width, scale, attrs.epsilon,
                          products + piece * row, sums + piece * row);
    }
  });
  for (std::int64_t j = 0; j < layout.width; ++j) {
    double product = 0, sum = 0;
    for (std::int64_t piece = 0; piece < layout.pieces; ++piece) {
      product += products[piece * row + j];
      sum += sums[piece * row + j];
    }
    args.out[1].as<T>()[j] = static_cast<T>(product);
    args.out[2].as<T>()[j] = static_cast<T>(sum);
  }
}

template <class T>
constexpr ops::KernelRow kernel(const char* op, ops::KernelFn run,
                                ops::ScratchFn scratch = nullptr) {
  return {op, dtype_of<T>, run, scratch};
}

constexpr ops::KernelRow kNormRows[] = {
    kernel<float>("batch_norm", batch_norm<float>, batch_scratch<float>),
    kernel<double>("batch_norm", batch_norm<double>, batch_scratch<double>),
    kernel<float>("batch_norm_training", batch_norm_training<float>, batch_scratch<float>),
    kernel<double>("batch_norm_training", batch_norm_training<double>, batch_scratch<double>),
    kernel<float>("batch_norm_grad", batch_norm_grad<float>, batch_scratch<float>),
    kernel<double>("batch_norm_grad", batch_norm_grad<double>, batch_scratch<double>),
    kernel<float>("layer_norm", layer_norm<float>),
    kernel<double>("layer_norm", layer_norm<double>),
    kernel<float>("layer_norm_grad", layer_norm_grad<float>, layer_scratch),
    kernel<double>("layer_norm_grad", layer_norm_grad<double>, layer_scratch),
    kernel<float>("local_response_normalization", local_response<float>),
    kernel<double>("local_response_normalization", local_response<double>),
    kernel<float>("local_response_normalization_grad", local_response_grad<float>,
                  local_response_grad_scratch<float>),
    kernel<double>("local_response_normalization_grad", local_response_grad<double>,
                   local_response_grad_scratch<double>),
};

std::span<const ops::KernelRow> norm_rows() { return kNormRows; }

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(norm_rows);

std::span<const ops::KernelRow> norm_kernels() { return HWY_DYNAMIC_DISPATCH(norm_rows)(); }

}  // namespace tenure::cpu
#endif
