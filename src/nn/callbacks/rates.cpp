// Callbacks that set the learning rate, and log the one an epoch was trained with.
#include <algorithm>

#include "core/raise.h"
#include "memory/context.h"
#include "nn/bounds.h"
#include "nn/callbacks/monitor.h"
#include "nn/callbacks/passes.h"
#include "tenure/nn/model.h"

namespace tenure::nn {

namespace {

constexpr const char* kLearningRate = "learning_rate";

void log_rate(const Training& training, Logs& logs) {
  const auto log =
      std::ranges::find(logs, kLearningRate, [](const auto& pair) { return pair.first; });
  if (log == logs.end()) {
    logs.emplace_back(kLearningRate, training.model().optimizer().learning_rate());
  }
}

class PlateauReducer final : public detail::LibraryCallback {
 public:
  PlateauReducer(ReduceLROnPlateauOptions options, std::source_location site)
      : options_(std::move(options)),
        monitor_({options_.monitor, options_.mode, options_.min_delta}, "ReduceLROnPlateau", site) {
    if (!(options_.factor > 0 && options_.factor < 1)) {
      raise<ValueError>("ReduceLROnPlateau: factor must be above 0 and below 1: {}",
                        options_.factor);
    }
    detail::check_at_least("ReduceLROnPlateau", "patience", options_.patience, 0);
    detail::check_at_least("ReduceLROnPlateau", "cooldown", options_.cooldown, 0);
    detail::check_at_least("ReduceLROnPlateau", "min_lr", options_.min_lr, 0.0);
  }
  void on_train_begin(Training&) override {
    monitor_.begin();
    waited_ = cooling_ = 0;
  }
  void add_logs(Training& training, Logs& logs) override { log_rate(training, logs); }
  void on_epoch_end(Training& training, const Logs& logs) override {
    const std::optional<double> value = monitor_.value(training, logs);
    if (!value) return;
    const bool better = monitor_.improves(*value);
    if (cooling_ > 0) {
      --cooling_;
      waited_ = 0;
    }
    if (better) {
      waited_ = 0;
      return;
    }
    if (cooling_ > 0 || ++waited_ < options_.patience) return;
    const Optimizer optimizer = training.model().optimizer();
    const double rate = optimizer.learning_rate();
    if (rate <= options_.min_lr) return;
    optimizer.set_learning_rate(std::max(rate * options_.factor, options_.min_lr));
    cooling_ = options_.cooldown;
    waited_ = 0;
  }

 private:
  ReduceLROnPlateauOptions options_;
  detail::Monitor monitor_;
  int waited_ = 0;
  int cooling_ = 0;
};

class RateScheduler final : public detail::LibraryCallback {
 public:
  explicit RateScheduler(std::function<double(int, double)> schedule)
      : schedule_(std::move(schedule)) {}
  void on_epoch_begin(Training& training) override {
    if (training.batch() > 0) return;  // it goes on in its middle, with the rate that it has
    const Optimizer optimizer = training.model().optimizer();
    const double rate = optimizer.learning_rate();
    optimizer.set_learning_rate(scheduled(training.epoch(), rate));
  }
  void add_logs(Training& training, Logs& logs) override { log_rate(training, logs); }

 private:
  double scheduled(int epoch, double rate) const {
    const tenure::detail::CallbackScope users;
    return schedule_(epoch, rate);
  }

  std::function<double(int, double)> schedule_;
};

}  // namespace

Callback ReduceLROnPlateau(ReduceLROnPlateauOptions options, std::source_location site) {
  const tenure::detail::UserLine line(site);
  return make_callback<PlateauReducer>(std::move(options), site);
}
Callback LearningRateScheduler(std::function<double(int epoch, double rate)> schedule,
                               std::source_location site) {
  tenure::detail::check_function("LearningRateScheduler", schedule, site);
  return make_callback<RateScheduler>(std::move(schedule));
}

}  // namespace tenure::nn
