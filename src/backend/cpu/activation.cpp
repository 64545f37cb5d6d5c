// Activations beyond the everyday ones of unary.cpp.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/highway_targets.h"
#include "backend/cpu/kernels.h"
#include "ops/maths_attrs.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/activation.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/erf-inl.h"
#include "backend/cpu/loops-inl.h"
#include "backend/cpu/vector_math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

// x, or alpha x below zero; alpha is one number or one for each value.
struct Leaky : Cheap {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x, V alpha) {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(x, alpha), x);
  }
};

// NaN passes.
struct Step : Cheap {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x, V alpha) {
    const V of_number = hn::IfThenElse(hn::Gt(x, hn::Zero(d)), hn::Set(d, 1), alpha);
    return hn::IfThenElse(hn::IsNaN(x), x, of_number);
  }
};

// clip(0.2 x + 0.5, 0, 1)
struct HardSigmoid : Cheap {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    using T = hn::TFromD<D>;
    const V line = hn::MulAdd(x, hn::Set(d, static_cast<T>(0.2)), hn::Set(d, static_cast<T>(0.5)));
    return at_least(d, at_most(d, line, 1), 0);
  }
};

// x times a share that is 0 far below zero: -inf gives 0, not NaN.
template <class D, class V>
HWY_INLINE V shared(D d, V x, V share) {
  return hn::Mul(at_least(d, x, std::numeric_limits<hn::TFromD<D>>::lowest()), share);
}

struct Silu : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return shared(d, x, sigmoid(d, x));
  }
};

struct Softplus : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return softplus(d, x);
  }
};

struct LogSigmoid : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return hn::Neg(softplus(d, hn::Neg(x)));
  }
};

// x^2 / 2 less its rounded value.
template <class D, class V>
HWY_INLINE V lost_by_half_square(D d, V x, V rounded) {
  const V half = hn::Set(d, 0.5f);
#if HWY_NATIVE_FMA
  return hn::MulSub(hn::Mul(x, half), x, rounded);
#else
  // By halves of 12 bits each, whose products are exact.
  const hn::RebindToUnsigned<D> du;
  const V high = hn::And(x, hn::BitCast(d, hn::Set(du, 0xfffff000u)));
  const V low = hn::Sub(x, high);
  const V first = hn::MulSub(hn::Mul(high, half), high, rounded);
  return hn::MulAdd(hn::Mul(low, half), low, hn::MulAdd(high, low, first));
#endif
}

// x erfc(-x / sqrt 2) / 2: no difference is taken that would lose the small results below zero.
struct Gelu : Costly {
  static constexpr double kRootHalf = 0x1.6a09e667f3bcdp-1, kRootHalfLow = -0x1.bdd3413b26456p-55;
  static constexpr double kSlope = 0x1.20dd750429b6dp+0;  // 2 / sqrt(pi)
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    const V half = hn::Set(d, 0.5f);
    const V half_x = hn::Mul(x, half), half_square = hn::Mul(half_x, x);
    const V lost = lost_by_half_square(d, at_most(d, hn::Abs(x), 40), at_most(d, half_square, 800));
    const V size = hn::Mul(hn::Abs(x), hn::Set(d, static_cast<float>(kRootHalf)));
    const V tail = erfc_of_positive(d, size, half_square, lost);
    const V share = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(hn::Set(d, 2), tail));
    return shared(d, x, hn::Mul(half, share));
  }
  // erfc t falls as fast as exp(-t^2), which makes much of the rounding of t.
  static double of(double x) {
    const double bounded = std::fmax(x, std::numeric_limits<double>::lowest());
    const double t = -x * kRootHalf;
    double erfc = std::erfc(t);
    if (t > 0 && t < 30) {
      const double lost = std::fma(-x, kRootHalf, -t) - x * kRootHalfLow;
      erfc -= kSlope * std::exp(-t * t) * lost;
    }
    return bounded * (0.5 * erfc);
  }
};

// x sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3): what x (1 + tanh u) / 2 is.
struct GeluByTanh : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    using T = hn::TFromD<D>;
    const V cubic = hn::Set(d, static_cast<T>(0.044715)), one = hn::Set(d, 1);
    const V inner = hn::Mul(x, hn::MulAdd(hn::Mul(x, x), cubic, one));
    const V share = sigmoid(d, hn::Mul(inner, hn::Set(d, static_cast<T>(1.5957691216057308))));
    return shared(d, x, share);
  }
};

template <class T>
std::array<T, 1> alpha(ops::AttrsRef attrs) {
  return {static_cast<T>(attrs.as<ops::AlphaAttrs>().alpha)};
}

template <class T>
using GeluLoop =
    std::conditional_t<sizeof(T) == sizeof(float), FloatLoop<Gelu, T>, PlainLoop<Gelu, T, T>>;

template <class T>
void gelu(const ops::KernelArgs& args) noexcept {
  if (args.attrs.as<ops::GeluAttrs>().approximate) {
    elementwise_kernel<FloatLoop<GeluByTanh, T>>(args);
  } else {
    elementwise_kernel<GeluLoop<T>>(args);
  }
}

template <class T>
ops::ElementLoop gelu_loop(ops::AttrsRef attrs) noexcept {
  const bool approximate = attrs.as<ops::GeluAttrs>().approximate;
  return {.loop = approximate ? kRunLoop<FloatLoop<GeluByTanh, T>> : kRunLoop<GeluLoop<T>>};
}

template <class T>
constexpr ops::KernelRow gelu_row() {
  return {.op = "gelu", .dtype = dtype_of<T>, .run = &gelu<T>, .loop = &gelu_loop<T>};
}

template <class T>
constexpr std::array<ops::KernelRow, 8> rows() {
  return {numbered_row<Leaky, T, &alpha<T>>("leaky_relu"),
          elementwise_row<FloatPairLoop<Leaky, T>>("prelu", dtype_of<T>),
          numbered_row<Step, T, &alpha<T>>("step"),
          gelu_row<T>(),
          elementwise_row<FloatLoop<HardSigmoid, T>>("hard_sigmoid", dtype_of<T>),
          elementwise_row<FloatLoop<Silu, T>>("silu", dtype_of<T>),
          elementwise_row<FloatLoop<Softplus, T>>("softplus", dtype_of<T>),
          elementwise_row<FloatLoop<LogSigmoid, T>>("log_sigmoid", dtype_of<T>)};
}

constexpr std::array kRows = {rows<float>(), rows<double>()};

std::span<const ops::KernelRow> activation_rows() {
  return {kRows.front().data(), 8 * kRows.size()};
}

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(activation_rows);

std::span<const ops::KernelRow> activation_kernels() {
  return HWY_DYNAMIC_DISPATCH(activation_rows)();
}

}  // namespace tenure::cpu
#endif
