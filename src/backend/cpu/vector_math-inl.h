// Elementary functions of a vector of float or double, for every target Highway compiles.
//
// Accuracy, as the distance from the correctly rounded result:
//
//              float32, every float     float64, sampled
//   exp        1 ULP                    1 ULP
//   log        1 ULP                    1 ULP
//   tanh       2 ULP                    3 ULP
//   sigmoid    2 ULP                    3 ULP
//   expm1      2 ULP (sampled)          2 ULP
//   log1p      2 ULP (sampled)          2 ULP
//
// They hold with and without fused multiply-add, subnormal inputs and results included; infinities,
// NaN and the sign of zero come out as the C library's. tests/exhaustive checks every float.
//
// exp and its kin write x = n ln2 + r with |r| <= ln2 / 2 and take expm1(r) = r + r^2 q(r), q a
// minimax polynomial; the term r stays exact, so small results keep their relative accuracy. n is
// rounded by adding 1.5 * 2^mantissa, which also leaves it as an integer in the low bits. tanh and
// sigmoid both are v / (1 + v), with v = expm1(2|x|) / 2 and v = exp(x). log splits off the
// exponent so that the mantissa lies in [2/3, 4/3). Where a register holds sixteen floats, exp of
// floats rounds n to sixteenths and looks 2^(n - floor(n)) up: r is small, and the polynomial
// short.
//
// No inexact product feeds an addition except through MulAdd: otherwise the compiler would be free
// to fuse the two in one copy of the code and not in another, and an element's bits would depend on
// where it lies.
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"

#if defined(TENURE_BACKEND_CPU_VECTOR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_BACKEND_CPU_VECTOR_MATH_INL_H
#undef TENURE_BACKEND_CPU_VECTOR_MATH_INL_H
#else
#define TENURE_BACKEND_CPU_VECTOR_MATH_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct MathConstants;

template <>
struct MathConstants<float> {
  using Bits = std::uint32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr Bits kExponentBias = 127;
  static constexpr float kRounder = 0x1.8p23f;  // x + kRounder - kRounder is x, rounded
  static constexpr float kInteger = 0x1p23f;    // its bits plus a small integer are their sum's
  static constexpr float kLog2e = 0x1.715476p+0f;
  static constexpr float kLn2 = 0x1.62e43p-1f;
  // n * kLn2High is exact without FMA for every n an exponent can be.
  static constexpr float kLn2High = 0x1.62e4p-1f;
  static constexpr float kLn2Low = 0x1.7f7d1cp-20f;
  // exp is 0 and infinite beyond these, expm1 is -1 and tanh 1.
  static constexpr float kExpMin = -104.0f, kExpMax = 89.0f;
  static constexpr float kExpm1Min = -18.0f, kTanhMax = 9.2f;
  static constexpr float kSigmoidMax = 60.0f;  // 1 long before, and exp is finite
  // q of expm1(r) = r + r^2 q(r), from the constant upwards. Relative error of expm1 2^-25.7, and
  // 2^-27 around r = 0.1, where tanh has none to spare.
  static constexpr float kExpm1[] = {0x1.000002p-1f, 0x1.5554c2p-3f, 0x1.5551b8p-5f, 0x1.121cbep-7f,
                                     0x1.6f78bap-10f};
  static constexpr float kSixteenthsRounder = 0x1.8p19f;
  static constexpr float kPowersOfSixteenths[] = {
      0x1p+0f,        0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f,
      0x1.306fep+0f,  0x1.3dea64p+0f, 0x1.4bfdaep+0f, 0x1.5ab07ep+0f,
      0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f,
      0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f};
  // The same times this, which is such that all are nearly floats (off by 0.23 ULP at most) and
  // that exp is a normal number wherever sigmoid is not 0. As bits, without the sixteenths
  // themselves, which come back with n when it is added to the exponent.
  static constexpr float kSigmoidScale = 0x1.65e90cp+24f;
  static constexpr Bits kScaledPowersOfSixteenths[] = {
      0x4bb2f486, 0x4bb2e0d1, 0x4bb326e9, 0x4bb3cac8, 0x4bb4d094, 0x4bb63ca4,
      0x4bb8137e, 0x4bba59dd, 0x4bbd14b1, 0x4bbc2491, 0x4bb9fe49, 0x4bb81a50,
      0x4bb67b96, 0x4bb5252c, 0x4bb41a45, 0x4bb35e39};
  // p of expm1(r) = r p(r) for |r| <= ln2 / 32; relative error of exp 2^-29.
  static constexpr float kExpm1OfSixteenths[] = {1.0f, 0x1.00022p-1f, 0x1.555556p-3f};
  static constexpr float kTwoThirds = 0x1.555556p-1f;
  // q of log(1 + f) = f + f^2 q(f); relative error 2^-27.4.
  static constexpr float kLog[] = {-0.5f,           0x1.555506p-2f,  -0x1.fffefp-3f,
                                   0x1.99d028p-3f,  -0x1.559dcep-3f, 0x1.1ed716p-3f,
                                   -0x1.f310e8p-4f, 0x1.1e66c2p-3f,  -0x1.080646p-3f};
};

