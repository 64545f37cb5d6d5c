// Softmax, its logarithm, and their gradients.
//
// A line along the axis is gone through three times while it is in the cache: for its largest
// element, for the sum of exponentials, and to scale. Lines that lie apart are taken a tile of
// neighbouring columns at a time.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cpu/axis_layout.h"
#include "backend/cpu/elementwise.h"
#include "backend/cpu/highway_targets.h"
#include "backend/cpu/kernels.h"
#include "ops/attrs.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/softmax.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/accumulate-inl.h"
#include "backend/cpu/vector_math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

// exp of x that is not positive, or NaN.
template <class D, class V>
HWY_INLINE V exp_of_negative(D d, V x) {
  return exp_within(d, at_least(d, x, Constants<D>::kExpMin));
}

template <bool logarithm, class T>
HWY_INLINE void softmax_line(const T* src, T* dst, std::int64_t count) {
  const hn::ScalableTag<T> d;
  const auto largest = hn::Set(d, reduce_run<Max>(src, count));
  const double sum = sum_of<T>(count, [&](auto at) HWY_ATTR {
    const auto e = exp_of_negative(d, hn::Sub(at.load(src), largest));
    if constexpr (!logarithm) at.store(e, dst);
    return e;
  });
  const auto factor = hn::Set(d, static_cast<T>(logarithm ? std::log(sum) : 1 / sum));
  for_vectors<T>(count, [&](auto at) HWY_ATTR {
    if constexpr (logarithm) {
      at.store(hn::Sub(hn::Sub(at.load(src), largest), factor), dst);
    } else {
      at.store(hn::Mul(at.load(dst), factor), dst);
    }
  });
}

// Columns next to each other; `stride` from one element of a column to the next.
template <bool logarithm, class T>
HWY_INLINE void softmax_columns(const T* src, T* dst, std::int64_t count, std::int64_t stride,
                                std::int64_t columns) {
  constexpr std::int64_t kTile = AxisLayout::kTile;
  const hn::ScalableTag<T> d;
  HWY_ALIGN T largest[kTile];
  HWY_ALIGN double sums[kTile] = {};
  for (std::int64_t j = 0; j < kTile; ++j) largest[j] = Max::kIdentity<T>;
  for (std::int64_t i = 0; i < count; ++i) {
    for_vectors<T>(columns, [&](auto at) HWY_ATTR {
      at.store(Max::combine(at.load(largest), at.load(src + i * stride)), largest);
    });
  }
  for (std::int64_t i = 0; i < count; ++i) {
    for_vectors<T>(columns, [&](auto at) HWY_ATTR {
      const auto e = exp_of_negative(d, hn::Sub(at.load(src + i * stride), at.load(largest)));
      if constexpr (!logarithm) at.store(e, dst + i * stride);
      AccumulatorOf<Sum, T> sum(sums + at.i);
      sum.add(e);
      sum.store(sums + at.i);
    });
  }
  HWY_ALIGN T factors[kTile];
  for (std::int64_t j = 0; j < columns; ++j) {
    factors[j] = static_cast<T>(logarithm ? std::log(sums[j]) : 1 / sums[j]);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    for_vectors<T>(columns, [&](auto at) HWY_ATTR {
      if constexpr (logarithm) {
        const auto x = hn::Sub(at.load(src + i * stride), at.load(largest));
        at.store(hn::Sub(x, at.load(factors)), dst + i * stride);
      } else {
        at.store(hn::Mul(at.load(dst + i * stride), at.load(factors)), dst + i * stride);
      }
    });
  }
}

template <bool logarithm, class T>
void softmax(const ops::KernelArgs& args) noexcept {
  const AxisLayout layout(*args.in[0].shape, args.attrs.as<ops::AxisAttrs>().axis);
  const T* src = args.in[0].as<T>();
  T* dst = args.out[0].as<T>();
  layout.each_piece(kSerialMathElements, [&](std::int64_t offset, std::int64_t columns) {
    if (layout.inner == 1) {
      softmax_line<logarithm>(src + offset, dst + offset, layout.count);
    } else {
      softmax_columns<logarithm>(src + offset, dst + offset, layout.count, layout.inner, columns);
    }
  });
}

