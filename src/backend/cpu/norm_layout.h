// How batch normalisation cuts its work: by shape alone, so that the result has the same bits on
// any number of threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/axis_layout.h"

namespace tenure::cpu {

// Features that come last are taken several rows at a time, as one row of `period` columns, so that
// a few features fill vectors too; what does not make such a row is `rest`. Other features are runs
// of `inner` elements, and `period` is their number.
struct BatchLayout {
  static constexpr std::int64_t kLeastPeriod = 768;
  static constexpr std::int64_t kPieceElements = 64 * 1024;
  static constexpr std::int64_t kMostPieces = 32;

  std::int64_t outer, features, inner;
  std::int64_t period;
  std::int64_t rows;  // of `period` columns, or samples
  std::int64_t rest = 0;
  std::int64_t pieces;

  BatchLayout(const Shape& shape, int axis) {
    const AxisLayout along(shape, axis);
    outer = along.outer;
    features = along.count;
    inner = along.inner;
    period = features;
    rows = outer;
    if (inner == 1 && features > 0) {
      period *= std::max<std::int64_t>(1, kLeastPeriod / features);
      rows = outer * features / period;
      rest = outer * features - rows * period;
    }
    pieces = std::clamp<std::int64_t>(numel() / kPieceElements, 1, std::min(kMostPieces, rows + 1));
  }

  std::int64_t numel() const { return outer * features * inner; }
  std::int64_t per_feature() const { return outer * inner; }
  std::int64_t first_row(std::int64_t piece) const { return piece * rows / pieces; }
  std::int64_t rows_of(std::int64_t piece) const { return first_row(piece + 1) - first_row(piece); }
  bool serial() const { return numel() < kSerialElements; }
};

// Calls fn(index) for [0, count), on several threads unless `serial`.
template <class F>
void each_index(bool serial, std::int64_t count, F&& fn) {
  if (serial) {
    for (std::int64_t i = 0; i < count; ++i) fn(i);
  } else if (count > 0) {
    parallel_each(count, fn);
  }
}

// Moments of a set of numbers, and of the union of two.
struct RunningMoments {
  double count = 0;
  double mean = 0;
  double squares = 0;  // of distances from the mean

  void add(const RunningMoments& other) {
    if (other.count == 0) return;
    const double total = count + other.count;
    const double apart = other.mean - mean;
    mean += apart * (other.count / total);
    squares += other.squares + apart * apart * (count * other.count / total);
    count = total;
  }
};

}  // namespace tenure::cpu
