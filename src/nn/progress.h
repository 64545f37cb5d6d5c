// What a person sees of a fit: a bar that moves on a terminal, a line per epoch elsewhere; of an
// evaluate or a predict, as of one epoch.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "tenure/nn/callbacks.h"

namespace tenure::nn {

class Progress {
 public:
  explicit Progress(Verbose verbose);
  void begin(std::string what, std::int64_t batches);  // "Epoch 1/20"
  bool is_due() const;  // whether show() would draw: at most ten times a second
  void show(std::int64_t batch, const Logs& logs);
  void end(std::int64_t batches, const Logs& logs);

 private:
  using Clock = std::chrono::steady_clock;
  bool bar_ = false;
  bool lines_ = false;
  std::string what_;
  std::int64_t batches_ = 0;
  Clock::time_point began_;
  Clock::time_point drawn_;
};

}  // namespace tenure::nn