// What the gradient takes from each element of a line: y dy, or dy.
template <bool logarithm, class V>
HWY_INLINE V gradient_term(V y, V dy) {
  if constexpr (logarithm) return dy;
  return hn::Mul(y, dy);
}

template <bool logarithm, class D, class V>
HWY_INLINE V gradient(D d, V y, V dy, V sum) {
  if constexpr (logarithm) {
    return hn::NegMulAdd(HWY_NAMESPACE::exp(d, y), sum, dy);
  } else {
    return hn::Mul(y, hn::Sub(dy, sum));
  }
}

template <bool logarithm, class T>
HWY_INLINE void gradient_line(const T* y, const T* dy, T* dst, std::int64_t count) {
  const hn::ScalableTag<T> d;
  const double total = sum_of<T>(
      count, [&](auto at) HWY_ATTR { return gradient_term<logarithm>(at.load(y), at.load(dy)); });
  const auto sum = hn::Set(d, static_cast<T>(total));
  for_vectors<T>(count, [&](auto at) HWY_ATTR {
    at.store(gradient<logarithm>(d, at.load(y), at.load(dy), sum), dst);
  });
}

template <bool logarithm, class T>
HWY_INLINE void gradient_columns(const T* y, const T* dy, T* dst, std::int64_t count,
                                 std::int64_t stride, std::int64_t columns) {
  constexpr std::int64_t kTile = AxisLayout::kTile;
  const hn::ScalableTag<T> d;
  HWY_ALIGN double sums[kTile] = {};
  for (std::int64_t i = 0; i < count; ++i) {
    for_vectors<T>(columns, [&](auto at) HWY_ATTR {
      AccumulatorOf<Sum, T> sum(sums + at.i);
      sum.add(gradient_term<logarithm>(at.load(y + i * stride), at.load(dy + i * stride)));
      sum.store(sums + at.i);
    });
  }
  HWY_ALIGN T totals[kTile];
  for (std::int64_t j = 0; j < columns; ++j) totals[j] = static_cast<T>(sums[j]);
  for (std::int64_t i = 0; i < count; ++i) {
    for_vectors<T>(columns, [&](auto at) HWY_ATTR {
      at.store(gradient<logarithm>(d, at.load(y + i * stride), at.load(dy + i * stride),
                                   at.load(totals)),
               dst + i * stride);
    });
  }
}

template <bool logarithm, class T>
void softmax_gradient(const ops::KernelArgs& args) noexcept {
  const AxisLayout layout(*args.in[0].shape, args.attrs.as<ops::AxisAttrs>().axis);
  const T* y = args.in[0].as<T>();
  const T* dy = args.in[1].as<T>();
  T* dst = args.out[0].as<T>();
  layout.each_piece(kSerialElements, [&](std::int64_t offset, std::int64_t columns) {
    if (layout.inner == 1) {
      gradient_line<logarithm>(y + offset, dy + offset, dst + offset, layout.count);
    } else {
      gradient_columns<logarithm>(y + offset, dy + offset, dst + offset, layout.count, layout.inner,
                                  columns);
    }
  });
}

constexpr ops::KernelRow kRows[] = {
    {"softmax", DType::float32, softmax<false, float>},
    {"softmax", DType::float64, softmax<false, double>},
    {"softmax_grad", DType::float32, softmax_gradient<false, float>},
    {"softmax_grad", DType::float64, softmax_gradient<false, double>},
    {"log_softmax", DType::float32, softmax<true, float>},
    {"log_softmax", DType::float64, softmax<true, double>},
    {"log_softmax_grad", DType::float32, softmax_gradient<true, float>},
    {"log_softmax_grad", DType::float64, softmax_gradient<true, double>},
};

std::span<const ops::KernelRow> softmax_rows() { return kRows; }

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(softmax_rows);

std::span<const ops::KernelRow> softmax_kernels() { return HWY_DYNAMIC_DISPATCH(softmax_rows)(); }

}  // namespace tenure::cpu
#endif
