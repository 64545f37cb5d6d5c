// Elementary functions of float lanes, computed in double and rounded once at the end: nothing
// before that rounding needs care with the last bit, so polynomials are short and exact enough by
// far (relative error below 2^-31), and results lie within 1 ULP of the correctly rounded ones.
//
// Each Op has `apply`, for vectors of double that hold floats, and `of`, the C library's function,
// which float64 uses and which stands in for the few lanes that the vector code does not cover. An
// element's bits do not depend on its neighbours: those lanes alone are replaced.
//
// Polynomials interpolate at Chebyshev nodes; as in vector_math-inl.h, no inexact product feeds an
// addition except through MulAdd.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "backend/cpu/loops-inl.h"
#include "backend/cpu/vector_math-inl.h"
#include "hwy/highway.h"

#if defined(TENURE_BACKEND_CPU_WIDE_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_BACKEND_CPU_WIDE_MATH_INL_H
#undef TENURE_BACKEND_CPU_WIDE_MATH_INL_H
#else
#define TENURE_BACKEND_CPU_WIDE_MATH_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {

inline constexpr double kHalfPi = 0x1.921fb54442d18p+0;
inline constexpr double kPi = 0x1.921fb54442d18p+1;

// Op, which computes in double, as an op of float lanes.
template <class Op>
struct InDouble : Op {
  template <class D, class... V>
  static HWY_INLINE hn::Vec<D> apply(D d, V... x) {
#if HWY_TARGET == HWY_SCALAR
    const hn::Rebind<double, D> wide;
    // Its DemoteTo would make infinity the largest float.
    return hn::Set(d, static_cast<float>(hn::GetLane(Op::apply(wide, hn::PromoteTo(wide, x)...))));
#else
    const hn::Repartition<double, D> wide;
    const hn::Half<D> half;
    const auto lower = Op::apply(wide, hn::PromoteTo(wide, hn::LowerHalf(half, x))...);
    const auto upper = Op::apply(wide, hn::PromoteTo(wide, hn::UpperHalf(half, x))...);
    return hn::Combine(d, hn::DemoteTo(half, upper), hn::DemoteTo(half, lower));
#endif
  }
};

// y, with Op::of(x...) in the lanes of `others`.
template <class Op, class D, class M, class... V>
HWY_INLINE hn::Vec<D> replaced(D d, hn::Vec<D> y, M others, V... x) {
  if (HWY_LIKELY(hn::AllFalse(d, others))) return y;
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  using T = hn::TFromD<D>;
  HWY_ALIGN T result[kLanes], chosen[kLanes], values[sizeof...(V)][kLanes];
  hn::Store(y, d, result);
  hn::Store(hn::IfThenElseZero(others, hn::Set(d, 1)), d, chosen);
  std::size_t next = 0;
  (hn::Store(x, d, values[next++]), ...);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) {
    if (chosen[i] == 0) continue;
    if constexpr (sizeof...(V) == 1) {
      result[i] = Op::of(values[0][i]);
    } else {
      result[i] = Op::of(values[0][i], values[1][i]);
    }
  }
  return hn::Load(d, result);
}

// By the sign bit, which -0 has.
template <class D, class V>
HWY_INLINE auto is_negative(D d, V x) {
  return hn::Lt(hn::CopySign(hn::Set(d, 1), x), hn::Zero(d));
}

// x = n pi/2 + r with |r| <= pi/4, for |x| < kAngleMax: there n has 20 bits, and its products with
// the first two parts of pi/2, of 33 bits each, are exact.
inline constexpr double kAngleMax = 0x1p20;
template <class V>
struct Angle {
  V rounder;  // whose lowest bits are n's
  V r;
};

template <class D, class V>
HWY_INLINE Angle<V> reduce_angle(D d, V x) {
  const V rounder =
      hn::MulAdd(x, hn::Set(d, 0x1.45f306dc9c883p-1), hn::Set(d, Constants<D>::kRounder));
  const V n = hn::Sub(rounder, hn::Set(d, Constants<D>::kRounder));
  V r = hn::NegMulAdd(n, hn::Set(d, 0x1.921fb544p+0), x);
  r = hn::NegMulAdd(n, hn::Set(d, 0x1.0b4611a6p-34), r);
  return {rounder, hn::NegMulAdd(n, hn::Set(d, 0x1.3198a2e037p-69), r)};
}