template <>
struct MathConstants<double> {
  using Bits = std::uint64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr Bits kExponentBias = 1023;
  static constexpr double kRounder = 0x1.8p52;
  static constexpr double kInteger = 0x1p52;
  static constexpr double kLog2e = 0x1.71547652b82fep+0;
  static constexpr double kLn2High = 0x1.62e42feep-1;
  static constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  static constexpr double kExpMin = -746.0, kExpMax = 710.0;
  static constexpr double kExpm1Min = -38.0, kTanhMax = 19.5;
  static constexpr double kSigmoidMax = 700.0;
  // Relative error 2^-60.6.
  static constexpr double kExpm1[] = {0.5,
                                      0x1.5555555555559p-3,
                                      0x1.555555555555ap-5,
                                      0x1.111111110f6aep-7,
                                      0x1.6c16c16c1445bp-10,
                                      0x1.a01a01afe52ccp-13,
                                      0x1.a01a01b0b3f96p-16,
                                      0x1.71ddf85391c93p-19,
                                      0x1.27e4c5a7232bcp-22,
                                      0x1.af5ebf1b4563ep-26,
                                      0x1.1f9559bfbd64fp-29};
  static constexpr double kTwoThirds = 0x1.5555555555555p-1;
  // p of log(1 + f) = 2s + s z p(z) with s = f / (2 + f) and z = s^2; relative error 2^-61.
  static constexpr double kLog[] = {
      0x1.555555555554fp-1, 0x1.999999999c0fep-2, 0x1.24924921eba31p-2, 0x1.c71c748935f64p-3,
      0x1.745c4c655653p-3,  0x1.3b358e69e44c4p-3, 0x1.0dcee614a9b8cp-3, 0x1.1b6b2022fb34cp-3};
};

template <class D>
using Constants = MathConstants<hn::TFromD<D>>;

// coefficients[0] + coefficients[1] * x + ...
template <class D, class V, class T, std::size_t count>
HWY_INLINE V polynomial(D d, V x, const T (&coefficients)[count]) {
  V sum = hn::Set(d, coefficients[count - 1]);
  for (std::size_t i = count - 1; i-- > 0;) {
    sum = hn::MulAdd(sum, x, hn::Set(d, coefficients[i]));
  }
  return sum;
}

// min and max of a bound and x that let NaN through. The x86 instructions do when x comes second.
template <class D, class V>
HWY_INLINE V at_most(D d, V x, hn::TFromD<D> bound) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::Min(hn::Set(d, bound), x);
#else
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, bound)), hn::Set(d, bound), x);
#endif
}

template <class D, class V>
HWY_INLINE V at_least(D d, V x, hn::TFromD<D> bound) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::Max(hn::Set(d, bound), x);
#else
  return hn::IfThenElse(hn::Lt(x, hn::Set(d, bound)), hn::Set(d, bound), x);
#endif
}

// 0 for what is not above it; NaN passes.
template <class D, class V>
HWY_INLINE V relu(D d, V x) {
  return hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x);
}

// x = n ln2 + r
template <class V>
struct Reduced {
  V rounder;  // what rounds, plus n
  V n;
  V r;
};

template <class D, class V>
HWY_INLINE Reduced<V> reduce(D d, V x, hn::TFromD<D> rounds = Constants<D>::kRounder) {
  using C = Constants<D>;
  const V rounder = hn::MulAdd(x, hn::Set(d, C::kLog2e), hn::Set(d, rounds));
  const V n = hn::Sub(rounder, hn::Set(d, rounds));
  const V high = hn::NegMulAdd(n, hn::Set(d, C::kLn2High), x);
  return {rounder, n, hn::NegMulAdd(n, hn::Set(d, C::kLn2Low), high)};
}

