// Arithmetic of two values. float32 and float64 go through Highway, the integers through plain
// loops that the compiler vectorises for each target.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/highway_targets.h"
#include "backend/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/binary.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h
#include "backend/cpu/loops-inl.h"
#include "backend/cpu/wide_math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::cpu::HWY_NAMESPACE {
namespace {

// Integers wrap: the arithmetic is that of unsigned numbers at least as wide as unsigned int.
template <class T>
using Wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

struct Add {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Add(a, b);
  }
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
  }
};

struct Sub {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Sub(a, b);
  }
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
  }
};

struct Mul {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Mul(a, b);
  }
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
  }
};

// Integers: the floor of the quotient; by 0 it is 0, and the one quotient that does not fit wraps.
struct Div {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Div(a, b);
  }
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return Sub::of(T{0}, a);
      const T quotient = static_cast<T>(a / b);
      const bool rounded_up = quotient * b != a && (a ^ b) < 0;
      return static_cast<T>(quotient - (rounded_up ? 1 : 0));
    } else {
      return static_cast<T>(a / b);
    }
  }
};

struct FloorOfQuotient {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    return hn::Floor(hn::Div(a, b));
  }
};

// Floats divide in double, where no quotient of theirs rounds up to a whole number.
struct FloorDiv : Div {
  template <class D, class V>
  static HWY_INLINE V apply(D d, V a, V b) {
    using Wide = std::conditional_t<sizeof(hn::TFromD<D>) == sizeof(float),
                                    InDouble<FloorOfQuotient>, FloorOfQuotient>;
    return Wide::apply(d, a, b);
  }
};

// NaN if either is, and 0 is more than -0.
struct Maximum {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    const V larger = hn::IfThenElse(hn::Lt(a, b), b, a);
    const V either = hn::IfThenElse(hn::Eq(a, b), hn::And(a, b), larger);
    return hn::IfThenElse(hn::IsNaN(b), b, either);
  }
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    return a < b ? b : a;
  }
};

// NaN if either is, and -0 is less than 0.
struct Minimum {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    const V smaller = hn::IfThenElse(hn::Lt(b, a), b, a);
    const V either = hn::IfThenElse(hn::Eq(a, b), hn::Or(a, b), smaller);
    return hn::IfThenElse(hn::IsNaN(b), b, either);
  }
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    return b < a ? b : a;
  }
};

struct SquaredDifference {
  template <class D, class V>
  static HWY_INLINE V apply(D, V a, V b) {
    const V difference = hn::Sub(a, b);
    return hn::Mul(difference, difference);
  }
  template <class T>
  static HWY_INLINE T of(T a, T b) {
    const T difference = Sub::of(a, b);
    return Mul::of(difference, difference);
  }
};

template <class Op, class T>
using FloatOrInteger =
    std::conditional_t<std::is_floating_point_v<T>, FloatPairLoop<Op, T>, PairLoop<Op, T, T>>;

// Adds the inputs one after the other, a block that stays in the cache at a time. The result's
// memory may be the first input's.
template <class T>
struct AddN {
  static constexpr std::int64_t kBlock = 2048;
  static ops::ElementLoop loop(ops::AttrsRef) noexcept {
    return {.loop = kRunLoop<FloatOrInteger<Add, T>>, .folds = true};
  }
  static void add(T* dst, const T* src, std::int64_t count) {
    FloatOrInteger<Add, T>::run(
        {{reinterpret_cast<const std::byte*>(dst), reinterpret_cast<const std::byte*>(src)},
         reinterpret_cast<std::byte*>(dst),
         count,
         3});
  }
  static void run(const ops::KernelArgs& args) noexcept {
    T* dst = args.out[0].as<T>();
    parallel_for(args.out[0].numel(), kSerialElements / 2, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; i += kBlock) {
        const std::int64_t count = std::min(kBlock, to - i);
        const T* first = args.in[0].as<T>();
        if (first != dst) {
          std::memcpy(dst + i, first + i, static_cast<std::size_t>(count) * sizeof(T));
        }
        for (const ops::KernelView& in : args.in.subspan(1)) add(dst + i, in.as<T>() + i, count);
      }
    });
  }
};

template <class Op, class T>
constexpr ops::KernelRow row(std::string_view op) {
  return elementwise_row<FloatOrInteger<Op, T>>(op, dtype_of<T>);
}

// An op's rows for every dtype that numbers have.
template <class Op>
constexpr std::array<ops::KernelRow, 6> rows(std::string_view op) {
  return {row<Op, float>(op),        row<Op, double>(op),       row<Op, std::int32_t>(op),
          row<Op, std::int64_t>(op), row<Op, std::uint8_t>(op), row<Op, std::int8_t>(op)};
}

template <class T>
constexpr ops::KernelRow add_n_row() {
  return {.op = "add_n", .dtype = dtype_of<T>, .run = &AddN<T>::run, .loop = &AddN<T>::loop};
}

constexpr std::array<ops::KernelRow, 6> add_n_rows() {
  return {add_n_row<float>(),        add_n_row<double>(),       add_n_row<std::int32_t>(),
          add_n_row<std::int64_t>(), add_n_row<std::uint8_t>(), add_n_row<std::int8_t>()};
}

constexpr std::array kRows = {
    rows<Add>("add"),
    rows<Sub>("sub"),
    rows<Mul>("mul"),
    rows<Div>("div"),
    rows<FloorDiv>("floor_div"),
    rows<Maximum>("maximum"),
    rows<Minimum>("minimum"),
    rows<SquaredDifference>("squared_difference"),
    add_n_rows(),
};

std::span<const ops::KernelRow> binary_rows() { return {kRows.front().data(), 6 * kRows.size()}; }

}  // namespace
}  // namespace tenure::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::cpu {

HWY_EXPORT(binary_rows);

std::span<const ops::KernelRow> binary_kernels() { return HWY_DYNAMIC_DISPATCH(binary_rows)(); }

}  // namespace tenure::cpu
#endif
