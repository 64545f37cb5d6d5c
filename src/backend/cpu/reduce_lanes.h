// The innermost loops of reductions over float32 and float64.
//
// A sum is exact to about one rounding of float32: each block of some thousand elements is summed in
// many short chains, and blocks are added in double.
#pragma once

#include <cstdint>

namespace tenure::cpu {

inline constexpr std::int64_t kMaxRows = 64;      // in one call of ..._rows
inline constexpr std::int64_t kMaxWidth = 1024;  // of such a row

// Of `count` elements that lie next to each other.
double sum_run(const float* src, std::int64_t count) noexcept;
double sum_run(const double* src, std::int64_t count) noexcept;
float max_run(const float* src, std::int64_t count) noexcept;
double max_run(const double* src, std::int64_t count) noexcept;

// Adds `count` rows to the row `dst`, or takes its maximum with them.
void sum_rows(const float* const* rows, std::int64_t count, std::int64_t width, double* dst) noexcept;
void sum_rows(const double* const* rows, std::int64_t count, std::int64_t width, double* dst) noexcept;
void max_rows(const float* const* rows, std::int64_t count, std::int64_t width, float* dst) noexcept;
void max_rows(const double* const* rows, std::int64_t count, std::int64_t width, double* dst) noexcept;

}  // namespace tenure::cpu