template <class D, class V>
HWY_INLINE V sin_of_remainder(D d, V r, V square) {
  static constexpr double kSin[] = {-0x1.555555545dd83p-3, 0x1.11110deeb33b2p-7,
                                    -0x1.a013a6edc8f34p-13, 0x1.6dbdd26f56d2dp-19};
  return hn::MulAdd(hn::Mul(square, r), polynomial(d, square, kSin), r);
}

template <class D, class V>
HWY_INLINE V cos_of_remainder(D d, V square) {
  static constexpr double kCos[] = {-0x1.fffffffffe691p-2, 0x1.555555514ea4bp-5,
                                    -0x1.6c16bae4ef84p-10, 0x1.a0129816d86c7p-16,
                                    -0x1.2474b4d8b6dbep-22};
  return hn::MulAdd(square, polynomial(d, square, kCos), hn::Set(d, 1));
}

// sin(x + turns pi/2)
template <int turns, class D, class V>
HWY_INLINE V sin_or_cos(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  const Angle<V> angle = reduce_angle(d, x);
  const auto quadrant = hn::Add(hn::BitCast(du, angle.rounder), hn::Set(du, turns));
  const V square = hn::Mul(angle.r, angle.r);
  const auto odd = hn::RebindMask(d, hn::TestBit(quadrant, hn::Set(du, 1)));
  const V y =
      hn::IfThenElse(odd, cos_of_remainder(d, square), sin_of_remainder(d, angle.r, square));
  const auto sign = hn::ShiftLeft<62>(hn::And(quadrant, hn::Set(du, 2)));
  return hn::Xor(y, hn::BitCast(d, sign));
}

template <class D, class V>
HWY_INLINE auto beyond_angles(D d, V x) {
  return hn::Not(hn::Lt(hn::Abs(x), hn::Set(d, kAngleMax)));
}

struct Sin : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    const V y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, sin_or_cos<0>(d, x));
    return replaced<Sin>(d, y, beyond_angles(d, x), x);
  }
  static double of(double x) { return std::sin(x); }
};

struct Cos : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return replaced<Cos>(d, sin_or_cos<1>(d, x), beyond_angles(d, x), x);
  }
  static double of(double x) { return std::cos(x); }
};

struct Tan : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    const hn::RebindToUnsigned<D> du;
    const Angle<V> angle = reduce_angle(d, x);
    const V square = hn::Mul(angle.r, angle.r);
    const V sin = sin_of_remainder(d, angle.r, square), cos = cos_of_remainder(d, square);
    const auto odd = hn::RebindMask(d, hn::TestBit(hn::BitCast(du, angle.rounder), hn::Set(du, 1)));
    const V y = hn::Div(hn::IfThenElse(odd, hn::Neg(cos), sin), hn::IfThenElse(odd, sin, cos));
    const V signed_zero = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y);
    return replaced<Tan>(d, signed_zero, beyond_angles(d, x), x);
  }
  static double of(double x) { return std::tan(x); }
};

// atan for 0 <= t <= 1.
template <class D, class V>
HWY_INLINE V atan_within(D d, V t) {
  static constexpr double kAtan[] = {
      -0x1.5555554e74b35p-2, 0x1.99998c8c70e06p-3, -0x1.249035356f79fp-3, 0x1.c6d94a4e392f4p-4,
      -0x1.72251c83739b9p-4, 0x1.2fd217ccc6a7ap-4, -0x1.d7eaf8f924fc4p-5, 0x1.39fa7ae12ac35p-5,
      -0x1.3b92d4977ae5p-6,  0x1.96cc733874da8p-8, -0x1.eae3fce3e9b57p-11};
  const V square = hn::Mul(t, t);
  return hn::MulAdd(hn::Mul(square, t), polynomial(d, square, kAtan), t);
}

struct Atan : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    const V size = hn::Abs(x), one = hn::Set(d, 1);
    const auto steep = hn::Gt(size, one);
    const V y = atan_within(d, hn::IfThenElse(steep, hn::Div(one, size), size));
    return hn::CopySign(hn::IfThenElse(steep, hn::Sub(hn::Set(d, kHalfPi), y), y), x);
  }
  static double of(double x) { return std::atan(x); }
};

