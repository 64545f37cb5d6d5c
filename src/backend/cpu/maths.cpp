// Functions of one value and of two, beyond the everyday ones of unary.cpp and binary.cpp.
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
#define HWY_TARGET_INCLUDE "backend/cpu/maths.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/erf-inl.h"
#include "backend/cpu/loops-inl.h"
#include "backend/cpu/vector_math-inl.h"
#include "backend/cpu/wide_math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

struct Abs : Cheap {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x) {
    return hn::Abs(x);
  }
  template <class T>
  static HWY_INLINE T of(T x) {
    return x < 0 ? static_cast<T>(-static_cast<std::make_unsigned_t<T>>(x)) : x;
  }
};

// 0 for NaN, as in TensorFlow.js.
struct Sign : Cheap {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    const V zero = hn::Zero(d), one = hn::Set(d, 1);
    const V above = hn::IfThenElseZero(hn::Gt(x, zero), one);
    return hn::IfThenElse(hn::Lt(x, zero), hn::Neg(one), above);
  }
  template <class T>
  static HWY_INLINE T of(T x) {
    return static_cast<T>((x > 0 ? 1 : 0) - (x < 0 ? 1 : 0));
  }
};

// Integers are whole already.
struct Whole : Cheap {
  template <class T>
  static HWY_INLINE T of(T x) {
    return x;
  }
};

struct Floor : Whole {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x) {
    return hn::Floor(x);
  }
};

struct Ceil : Whole {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x) {
    return hn::Ceil(x);
  }
};

struct Round : Whole {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x) {
    return hn::Round(x);
  }
};

struct Reciprocal : Cheap {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return hn::Div(hn::Set(d, 1), x);
  }
};

struct Rsqrt : Cheap {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return hn::Div(hn::Set(d, 1), hn::Sqrt(x));
  }
};

struct Expm1 : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return HWY_NAMESPACE::expm1(d, x);
  }
};

struct Log1p : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return HWY_NAMESPACE::log1p(d, x);
  }
};

struct Erf : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return HWY_NAMESPACE::erf(d, x);
  }
  static double of(double x) { return std::erf(x); }
};

struct IsNan : Cheap {
  template <class T>
  static HWY_INLINE bool of(T x) {
    return x != x;  // NOLINT(misc-redundant-expression): it is not, for NaN
  }
};

struct IsInf : Cheap {
  template <class T>
  static HWY_INLINE bool of(T x) {
    return std::abs(x) == std::numeric_limits<T>::infinity();
  }
};

struct IsFinite : Cheap {
  template <class T>
  static HWY_INLINE bool of(T x) {
    return std::abs(x) <= std::numeric_limits<T>::max();
  }
};

// The squares of floats are far from the ends of double.
struct Hypot : Cheap {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    const auto endless = hn::Or(hn::IsInf(a), hn::IsInf(b));  // beside NaN too
    const V length = hn::Sqrt(hn::MulAdd(a, a, hn::Mul(b, b)));
    return hn::IfThenElse(endless, hn::Inf(d), length);
  }
  // long double has room for those of double; std::hypot would ask for a newer glibc.
  static double of(double a, double b) {
    if (IsInf::of(a) || IsInf::of(b)) return std::numeric_limits<double>::infinity();
    const long double x = a, y = b;
    return static_cast<double>(std::sqrt(x * x + y * y));
  }
};

// NaN passes.
struct Clip : Cheap {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x, V low, V high) {
    return hn::IfThenElse(hn::Gt(x, high), high, hn::IfThenElse(hn::Lt(x, low), low, x));
  }
  template <class T>
  static HWY_INLINE T of(T x, T low, T high) {
    return x > high ? high : x < low ? low : x;
  }
};

template <class T>
std::array<T, 2> bounds(ops::AttrsRef attrs) {
  const auto number = [](const Scalar& value) {
    return std::is_integral_v<T> ? static_cast<T>(value.to_int64())
                                 : static_cast<T>(value.to_double());
  };
  const auto& clip = attrs.as<ops::ClipAttrs>();
  return {number(clip.low), number(clip.high)};
}

