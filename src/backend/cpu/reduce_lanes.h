// The innermost loops of reductions over float32 and float64.
//
// Eight vectors at a time are added pairwise, and what they come to in double: a sum of float32 is
// off by little more than one rounding, however many elements it has.
#pragma once

#include <cstdint>

namespace tenure::cpu {

inline constexpr std::int64_t kMaxWidth = 1024;  // of a row

template <class T, class Total>
struct ReduceLoop {
  // Of `count` elements that lie next to each other.
  Total (*run)(const T* src, std::int64_t count) noexcept;
  // Combines `count` rows with the row `dst`, which has room for `width` rounded up to a multiple
  // of 16.
  void (*rows)(const T* const* src, std::int64_t count, std::int64_t width, Total* dst) noexcept;
};

template <class T>
struct ReduceLoops {
  ReduceLoop<T, double> sum;
  ReduceLoop<T, T> max;
  ReduceLoop<T, T> min;
};

// For float and double, and the best instruction set this machine has.
template <class T>
const ReduceLoops<T>& reduce_loops() noexcept;
template <>
const ReduceLoops<float>& reduce_loops<float>() noexcept;
template <>
const ReduceLoops<double>& reduce_loops<double>() noexcept;

}  // namespace tenure::cpu