struct Atan2 : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V y, V x) {
    const V rise = hn::Abs(y), run = hn::Abs(x), zero = hn::Zero(d);
    const auto steep = hn::Lt(run, rise);
    const V less = hn::IfThenElse(steep, run, rise), more = hn::IfThenElse(steep, rise, run);
    // Equal ones may both be 0 or infinite.
    const V of_equals = hn::IfThenZeroElse(hn::Eq(less, zero), hn::Set(d, 1));
    const V t = hn::IfThenElse(hn::Eq(less, more), of_equals, hn::Div(less, more));
    V angle = atan_within(d, t);
    angle = hn::IfThenElse(steep, hn::Sub(hn::Set(d, kHalfPi), angle), angle);
    const V turned = hn::Sub(hn::Set(d, kPi), angle);
    angle = hn::IfThenElse(is_negative(d, x), turned, angle);
    return hn::CopySign(angle, y);
  }
  static double of(double y, double x) { return std::atan2(y, x); }
};

// asin of t = |x| for t <= 1/2; above, half of acos t.
template <class V, class M>
struct Arc {
  V angle;
  M steep;
};

template <class D, class V>
HWY_INLINE auto arc(D d, V x) {
  static constexpr double kAsin[] = {
      0x1.5555555c0171dp-3, 0x1.33331ecf8b70bp-4, 0x1.6dc0f007c13e8p-5, 0x1.efedf83ab6506p-6,
      0x1.82db23768c84fp-6, 0x1.5a80a068e3ee2p-7, 0x1.fb7ca379d49c6p-6};
  const V size = hn::Abs(x), half = hn::Set(d, 0.5);
  const auto steep = hn::Gt(size, half);
  const V square = hn::IfThenElse(steep, hn::NegMulAdd(half, size, half), hn::Mul(size, size));
  const V t = hn::IfThenElse(steep, hn::Sqrt(square), size);
  const V angle = hn::MulAdd(hn::Mul(square, t), polynomial(d, square, kAsin), t);
  return Arc<V, decltype(steep)>{angle, steep};
}

struct Asin : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    const auto [angle, steep] = arc(d, x);
    const V rest = hn::NegMulAdd(hn::Set(d, 2), angle, hn::Set(d, kHalfPi));
    return hn::CopySign(hn::IfThenElse(steep, rest, angle), x);
  }
  static double of(double x) { return std::asin(x); }
};

struct Acos : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    const auto [angle, steep] = arc(d, x);
    const V flat = hn::Sub(hn::Set(d, kHalfPi), hn::CopySign(angle, x));
    const V twice = hn::Add(angle, angle);
    const V turned = hn::IfThenElse(is_negative(d, x), hn::Sub(hn::Set(d, kPi), twice), twice);
    return hn::IfThenElse(steep, turned, flat);
  }
  static double of(double x) { return std::acos(x); }
};

struct Sinh : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    static constexpr double kSeries[] = {1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880,
                                         1.0 / 39916800};
    const V half = hn::Set(d, 0.5), square = hn::Mul(x, x);
    const V below_one = hn::MulAdd(hn::Mul(square, x), polynomial(d, square, kSeries), x);
    const V e = hn::Mul(half, HWY_NAMESPACE::exp(d, hn::Abs(x)));
    const V others = hn::CopySign(hn::Sub(e, hn::Div(hn::Set(d, 0.25), e)), x);
    return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 1)), below_one, others);
  }
  static double of(double x) { return std::sinh(x); }
};

struct Cosh : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    const V e = hn::Mul(hn::Set(d, 0.5), HWY_NAMESPACE::exp(d, hn::Abs(x)));
    return hn::Add(e, hn::Div(hn::Set(d, 0.25), e));
  }
  static double of(double x) { return std::cosh(x); }
};

// asinh x = log(1 + (x + x^2 / (1 + sqrt(1 + x^2)))); a float's square is finite.
struct Asinh : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    const V size = hn::Abs(x), one = hn::Set(d, 1);
    const V square = hn::Mul(size, size);
    const V root = hn::Sqrt(hn::Add(square, one));
    const V more = hn::Add(size, hn::Div(square, hn::Add(root, one)));
    const V y = HWY_NAMESPACE::log1p(d, more);
    const V infinity = hn::Set(d, std::numeric_limits<double>::infinity());
    return hn::IfThenElse(hn::Eq(size, infinity), x, hn::CopySign(y, x));
  }
  static double of(double x) { return std::asinh(x); }
};