// The same, with an error of up to n 2^-29 in a float's r: for functions that flatten as n grows.
template <class D, class V>
HWY_INLINE Reduced<V> reduce_coarsely(D d, V x) {
#if HWY_NATIVE_FMA
  using C = Constants<D>;
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(float)) {
    const V rounder = hn::MulAdd(x, hn::Set(d, C::kLog2e), hn::Set(d, C::kRounder));
    const V n = hn::Sub(rounder, hn::Set(d, C::kRounder));
    return {rounder, n, hn::NegMulAdd(n, hn::Set(d, C::kLn2), x)};
  }
#endif
  return reduce(d, x);
}

// r + r^2 q(r)
template <class D, class V>
HWY_INLINE V expm1_of_remainder(D d, V r) {
  return hn::MulAdd(hn::Mul(r, r), polynomial(d, r, Constants<D>::kExpm1), r);
}

// 2^(n + offset), for a normal result.
template <class D, class V>
HWY_INLINE V power_of_two(D d, const Reduced<V>& x, int offset) {
  using C = Constants<D>;
  const hn::RebindToUnsigned<D> du;
  const auto bias = (C::kExponentBias + static_cast<typename C::Bits>(offset)) << C::kMantissaBits;
  const auto exponent = hn::ShiftLeft<C::kMantissaBits>(hn::BitCast(du, x.rounder));
  return hn::BitCast(d, hn::Add(exponent, hn::Set(du, bias)));
}

// v * 2^floor(n), rounded once where it is subnormal.
template <class D, class V>
HWY_INLINE V scale(D d, V v, const Reduced<V>& x) {
  using C = Constants<D>;
#if HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(V) == 64 && sizeof(hn::TFromD<D>) == sizeof(float)) {
    return V{_mm512_scalef_ps(v.raw, x.n.raw)};
  } else if constexpr (sizeof(V) == 64) {
    return V{_mm512_scalef_pd(v.raw, x.n.raw)};
  }
#endif
  // By two factors, each a normal number: the first product is exact.
  const hn::RebindToUnsigned<D> du;
  const auto rounder = hn::BitCast(du, hn::Set(d, C::kRounder));
  const auto twice_bias = hn::Set(du, 2 * C::kExponentBias);
  const auto both = hn::Add(hn::Sub(hn::BitCast(du, x.rounder), rounder), twice_bias);
  const auto first = hn::ShiftRight<1>(both);
  const V product = hn::Mul(v, hn::BitCast(d, hn::ShiftLeft<C::kMantissaBits>(first)));
  return hn::Mul(product, hn::BitCast(d, hn::ShiftLeft<C::kMantissaBits>(hn::Sub(both, first))));
}

#if HWY_TARGET == HWY_AVX3
// power exp(r)
template <class D, class V>
HWY_INLINE V times_exp_of_remainder(D d, V power, V r) {
  const V slope = polynomial(d, r, Constants<D>::kExpm1OfSixteenths);
  return hn::MulAdd(hn::Mul(power, r), slope, power);
}

template <class D, class V>
HWY_INLINE V exp_by_table(D d, V x) {
  using C = Constants<D>;
  const Reduced<V> fine = reduce(d, x, C::kSixteenthsRounder);
  // Of an index the instruction takes the low four bits.
  const V power{_mm512_permutexvar_ps(_mm512_castps_si512(fine.rounder.raw),
                                      _mm512_loadu_ps(C::kPowersOfSixteenths))};
  return scale(d, times_exp_of_remainder(d, power, fine.r), fine);
}

// kSigmoidScale exp(x), for a normal result.
template <class D, class V>
HWY_INLINE V scaled_exp_by_table(D d, V x) {
  using C = Constants<D>;
  const Reduced<V> fine = reduce(d, x, C::kSixteenthsRounder);
  const __m512i sixteenths = _mm512_castps_si512(fine.rounder.raw);
  const __m512i power =
      _mm512_permutexvar_epi32(sixteenths, _mm512_loadu_si512(C::kScaledPowersOfSixteenths));
  const __m512i exponent = _mm512_slli_epi32(sixteenths, C::kMantissaBits - 4);
  const V scaled{_mm512_castsi512_ps(_mm512_add_epi32(power, exponent))};
  return times_exp_of_remainder(d, scaled, fine.r);
}

