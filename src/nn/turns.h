// Steps and those who look between them take turns: whoever reads a model's weights while it is
// being trained finds those of one step, and waits for the step in hand at most.
//
//   const Turn turn(base);   // what does not belong to a model waits for nobody
//
// Turns are given in the order in which they are asked for, or a training that asks for the next
// step at once would let nobody look. Within a turn the same thread may take another: a step of the
// user's own may read, and a callback, which runs between steps, may save.
#pragma once

#include <atomic>
#include <mutex>

#include "memory/fork.h"
#include "tenure/nn/layer.h"

namespace tenure::nn::detail {

class Turns {
 public:
  void take() noexcept;
  void end() noexcept;

 private:
  tenure::detail::Mutex next_;  // held by the one who is next, until it is its turn
  tenure::detail::Mutex now_;
  std::atomic<tenure::detail::Worker> holder_{tenure::detail::Worker::none};
  int depth_ = 0;  // the holder's
};

class Turn {
 public:
  explicit Turn(const LayerBase& base);
  explicit Turn(Turns& turns) : turns_(&turns) { turns.take(); }
  ~Turn() {
    if (turns_ != nullptr) turns_->end();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Turns* turns_;
};

}  // namespace tenure::nn::detail