// acosh x = log(1 + (t + sqrt(t (t + 2)))) with t = x - 1.
struct Acosh : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    const V one = hn::Set(d, 1);
    const V t = hn::Sub(x, one);
    const V root = hn::Sqrt(hn::Mul(t, hn::Add(t, hn::Set(d, 2))));
    const V nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
    return hn::IfThenElse(hn::Lt(x, one), nan, HWY_NAMESPACE::log1p(d, hn::Add(t, root)));
  }
  static double of(double x) { return std::acosh(x); }
};

struct Atanh : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    const V size = hn::Abs(x);
    const V ratio = hn::Div(hn::Add(size, size), hn::Sub(hn::Set(d, 1), size));
    const V y = hn::Mul(hn::Set(d, 0.5), HWY_NAMESPACE::log1p(d, ratio));
    return hn::CopySign(y, x);
  }
  static double of(double x) { return std::atanh(x); }
};

// exp(b log |a|), with the sign of an odd power; 0, infinities and NaN are the C library's.
struct Pow : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    const V size = hn::Abs(a), zero = hn::Zero(d);
    const V infinity = hn::Set(d, std::numeric_limits<double>::infinity());
    const auto plain =
        hn::And(hn::And(hn::Gt(size, zero), hn::Lt(size, infinity)), hn::Lt(hn::Abs(b), infinity));
    const V safe = hn::IfThenElse(plain, size, hn::Set(d, 1));
    const V y = HWY_NAMESPACE::exp(d, hn::Mul(b, HWY_NAMESPACE::log(d, safe)));
    const V half = hn::Mul(b, hn::Set(d, 0.5));
    const auto odd = hn::Ne(hn::Floor(half), half);  // of whole numbers
    const V of_whole = hn::IfThenElse(odd, hn::Neg(y), y);
    const V nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
    const V of_negative = hn::IfThenElse(hn::Eq(hn::Floor(b), b), of_whole, nan);
    return replaced<Pow>(d, hn::IfThenElse(hn::Lt(a, zero), of_negative, y), hn::Not(plain), a, b);
  }
  static double of(double a, double b) { return std::pow(a, b); }
  // Wraps; to a negative power, what is left of the fraction.
  template <class T>
    requires std::is_integral_v<T>
  static HWY_INLINE T of(T a, T b) {
    if constexpr (std::is_signed_v<T>) {
      if (b < 0) return a == 1 ? T{1} : a == -1 ? static_cast<T>(b % 2 == 0 ? 1 : -1) : T{0};
    }
    using U = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
    U result = 1;
    U base = static_cast<std::make_unsigned_t<T>>(a);
    for (; b > 0; b = static_cast<T>(b / 2)) {
      if (b % 2 != 0) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  }
};

// The remainder, which has the sign of b; by 0 it is NaN, and 0 for integers. As in TensorFlow.js,
// that of numbers with different signs is fmod(fmod(a, b) + b, b).
struct Mod : Costly {
  template <class D, class V>
  static HWY_INLINE V remainder(D, V a, V b) {
    const V quotient = hn::Trunc(hn::Div(a, b));
    return hn::CopySign(hn::NegMulAdd(quotient, b, a), a);
  }
  // Of floats the quotient and its product with b are exact below 2^28.
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    const V first = remainder(d, a, b);
    const auto differ = hn::Xor(hn::Lt(a, hn::Zero(d)), hn::Lt(b, hn::Zero(d)));
    const V y = hn::IfThenElse(differ, remainder(d, hn::Add(first, b), b), first);
    const auto beyond = hn::Not(hn::Lt(hn::Abs(hn::Div(a, b)), hn::Set(d, 0x1p28)));
    const auto infinite = hn::Not(hn::Lt(hn::Abs(b), hn::Set(d, 0x1p200)));
    return replaced<Mod>(d, y, hn::Or(beyond, infinite), a, b);
  }
  static double of(double a, double b) {
    const double rest = std::fmod(a, b);
    return (a < 0) == (b < 0) ? rest : std::fmod(rest + b, b);
  }
  template <class T>
    requires std::is_integral_v<T>
  static HWY_INLINE T of(T a, T b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;  // the quotient may not fit
      const T rest = static_cast<T>(a % b);
      return rest != 0 && (rest ^ b) < 0 ? static_cast<T>(rest + b) : rest;
    } else {
      return static_cast<T>(a % b);
    }
  }
};

}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
