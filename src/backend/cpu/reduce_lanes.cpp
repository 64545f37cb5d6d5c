#include "backend/cpu/reduce_lanes.h"

#include <algorithm>
#include <limits>

#include "backend/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/reduce_lanes.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/lanes-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

struct Sum {
  template <class T>
  using Total = double;
  template <class T>
  static constexpr T kIdentity = 0;
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    return hn::Add(a, b);
  }
  static HWY_INLINE double merge(double a, double b) { return a + b; }
};

struct Max {
  template <class T>
  using Total = T;
  template <class T>
  static constexpr T kIdentity = -std::numeric_limits<T>::infinity();
  // NaN wins. The instructions' own treatment of NaN differs from target to target.
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(b)), b, a);
  }
  template <class T>
  static HWY_INLINE T merge(T a, T b) {
    return a < b || b != b ? b : a;
  }
};

template <class Op, class D>
HWY_INLINE hn::TFromD<D> reduce_vector([[maybe_unused]] D d, hn::Vec<D> v) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(d) > 1) {
    const hn::Half<D> half;
    return reduce_vector<Op>(half, Op::combine(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
#endif
  return hn::GetLane(v);
}

// The first `count` lanes of src; the others are such that they change nothing.
template <class Op, class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_some(D d, const T* src, std::int64_t count) {
  const auto lanes = static_cast<std::size_t>(count);
  const auto loaded = load_first(d, src, lanes);
  if constexpr (Op::template kIdentity<T> == 0) {
    return loaded;
  } else {
    return hn::IfThenElse(hn::FirstN(d, lanes), loaded, hn::Set(d, Op::template kIdentity<T>));
  }
}

template <class Op, class T>
T reduce_block(const T* HWY_RESTRICT src, std::int64_t count) {
  constexpr int kChains = 8;
  const hn::ScalableTag<T> d;
  using Vec = hn::Vec<decltype(d)>;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  Vec chain[kChains];
#pragma GCC unroll 8
  for (int c = 0; c < kChains; ++c) chain[c] = hn::Set(d, Op::template kIdentity<T>);
  std::int64_t i = 0;
  for (; i + kChains * lanes <= count; i += kChains * lanes) {
#pragma GCC unroll 8
    for (int c = 0; c < kChains; ++c) {
      chain[c] = Op::combine(chain[c], hn::LoadU(d, src + i + c * lanes));
    }
  }
  for (; i + lanes <= count; i += lanes) chain[0] = Op::combine(chain[0], hn::LoadU(d, src + i));
  if (i < count) chain[1] = Op::combine(chain[1], load_some<Op>(d, src + i, count - i));
#pragma GCC unroll 8
  for (int half = kChains / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int c = 0; c < half; ++c) chain[c] = Op::combine(chain[c], chain[c + half]);
  }
  return reduce_vector<Op>(d, chain[0]);
}

template <class Op, class T>
typename Op::template Total<T> reduce_run(const T* src, std::int64_t count) {
  constexpr std::int64_t kBlock = 4096;
  typename Op::template Total<T> total = Op::template kIdentity<T>;
  for (std::int64_t i = 0; i < count; i += kBlock) {
    total = Op::merge(total, reduce_block<Op>(src + i, std::min(kBlock, count - i)));
  }
  return total;
}

template <class Op, class T>
void reduce_rows(const T* const* rows, std::int64_t count, std::int64_t width,
                 typename Op::template Total<T>* HWY_RESTRICT dst) {
  const hn::ScalableTag<T> d;
  using Vec = hn::Vec<decltype(d)>;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN T sum[kMaxWidth];  // of this call's rows
  const auto each_vector = [&](auto reduce) HWY_ATTR {
    std::int64_t j = 0;
    for (; j + lanes <= width; j += lanes) {
      reduce(j, [&](const T* row) HWY_ATTR { return hn::LoadU(d, row + j); });
    }
    if (j < width) {
      reduce(j, [&](const T* row) HWY_ATTR { return load_some<Op>(d, row + j, width - j); });
    }
  };
  std::int64_t r = 0;
  for (; r + 8 <= count; r += 8) {
    const T* const* eight = rows + r;
    each_vector([&](std::int64_t j, auto load) HWY_ATTR {
      const Vec a = Op::combine(load(eight[0]), load(eight[1]));
      const Vec b = Op::combine(load(eight[2]), load(eight[3]));
      const Vec e = Op::combine(load(eight[4]), load(eight[5]));
      const Vec f = Op::combine(load(eight[6]), load(eight[7]));
      const Vec all = Op::combine(Op::combine(a, b), Op::combine(e, f));
      hn::Store(r == 0 ? all : Op::combine(hn::Load(d, sum + j), all), d, sum + j);
    });
  }
  for (; r < count; ++r) {
    each_vector([&](std::int64_t j, auto load) HWY_ATTR {
      const Vec row = load(rows[r]);
      hn::Store(r == 0 ? row : Op::combine(hn::Load(d, sum + j), row), d, sum + j);
    });
  }
#pragma omp simd
  for (std::int64_t j = 0; j < width; ++j) dst[j] = Op::merge(dst[j], sum[j]);
}

double sum_run_f32(const float* src, std::int64_t count) { return reduce_run<Sum>(src, count); }
double sum_run_f64(const double* src, std::int64_t count) { return reduce_run<Sum>(src, count); }
float max_run_f32(const float* src, std::int64_t count) { return reduce_run<Max>(src, count); }
double max_run_f64(const double* src, std::int64_t count) { return reduce_run<Max>(src, count); }

void sum_rows_f32(const float* const* rows, std::int64_t count, std::int64_t width, double* dst) {
  reduce_rows<Sum>(rows, count, width, dst);
}
void sum_rows_f64(const double* const* rows, std::int64_t count, std::int64_t width, double* dst) {
  reduce_rows<Sum>(rows, count, width, dst);
}
void max_rows_f32(const float* const* rows, std::int64_t count, std::int64_t width, float* dst) {
  reduce_rows<Max>(rows, count, width, dst);
}
void max_rows_f64(const double* const* rows, std::int64_t count, std::int64_t width, double* dst) {
  reduce_rows<Max>(rows, count, width, dst);
}

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(sum_run_f32);
HWY_EXPORT(sum_run_f64);
HWY_EXPORT(max_run_f32);
HWY_EXPORT(max_run_f64);
HWY_EXPORT(sum_rows_f32);
HWY_EXPORT(sum_rows_f64);
HWY_EXPORT(max_rows_f32);
HWY_EXPORT(max_rows_f64);

double sum_run(const float* src, std::int64_t count) noexcept {
  return HWY_DYNAMIC_DISPATCH(sum_run_f32)(src, count);
}
double sum_run(const double* src, std::int64_t count) noexcept {
  return HWY_DYNAMIC_DISPATCH(sum_run_f64)(src, count);
}
float max_run(const float* src, std::int64_t count) noexcept {
  return HWY_DYNAMIC_DISPATCH(max_run_f32)(src, count);
}
double max_run(const double* src, std::int64_t count) noexcept {
  return HWY_DYNAMIC_DISPATCH(max_run_f64)(src, count);
}
void sum_rows(const float* const* rows, std::int64_t count, std::int64_t width,
              double* dst) noexcept {
  HWY_DYNAMIC_DISPATCH(sum_rows_f32)(rows, count, width, dst);
}
void sum_rows(const double* const* rows, std::int64_t count, std::int64_t width,
              double* dst) noexcept {
  HWY_DYNAMIC_DISPATCH(sum_rows_f64)(rows, count, width, dst);
}
void max_rows(const float* const* rows, std::int64_t count, std::int64_t width,
              float* dst) noexcept {
  HWY_DYNAMIC_DISPATCH(max_rows_f32)(rows, count, width, dst);
}
void max_rows(const double* const* rows, std::int64_t count, std::int64_t width,
              double* dst) noexcept {
  HWY_DYNAMIC_DISPATCH(max_rows_f64)(rows, count, width, dst);
}

}  // namespace tenure::cpu
#endif