template <class T>
constexpr ops::KernelRow clip_row() {
  return numbered_row<Clip, T, &bounds<T>>("clip");
}

template <class Loop>
constexpr ops::KernelRow row(std::string_view op) {
  return elementwise_row<Loop>(op, dtype_of<typename Loop::template Src<0>>);
}

// Rows of float32 and float64.
using Floats = std::array<ops::KernelRow, 2>;
template <class Op>
constexpr Floats vectors(std::string_view op) {
  return {row<FloatLoop<Op, float>>(op), row<FloatLoop<Op, double>>(op)};
}
template <class Op>
constexpr Floats in_double(std::string_view op) {
  return {row<FloatLoop<InDouble<Op>, float>>(op), row<PlainLoop<Op, double, double>>(op)};
}
template <class Op>
constexpr Floats pairs_in_double(std::string_view op) {
  return {row<FloatPairLoop<InDouble<Op>, float>>(op), row<PairLoop<Op, double, double>>(op)};
}
template <class Op>
constexpr Floats to_bool(std::string_view op) {
  return {row<PlainLoop<Op, bool, float>>(op), row<PlainLoop<Op, bool, double>>(op)};
}

constexpr Floats kFloatRows[] = {
    vectors<Abs>("abs"),
    vectors<Sign>("sign"),
    vectors<Floor>("floor"),
    vectors<Ceil>("ceil"),
    vectors<Round>("round"),
    vectors<Reciprocal>("reciprocal"),
    vectors<Rsqrt>("rsqrt"),
    vectors<Expm1>("expm1"),
    vectors<Log1p>("log1p"),
    {row<FloatLoop<Erf, float>>("erf"), row<PlainLoop<Erf, double, double>>("erf")},
    in_double<Sin>("sin"),
    in_double<Cos>("cos"),
    in_double<Tan>("tan"),
    in_double<Asin>("asin"),
    in_double<Acos>("acos"),
    in_double<Atan>("atan"),
    in_double<Sinh>("sinh"),
    in_double<Cosh>("cosh"),
    in_double<Asinh>("asinh"),
    in_double<Acosh>("acosh"),
    in_double<Atanh>("atanh"),
    to_bool<IsNan>("is_nan"),
    to_bool<IsInf>("is_inf"),
    to_bool<IsFinite>("is_finite"),
    pairs_in_double<Atan2>("atan2"),
    pairs_in_double<Hypot>("hypot"),
    pairs_in_double<Pow>("pow"),
    pairs_in_double<Mod>("mod"),
    {clip_row<float>(), clip_row<double>()},
};

template <class T>
constexpr std::array<ops::KernelRow, 8> integers() {
  return {row<PlainLoop<Abs, T, T>>("abs"),     row<PlainLoop<Sign, T, T>>("sign"),
          row<PlainLoop<Floor, T, T>>("floor"), row<PlainLoop<Ceil, T, T>>("ceil"),
          row<PlainLoop<Round, T, T>>("round"), row<PairLoop<Pow, T, T>>("pow"),
          row<PairLoop<Mod, T, T>>("mod"),      clip_row<T>()};
}

constexpr std::size_t kFloats = 2 * std::size(kFloatRows);
constexpr auto kRows = [] {
  std::array<ops::KernelRow, kFloats + 32> rows{};
  std::size_t next = 0;
  for (const Floats& pair : kFloatRows) {
    for (const ops::KernelRow& each : pair) rows[next++] = each;
  }
  for (const auto& dtype : {integers<std::int32_t>(), integers<std::int64_t>(),
                            integers<std::uint8_t>(), integers<std::int8_t>()}) {
    for (const ops::KernelRow& each : dtype) rows[next++] = each;
  }
  return rows;
}();

std::span<const ops::KernelRow> maths_rows() { return kRows; }

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(maths_rows);

std::span<const ops::KernelRow> maths_kernels() { return HWY_DYNAMIC_DISPATCH(maths_rows)(); }

}  // namespace tenure::cpu
#endif
