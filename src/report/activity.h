// How far a program had come at a time, counted in what it did and not in seconds: a loop that
// waits for its input has not gone on meanwhile. Every birth of a tensor and every operation is one
// tick.
#pragma once

#include <cstdint>
#include <vector>

#include "report/run.h"

namespace tenure::report {

class Activity {
 public:
  explicit Activity(const Run& run);

  std::uint64_t at(std::int64_t time) const;  // ticks up to `time`, and at it
  std::uint64_t total() const { return ticks_.size(); }
  std::int64_t last() const { return ticks_.empty() ? 0 : ticks_.back(); }  // time of the last tick

  // Tensors with the same round were born one after the other with nothing of another line between
  // them on their thread: one call, or a loop of one line.
  std::uint32_t round(std::uint32_t tensor) const { return rounds_[tensor]; }

 private:
  std::vector<std::int64_t> ticks_;
  std::vector<std::uint32_t> rounds_;
};

}  // namespace tenure::report
