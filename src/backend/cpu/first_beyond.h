// The innermost loop of top_k: looking for the next element that may be among the best.
#pragma once

#include <cstdint>

namespace tenure::cpu {

// The first place from which an element is not <= `limit` (with `above`) or not >= it (without);
// NaN is neither. `count` when there is none.
std::int64_t first_beyond(const float* src, std::int64_t count, float limit, bool above) noexcept;
std::int64_t first_beyond(const double* src, std::int64_t count, double limit, bool above) noexcept;

}  // namespace tenure::cpu
