// What a person sees of a fit: a bar that moves on a terminal, a line per epoch elsewhere.
#pragma once

#include <chrono>
#include <cstdint>

#include "tenure/nn/callbacks.h"

namespace tenure::nn {

class Progress {
 public:
  Progress(Verbose verbose, int epochs);
  void begin_epoch(int epoch, std::int64_t batches);
  bool is_due() const;  // whether show() would draw: at most ten times a second
  void show(std::int64_t batch, const Logs& logs);
  void end_epoch(std::int64_t batches, const Logs& logs);

 private:
  using Clock = std::chrono::steady_clock;
  bool bar_ = false;
  bool lines_ = false;
  int epochs_;
  int epoch_ = 0;
  std::int64_t batches_ = 0;
  Clock::time_point began_;
  Clock::time_point drawn_;
};

}  // namespace tenure::nn