template <class V>
inline constexpr bool kSixteenFloats = sizeof(V) == 64 && sizeof(hn::TFromV<V>) == sizeof(float);
#endif

// exp for kExpMin <= x <= kExpMax, or NaN.
template <class D, class V>
HWY_INLINE V exp_within(D d, V x) {
#if HWY_TARGET == HWY_AVX3
  if constexpr (kSixteenFloats<V>) {
    return exp_by_table(d, x);
  }
#endif
  const Reduced<V> reduced = reduce(d, x);
  const V one = hn::Set(d, 1);
  const V slope = hn::MulAdd(polynomial(d, reduced.r, Constants<D>::kExpm1), reduced.r, one);
  return scale(d, hn::MulAdd(slope, reduced.r, one), reduced);
}

template <class D, class V>
HWY_INLINE V exp(D d, V x) {
  using C = Constants<D>;
  return exp_within(d, at_least(d, at_most(d, x, C::kExpMax), C::kExpMin));
}

// exp(x) - 1 for x <= 0, or NaN.
template <class D, class V>
HWY_INLINE V expm1_of_negative(D d, V x) {
  const Reduced<V> reduced = reduce_coarsely(d, at_least(d, x, Constants<D>::kExpm1Min));
  const V scale = power_of_two(d, reduced, 0);
  const V rest = hn::Sub(scale, hn::Set(d, 1));
  return hn::MulAdd(scale, expm1_of_remainder(d, reduced.r), rest);
}

// exp(x) - 1. Halves keep the power of two finite for every finite result.
template <class D, class V>
HWY_INLINE V expm1(D d, V x) {
  using C = Constants<D>;
  const Reduced<V> reduced = reduce(d, at_least(d, at_most(d, x, C::kExpMax), C::kExpm1Min));
  const V half_scale = power_of_two(d, reduced, -1);
  const V rest = hn::Sub(half_scale, hn::Set(d, 0.5));
  const V half = hn::MulAdd(half_scale, expm1_of_remainder(d, reduced.r), rest);
  return hn::CopySign(hn::Add(half, half), x);
}

// v / (1 + v)
template <class D, class V>
HWY_INLINE V over_one_more(D d, V v) {
  return hn::Div(v, hn::Add(v, hn::Set(d, 1)));
}

template <class D, class V>
HWY_INLINE V sigmoid(D d, V x) {
  using C = Constants<D>;
  const V bounded = at_least(d, at_most(d, x, C::kSigmoidMax), C::kExpMin);
#if HWY_TARGET == HWY_AVX3
  if constexpr (kSixteenFloats<V>) {
    const V v = scaled_exp_by_table(d, bounded);
    return hn::Div(v, hn::Add(v, hn::Set(d, C::kSigmoidScale)));
  }
#endif
  return over_one_more(d, exp_within(d, bounded));
}

template <class D, class V>
HWY_INLINE V tanh(D d, V x) {
  const V magnitude = at_most(d, hn::Abs(x), Constants<D>::kTanhMax);
  const Reduced<V> reduced = reduce_coarsely(d, hn::Add(magnitude, magnitude));
  const V half_scale = power_of_two(d, reduced, -1);
  const V rest = hn::Sub(half_scale, hn::Set(d, 0.5));
  const V half_expm1 = hn::MulAdd(half_scale, expm1_of_remainder(d, reduced.r), rest);
  return hn::CopySignToAbs(over_one_more(d, half_expm1), x);
}

// log(1 + f) + e ln2 for f in [-1/3, 1/3].
template <class D, class V>
HWY_INLINE V log1p_plus(D d, V f, V e) {
  using C = Constants<D>;
  if constexpr (sizeof(hn::TFromD<D>) == sizeof(float)) {
    const V log1p = hn::MulAdd(hn::Mul(f, f), polynomial(d, f, C::kLog), f);
    const V low = hn::MulAdd(e, hn::Set(d, C::kLn2Low), log1p);
    return hn::MulAdd(e, hn::Set(d, C::kLn2High), low);
  } else {
    // 2s is f - s f, so the sum is f - f^2 / 2 + s (f^2 / 2 + z p(z)): its largest term is exact.
    const V s = hn::Div(f, hn::Add(f, hn::Set(d, 2)));
    const V z = hn::Mul(s, s);
    const V half = hn::Mul(f, hn::Set(d, 0.5));
    const V bracket = hn::MulAdd(z, polynomial(d, z, C::kLog), hn::Mul(f, half));
    const V low = hn::MulAdd(s, bracket, hn::Mul(e, hn::Set(d, C::kLn2Low)));
    const V log1p = hn::Sub(f, hn::MulSub(f, half, low));
    return hn::MulAdd(e, hn::Set(d, C::kLn2High), log1p);
  }
}

