// The conversions of float16 and bfloat16 as branch-free arithmetic on bits, so that a loop over
// them vectorises. All round to nearest, ties to even; a NaN stays one and becomes quiet.
#pragma once

#include <bit>
#include <cstdint>

#include "tenure/dtype.h"

namespace tenure {

inline bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

[[gnu::always_inline]] inline std::uint16_t float16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  // Up to 2^-14, where float16 is subnormal: the sum with 0.5 has 2^-24 as its last place.
  const auto small = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) -
                     std::bit_cast<std::uint32_t>(0.5F);
  // In between: rebias the exponent, then half of the last place (less one, if that is even)
  // rounds.
  const std::uint32_t rebias = (127U - 15U) << 23;
  const std::uint32_t normal = (magnitude - rebias + 0xfffU + (magnitude >> 13 & 1U)) >> 13;
  const std::uint32_t not_finite =
      magnitude > 0x7f800000U ? 0x7e00U | (magnitude >> 13 & 0x3ffU) : 0x7c00U;
  const std::uint32_t finite = magnitude < 0x38800000U ? small : normal;
  const std::uint32_t result = magnitude >= 0x47800000U ? not_finite : finite;  // from 65536
  return static_cast<std::uint16_t>(result | (bits >> 16 & 0x8000U));
}

[[gnu::always_inline]] inline float float16_value(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t magnitude = half & 0x7fffU;
  const std::uint32_t rebias = (127U - 15U) << 23;
  const std::uint32_t normal = (magnitude << 13) + rebias;
  // A subnormal's bits are an integer below 2^10: behind those of 0.5 they count units of 2^-24.
  const auto small = std::bit_cast<std::uint32_t>(
      std::bit_cast<float>(magnitude + std::bit_cast<std::uint32_t>(0.5F)) - 0.5F);
  const std::uint32_t quiet = magnitude > 0x7c00U ? 0x00400000U : 0U;
  const std::uint32_t not_finite = (normal + rebias) | quiet;
  const std::uint32_t finite = magnitude < 0x0400U ? small : normal;
  return std::bit_cast<float>((magnitude >= 0x7c00U ? not_finite : finite) | sign);
}

[[gnu::always_inline]] inline std::uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
  const std::uint32_t nan = bits >> 16 | 0x40U;
  return static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? nan : rounded);
}

[[gnu::always_inline]] inline float bfloat16_value(std::uint16_t half) {
  const std::uint32_t quiet = (half & 0x7fffU) > 0x7f80U ? 0x40U : 0U;
  return std::bit_cast<float>((half | quiet) << 16);
}

// A float that rounds to the same float16 and bfloat16 as `value`: what is cut off leaves a mark in
// the last bit ("round to odd"), so that rounding twice is rounding once.
[[gnu::always_inline]] inline float marked_float(double value) {
  const auto nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const double back = nearest;
  const double magnitude = value < 0 ? -value : value;
  const double back_magnitude = back < 0 ? -back : back;
  const std::uint32_t truncated = bits - (back_magnitude > magnitude ? 1U : 0U);
  const std::uint32_t mark = back_magnitude > magnitude || back_magnitude < magnitude ? 1U : 0U;
  return std::bit_cast<float>(truncated | mark);
}

}  // namespace tenure
