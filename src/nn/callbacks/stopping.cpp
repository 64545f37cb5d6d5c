// Callbacks that end a training.
#include <fmt/format.h>

#include <cmath>

#include "memory/context.h"
#include "nn/bounds.h"
#include "nn/callbacks/monitor.h"
#include "nn/callbacks/passes.h"
#include "tenure/nn/model.h"

namespace tenure::nn {

namespace {

class EarlyStopper final : public detail::LibraryCallback {
 public:
  EarlyStopper(EarlyStoppingOptions options, std::source_location site)
      : options_(std::move(options)),
        monitor_({options_.monitor, options_.mode, options_.min_delta}, "EarlyStopping", site) {
    detail::check_at_least("EarlyStopping", "patience", options_.patience, 0);
    detail::check_at_least("EarlyStopping", "start_from_epoch", options_.start_from_epoch, 0);
  }

  void on_train_begin(Training&) override {
    waited_ = 0;
    best_weights_.clear();
    monitor_.begin();
  }
  void on_epoch_end(Training& training, const Logs& logs) override {
    const std::optional<double> value = monitor_.value(training, logs);
    if (!value || training.epoch() < options_.start_from_epoch) return;
    ++waited_;
    const bool better = monitor_.improves(*value);
    if (options_.restore_best_weights && (better || best_weights_.empty())) {
      best_weights_ = training.model().get_weights();
    }
    if (better) {
      if (std::isnan(options_.baseline) || monitor_.is_better(*value, options_.baseline)) {
        waited_ = 0;
      }
    } else if (waited_ >= options_.patience && training.epoch() > 0) {
      training.stop(fmt::format("{} did not improve for {} epochs", monitor_.name(), waited_));
    }
  }
  void on_train_end(Training& training) override {
    if (!best_weights_.empty()) training.model().set_weights(best_weights_);
    best_weights_.clear();
  }

 private:
  EarlyStoppingOptions options_;
  detail::Monitor monitor_;
  int waited_ = 0;  // epochs since the best
  std::vector<Tensor> best_weights_;
};

class NanTerminator final : public detail::LibraryCallback {
 public:
  void on_train_batch_end(Training& training, const Logs& logs) override {
    // A step of the user's may give none.
    const auto loss = std::ranges::find(logs, "loss", &Logs::value_type::first);
    if (loss == logs.end() || std::isfinite(loss->second)) return;
    training.stop(fmt::format("the loss is {}", loss->second));
  }
};

}  // namespace

Callback EarlyStopping(EarlyStoppingOptions options, std::source_location site) {
  const tenure::detail::UserLine line(site);
  return make_callback<EarlyStopper>(std::move(options), site);
}
Callback TerminateOnNaN() { return make_callback<NanTerminator>(); }

}  // namespace tenure::nn
