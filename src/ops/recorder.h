// What the one road tells a gradient tape. The tape implements this.
#pragma once

#include <span>

#include "ops/op_def.h"
#include "tenure/tensor.h"

namespace tenure::ops {

class Recorder {
 public:
  virtual ~Recorder() = default;

  // Before the kernel runs and any buffer is reused: takes the inputs the gradient keeps. False
  // when no input is watched; then nothing else is called.
  virtual bool before(const OpDef& op, std::span<const Tensor> in, AttrsRef attrs) = 0;
  virtual void after(std::span<const Tensor> out) = 0;
  virtual void abandon() noexcept = 0;         // the op failed between the two
  virtual void read(const Tensor& value) = 0;  // a trainable variable was read
  virtual void leave_home() noexcept = 0;      // the task it was made in has ended

  Recorder* outer = nullptr;
  bool pending = false;  // between before and after
};

// An op being recorded: the tapes that watch it are told before and after. What throws between the
// two leaves them as they were.
class Recording {
 public:
  Recording(Recorder* tapes, const OpDef& op, std::span<const Tensor> in, AttrsRef attrs)
      : first_(op.grad != nullptr ? tapes : nullptr) {
    try {
      each([&](Recorder& tape) { tape.pending = tape.before(op, in, attrs); });
    } catch (...) {
      abandon();
      throw;
    }
  }
  ~Recording() { abandon(); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void finish(std::span<const Tensor> out) {
    each([&](Recorder& tape) {
      if (!tape.pending) return;
      tape.after(out);
      tape.pending = false;
    });
  }

 private:
  void each(auto&& visit) {
    for (Recorder* tape = first_; tape != nullptr; tape = tape->outer) visit(*tape);
  }
  void abandon() noexcept {
    each([](Recorder& tape) {
      if (tape.pending) tape.abandon();
      tape.pending = false;
    });
  }

  Recorder* first_;
};

}  // namespace tenure::ops
