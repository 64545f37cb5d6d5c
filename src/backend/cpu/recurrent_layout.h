// The operands of recurrent kernels, and how their scratch is laid out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/kernel.h"
#include "ops/recurrent_attrs.h"

namespace tenure::cpu {

// Rows of units, `stride` elements apart; 0 where all are the same row.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t stride = 0;
  T* operator[](std::int64_t i) const { return data + i * stride; }
};

struct RecurrentSizes {
  std::int64_t batch, steps, features, units, columns;  // columns: gates * units

  explicit RecurrentSizes(const ops::KernelArgs& args)
      : batch((*args.in[0].shape)[0]),
        steps((*args.in[0].shape)[1]),
        features((*args.in[0].shape)[2]),
        units((*args.in[2].shape)[0]),
        columns((*args.in[2].shape)[1]) {}

  // Of a row and step of x in the order in which steps are taken.
  std::int64_t place(std::int64_t row, std::int64_t step, bool backwards) const {
    return row * steps + (backwards ? steps - 1 - step : step);
  }
};

template <class T>
T* operand(std::span<const ops::KernelView> views, int i) {
  return i < 0 ? nullptr : views[static_cast<std::size_t>(i)].as<T>();
}

// Hands out parts of a kernel's scratch, each on a cache line of its own. Without scratch it only
// adds up how much there should be.
class ScratchParts {
 public:
  explicit ScratchParts(std::byte* scratch) : scratch_(scratch) {}

  template <class T>
  T* take(std::int64_t count) {
    std::byte* const part = scratch_ == nullptr ? nullptr : scratch_ + bytes_;
    bytes_ += (static_cast<std::size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return reinterpret_cast<T*>(part);
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* scratch_;
  std::size_t bytes_ = 0;
};

inline constexpr std::int64_t kWorthAThread = 128 * 1024;  // multiply-adds

// Rows are computed alone, so however threads divide them, results are the same. `work` is the
// multiply-adds of one row.
inline std::int64_t row_ranges(std::int64_t rows, std::int64_t work, int threads) {
  constexpr std::int64_t kLeastRows = 2;
  const std::int64_t ranges =
      std::min({std::int64_t{threads}, rows / kLeastRows, rows * work / kWorthAThread});
  return std::max<std::int64_t>(1, ranges);
}

}  // namespace tenure::cpu
