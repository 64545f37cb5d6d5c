// Dimensions that are computed: a sum or product past what can be counted stays at the largest
// number there is, and so never looks like a small one. No shape with it is countable (layout.h).
#pragma once

#include <cstdint>
#include <limits>

namespace tenure {

constexpr std::int64_t count_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  using Limits = std::numeric_limits<std::int64_t>;
  return a < 0 ? Limits::min() : Limits::max();
}

constexpr std::int64_t count_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  using Limits = std::numeric_limits<std::int64_t>;
  return (a < 0) != (b < 0) ? Limits::min() : Limits::max();
}

}  // namespace tenure
