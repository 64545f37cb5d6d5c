// Functions of one value. float32 and float64 go through Highway, the integers through plain loops
// that the compiler vectorises for each target.
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/highway_targets.h"
#include "backend/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/unary.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/loops-inl.h"
#include "backend/cpu/vector_math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

struct Exp : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return HWY_NAMESPACE::exp(d, x);
  }
};

struct Log : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return HWY_NAMESPACE::log(d, x);
  }
};

struct Sqrt : Cheap {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x) {
    return hn::Sqrt(x);
  }
};

struct Tanh : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return HWY_NAMESPACE::tanh(d, x);
  }
};

struct Sigmoid : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return sigmoid(d, x);
  }
};

// x where it is not negative, else expm1(x).
struct Elu : Costly {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    const V below = expm1_of_negative(d, at_most(d, x, 0));
    return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), x, below);
  }
};

struct Selu : Costly {
  static constexpr double kScale = 1.0507009873554805;
  static constexpr double kScaleAlpha = 1.7580993408473768;
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    using T = hn::TFromD<D>;
    const V below =
        hn::Mul(expm1_of_negative(d, at_most(d, x, 0)), hn::Set(d, static_cast<T>(kScaleAlpha)));
    const V above = hn::Mul(x, hn::Set(d, static_cast<T>(kScale)));
    return hn::IfThenElse(hn::Ge(x, hn::Zero(d)), above, below);
  }
};

struct Neg : Cheap {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x) {
    return hn::Neg(x);
  }
  template <class T>
  static HWY_INLINE T of(T x) {
    return static_cast<T>(std::make_unsigned_t<T>{0} - static_cast<std::make_unsigned_t<T>>(x));
  }
};

struct Square : Cheap {
  template <class D, class V>
  static HWY_INLINE V apply(D, V x) {
    return hn::Mul(x, x);
  }
  template <class T>
  static HWY_INLINE T of(T x) {
    const auto bits = static_cast<std::make_unsigned_t<T>>(x);
    return static_cast<T>(bits * bits);
  }
};

// Compared, not clamped: NaN passes and -0 becomes 0.
struct Relu : Cheap {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return relu(d, x);
  }
  template <class T>
  static HWY_INLINE T of(T x) {
    return x > 0 ? x : T{0};
  }
};

struct Relu6 : Cheap {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V x) {
    return at_most(d, relu(d, x), 6);
  }
  template <class T>
  static HWY_INLINE T of(T x) {
    return Relu::of(x < 6 ? x : T{6});
  }
};

template <class Op, class T>
constexpr ops::KernelRow row(std::string_view op) {
  using Loop =
      std::conditional_t<std::is_floating_point_v<T>, FloatLoop<Op, T>, PlainLoop<Op, T, T>>;
  return elementwise_row<Loop>(op, dtype_of<T>);
}

constexpr ops::KernelRow kRows[] = {
    row<Exp, float>("exp"),
    row<Exp, double>("exp"),
    row<Log, float>("log"),
    row<Log, double>("log"),
    row<Sqrt, float>("sqrt"),
    row<Sqrt, double>("sqrt"),
    row<Tanh, float>("tanh"),
    row<Tanh, double>("tanh"),
    row<Sigmoid, float>("sigmoid"),
    row<Sigmoid, double>("sigmoid"),
    row<Elu, float>("elu"),
    row<Elu, double>("elu"),
    row<Selu, float>("selu"),
    row<Selu, double>("selu"),
    row<Neg, float>("neg"),
    row<Neg, double>("neg"),
    row<Neg, std::int32_t>("neg"),
    row<Neg, std::int64_t>("neg"),
    row<Neg, std::int8_t>("neg"),
    row<Square, float>("square"),
    row<Square, double>("square"),
    row<Square, std::int32_t>("square"),
    row<Square, std::int64_t>("square"),
    row<Square, std::uint8_t>("square"),
    row<Square, std::int8_t>("square"),
    row<Relu, float>("relu"),
    row<Relu, double>("relu"),
    row<Relu, std::int32_t>("relu"),
    row<Relu, std::int64_t>("relu"),
    row<Relu, std::uint8_t>("relu"),
    row<Relu, std::int8_t>("relu"),
    row<Relu6, float>("relu6"),
    row<Relu6, double>("relu6"),
    row<Relu6, std::int32_t>("relu6"),
    row<Relu6, std::int64_t>("relu6"),
    row<Relu6, std::uint8_t>("relu6"),
    row<Relu6, std::int8_t>("relu6"),
};

std::span<const ops::KernelRow> unary_rows() { return kRows; }

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(unary_rows);

std::span<const ops::KernelRow> unary_kernels() { return HWY_DYNAMIC_DISPATCH(unary_rows)(); }

}  // namespace tenure::cpu
#endif
