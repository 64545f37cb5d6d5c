// Elements as integers in the same order: NaN above all numbers, and -0 equal to 0.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "backend/cpu/convert.h"

namespace tenure::cpu {

template <class T>
[[gnu::always_inline]] inline auto order_key(T value) {
  if constexpr (Half<T>) {
    return order_key(convert<float>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    using Unsigned = std::make_unsigned_t<Bits>;
    constexpr Bits kGreatest = static_cast<Bits>(~Unsigned{0} >> 1);
    if (value != value) return kGreatest;  // NOLINT(misc-redundant-expression): it is not, for NaN
    const auto bits = std::bit_cast<Bits>(value + T{0});  // -0 + 0 is 0
    return bits < 0 ? static_cast<Bits>(bits ^ kGreatest) : bits;
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<std::int64_t>(value);
  } else {
    return static_cast<std::int32_t>(value);
  }
}

template <class T>
using OrderKey = decltype(order_key(T{}));

}  // namespace tenure::cpu
