// Passes as those see them who run them, and whom they tell.
#pragma once

#include <functional>
#include <source_location>
#include <utility>
#include <vector>

#include "memory/context.h"
#include "tenure/nn/callbacks.h"

namespace tenure::nn::detail {

struct PassAccess {
  static void begin(Pass& pass, std::int64_t batches, std::source_location site) {
    pass.batches_ = batches;
    pass.site_ = site;
  }
  static void set_batch(Pass& pass, std::int64_t batch) { pass.batch_ = batch; }
  static void set_batches(Pass& pass, std::int64_t batches) { pass.batches_ = batches; }
  static void set_epoch(Training& training, int epoch, std::int64_t batch) {
    training.epoch_ = epoch;
    training.batch_ = batch;
    training.validated_ = false;
  }
  static void set_validates(Training& training, bool validates) { training.validates_ = validates; }
  static void set_validated(Training& training) { training.validated_ = true; }
  static void set_cancelled(Training& training, std::function<bool()> cancelled) {
    training.cancelled_ = std::move(cancelled);
  }
  // Where to begin: the epoch, and the batches of it that are left out.
  static std::pair<int, std::int64_t> first(const Training& training) { return training.first_; }
};

// A callback of the library. What it does counts as done by the call that runs it: fit, at the
// user's line. Any other is the user's code, whose lines are its own.
class LibraryCallback : public CallbackBase {};

// The callbacks of a pass.
class CallbackList {
 public:
  explicit CallbackList(const std::vector<Callback>& callbacks) : callbacks_(callbacks) {
    for (const Callback& callback : callbacks_) {
      hears_.train |= callback.hears().train;
      hears_.test |= callback.hears().test;
      hears_.predict |= callback.hears().predict;
    }
  }
  // Whether any of them is told of batches.
  BatchHooks hears() const { return hears_; }
  template <class F>
  void each(F&& fn) const {
    for (const Callback& callback : callbacks_) call(*callback, fn);
  }
  // Those that listen to such batches.
  template <class F>
  void each(bool BatchHooks::* batches, F&& fn) const {
    if (!(hears_.*batches)) return;
    for (const Callback& callback : callbacks_) {
      if (callback.hears().*batches) call(*callback, fn);
    }
  }

 private:
  template <class F>
  static void call(CallbackBase& callback, F& fn) {
    if (dynamic_cast<const LibraryCallback*>(&callback) != nullptr) {
      const tenure::detail::UserCall& pass = tenure::detail::context().call;
      const tenure::detail::CallScope own(pass.function != nullptr ? pass.function : "callback",
                                          pass.site);
      fn(callback);
    } else {
      const tenure::detail::CallbackScope users;
      fn(callback);
    }
  }

  const std::vector<Callback>& callbacks_;
  BatchHooks hears_{false, false, false};
};

}  // namespace tenure::nn::detail
