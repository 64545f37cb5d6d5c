// The innermost loops of reductions over float32 and float64.
//
// Eight vectors at a time are added pairwise, and what they come to in double: a sum of float32 is
// off by little more than one rounding, however many elements it has.
#pragma once

#include <cstdint>

namespace tenure::cpu {

inline constexpr std::int64_t kMaxWidth = 1024;  // of a row

// Of `count` elements that lie next to each other.
double sum_run(const float* src, std::int64_t count) noexcept;
double sum_run(const double* src, std::int64_t count) noexcept;
float max_run(const float* src, std::int64_t count) noexcept;
double max_run(const double* src, std::int64_t count) noexcept;

// Adds `count` rows to the row `dst`, or takes its maximum with them. `dst` has room for `width`
// rounded up to a multiple of 16.
void sum_rows(const float* const* rows, std::int64_t count, std::int64_t width,
              double* dst) noexcept;
void sum_rows(const double* const* rows, std::int64_t count, std::int64_t width,
              double* dst) noexcept;
void max_rows(const float* const* rows, std::int64_t count, std::int64_t width,
              float* dst) noexcept;
void max_rows(const double* const* rows, std::int64_t count, std::int64_t width,
              double* dst) noexcept;

}  // namespace tenure::cpu
