// What the one road tells a gradient tape. The tape implements this.
#pragma once

#include <atomic>
#include <cstdint>
#include <source_location>
#include <span>

#include "memory/context.h"
#include "ops/op_def.h"
#include "tenure/tensor.h"

namespace tenure::ops {

class Recording;

// A tape is in the list of the context it was made in, which only that context's thread may change:
// so it is counted, by its user and by the list. One that records no more is dropped from the list
// when that thread next looks.
class Recorder {
 public:
  explicit Recorder(const detail::Context& home) : home_(&home) {}
  virtual ~Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Before the kernel runs and any buffer is reused: takes the inputs the gradient keeps. False
  // when no input is watched; then nothing else is called.
  virtual bool before(const OpDef& op, std::span<const Tensor> in, AttrsRef attrs,
                      std::source_location site) = 0;
  virtual void after(std::span<const Tensor> out) = 0;
  virtual void abandon() noexcept = 0;  // the op failed between the two
  virtual void stop() noexcept = 0;     // records no more; from any thread
  bool records() const noexcept { return recording_.load(std::memory_order_acquire); }
  bool is_of(const detail::Context& context) const noexcept { return home_ == &context; }

  void retain() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  Recorder* outer = nullptr;
  const Recording* pending = nullptr;  // between before and after
  std::uint32_t walks = 0;             // Recordings that go through the list it is in

 protected:
  std::atomic<bool> recording_{true};

 private:
  const detail::Context* home_;  // never followed
  std::atomic<std::uint32_t> refs_{1};
};

// Puts a tape into the context's list, which takes a count.
void list_tape(detail::Context& context, Recorder& tape) noexcept;
// Lets go of the context's own tapes that record no more.
void drop_stopped(detail::Context& context) noexcept;
// Those that record here, innermost first.
inline Recorder* tapes_of(detail::Context& context) noexcept {
  if (context.tapes != nullptr) [[unlikely]]
    drop_stopped(context);
  return context.tapes;
}

// An op being recorded: the tapes that watch it are told before and after. What throws between the
// two leaves them as they were.
class Recording {
 public:
  Recording(detail::Context& context, const OpDef& op, std::span<const Tensor> in, AttrsRef attrs,
            std::source_location site)
      : first_(op.grad != nullptr ? tapes_of(context) : nullptr) {
    if (first_ != nullptr) [[unlikely]]
      begin(context, op, in, attrs, site);
  }
  ~Recording() {
    if (first_ != nullptr) [[unlikely]]
      end();
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void finish(std::span<const Tensor> out) {
    each([&](Recorder& tape) {
      if (tape.pending != this) return;
      tape.after(out);
      tape.pending = nullptr;
    });
  }

 private:
  void begin(const detail::Context& context, const OpDef& op, std::span<const Tensor> in,
             AttrsRef attrs, std::source_location site);
  void end() noexcept;
  void each(auto&& visit) {
    for (Recorder* tape = first_; tape != nullptr; tape = tape->outer) visit(*tape);
  }

  Recorder* first_;
};

}  // namespace tenure::ops
