// One element from one dtype to another: the rule of cast, and of the scalars that tensors are
// filled with.
//
//   to an integer     toward zero; NaN is 0, and what is out of range the nearest end of it
//   between integers  modulo 2^bits
//   to bool           whether it is not 0; NaN is true
//   to a float        to nearest, ties to even, rounded once
//   to complex64      as to float32, with no imaginary part
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/half.h"
#include "tenure/dtype.h"

namespace tenure::cpu {

template <class T>
concept Half = std::same_as<T, Float16> || std::same_as<T, BFloat16>;

// Without branches, so that loops vectorise: every conversion in it is in range, whatever x is.
template <std::integral To, std::floating_point From>
[[gnu::always_inline]] inline To saturate(From x) {
  using Wide = std::conditional_t<sizeof(To) == sizeof(std::int64_t), std::int64_t, std::int32_t>;
  constexpr auto kMin = static_cast<From>(std::numeric_limits<To>::min());
  constexpr To kHalf = std::numeric_limits<To>::max() / 2 + 1;
  constexpr From kEnd = static_cast<From>(kHalf) * 2;                               // max + 1
  constexpr From kLast = kEnd - kEnd * (std::numeric_limits<From>::epsilon() / 2);  // the one below
  const From above = x > kMin ? x : kMin;
  const From within = above < kLast ? above : kLast;
  const auto rounded = static_cast<To>(static_cast<Wide>(within));
  const To capped = x >= kEnd ? std::numeric_limits<To>::max() : rounded;
  return x == x ? capped : To{0};  // NOLINT(misc-redundant-expression): it is not, for NaN
}

template <Half To>
[[gnu::always_inline]] inline To half_of(float x) {
  To half;
  if constexpr (std::same_as<To, Float16>) {
    half.bits = float16_bits(x);
  } else {
    half.bits = bfloat16_bits(x);
  }
  return half;
}

// A double that rounds to the same half: beyond 2^53, bits that do not fit leave their mark in one.
[[gnu::always_inline]] inline double marked_double(std::int64_t x) {
  const std::int64_t marked = (x & ~std::int64_t{0x7ff}) | ((x & 0x7ff) != 0 ? 0x400 : 0);
  const bool fits = x >= -(std::int64_t{1} << 53) && x <= std::int64_t{1} << 53;
  return static_cast<double>(fits ? x : marked);
}

template <class To, class From>
[[gnu::always_inline]] inline To convert(From x) {
  if constexpr (std::same_as<To, From>) {
    return x;
  } else if constexpr (std::same_as<To, std::complex<float>>) {
    return To(convert<float>(x), 0);
  } else if constexpr (Half<From>) {
    return convert<To>(std::same_as<From, Float16> ? float16_value(x.bits)
                                                   : bfloat16_value(x.bits));
  } else if constexpr (std::same_as<To, bool>) {
    return x != From{0};
  } else if constexpr (Half<To>) {
    if constexpr (std::same_as<From, float> || sizeof(From) == 1) {
      return half_of<To>(static_cast<float>(x));
    } else if constexpr (std::same_as<From, std::int64_t>) {
      return half_of<To>(marked_float(marked_double(x)));
    } else {
      return half_of<To>(marked_float(static_cast<double>(x)));
    }
  } else if constexpr (std::integral<To> && std::floating_point<From>) {
    return saturate<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace tenure::cpu