// log for normal x > 0, plus shift * ln2.
template <class D, class V>
HWY_INLINE V log_of_normal(D d, V x, V shift) {
  using C = Constants<D>;
  const hn::RebindToUnsigned<D> du;
  const auto lowest = hn::BitCast(du, hn::Set(d, C::kTwoThirds));
  const auto one = hn::BitCast(du, hn::Set(d, 1));
  const auto offset = hn::Add(hn::BitCast(du, x), hn::Sub(one, lowest));
  const auto exponent = hn::ShiftRight<C::kMantissaBits>(offset);
  const auto fraction = hn::Set(du, (typename C::Bits{1} << C::kMantissaBits) - 1);
  const V mantissa = hn::BitCast(d, hn::Add(hn::And(offset, fraction), lowest));
  const V integer = hn::Set(d, C::kInteger);
  const V biased = hn::BitCast(d, hn::Or(exponent, hn::BitCast(du, integer)));
  const V bias = hn::Set(d, C::kInteger + static_cast<hn::TFromD<D>>(C::kExponentBias));
  const V e = hn::Add(hn::Sub(biased, bias), shift);
  return log1p_plus(d, hn::Sub(mantissa, hn::Set(d, 1)), e);
}

template <class D, class V>
HWY_INLINE V log(D d, V x) {
  using T = hn::TFromD<D>;
  using C = Constants<D>;
  const V infinity = hn::Set(d, std::numeric_limits<T>::infinity());
  const V least = hn::Set(d, std::numeric_limits<T>::min());
  const V zero = hn::Zero(d);
  if (HWY_LIKELY(hn::AllTrue(d, hn::And(hn::Ge(x, least), hn::Lt(x, infinity))))) {
    return log_of_normal(d, x, zero);
  }
  // The same formula for the normal lanes, so that they do not depend on their neighbours.
  constexpr int kUp = C::kMantissaBits + 1;
  const auto subnormal = hn::Lt(x, least);
  const V up = hn::Set(d, static_cast<T>(typename C::Bits{1} << kUp));
  const V normal = hn::IfThenElse(subnormal, hn::Mul(x, up), x);
  const V shift = hn::IfThenElseZero(subnormal, hn::Set(d, static_cast<T>(-kUp)));
  const V of_positive = hn::IfThenElse(hn::Lt(x, infinity), log_of_normal(d, normal, shift), x);
  const V nan = hn::Set(d, std::numeric_limits<T>::quiet_NaN());
  const V of_others = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), nan);
  return hn::IfThenElse(hn::Le(x, zero), of_others, of_positive);
}

// log(1 + x): the logarithm of the rounded sum, and of what the rounding lost, its first term.
template <class D, class V>
HWY_INLINE V log1p(D d, V x) {
  const V one = hn::Set(d, 1), zero = hn::Zero(d);
  const V infinity = hn::Set(d, std::numeric_limits<hn::TFromD<D>>::infinity());
  const V sum = hn::Add(x, one);
  const V back = hn::Sub(sum, one);
  const V lost = hn::Add(hn::Sub(one, hn::Sub(sum, back)), hn::Sub(x, back));
  const V y = HWY_NAMESPACE::log(d, sum);
  const V corrected = hn::Add(y, hn::Div(lost, sum));
  const auto usual = hn::And(hn::Gt(sum, zero), hn::Lt(sum, infinity));
  return hn::IfThenElse(hn::Eq(x, zero), x, hn::IfThenElse(usual, corrected, y));
}

// log(1 + exp(x)), which neither overflows nor loses small results.
template <class D, class V>
HWY_INLINE V softplus(D d, V x) {
  const V fall = HWY_NAMESPACE::exp(d, hn::Neg(hn::Abs(x)));
  return hn::Add(hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x), HWY_NAMESPACE::log1p(d, fall));
}

}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
