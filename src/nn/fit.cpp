// fit, evaluate and predict: batches go in, steps are made, somebody watches.
#include <fmt/format.h>

#include <chrono>
#include <span>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/events.h"
#include "memory/text.h"
#include "memory/warn.h"
#include "nn/callbacks/passes.h"
#include "nn/class_weights.h"
#include "nn/dataset_stream.h"
#include "nn/eager_scope.h"
#include "nn/fit_data.h"
#include "nn/model_state.h"
#include "nn/progress.h"
#include "tenure/job.h"

namespace tenure::nn {

using detail::BatchHooks;
using detail::CallbackList;
using detail::check_defined;
using detail::ClassWeights;
using detail::Compiled;
using detail::FitData;
using detail::ModelAccess;
using detail::PassAccess;
using detail::TensorVector;
using tenure::detail::CallScope;
using tenure::detail::events::Span;

namespace {

std::int64_t rows_of(const Batch& batch) {
  return batch.x.empty() || batch.x.front().rank() == 0 ? 1 : batch.x.front().dim(0);
}

// Means over the batches so far, weighted by their sizes, and the metrics.
class Running {
 public:
  void add(const std::vector<double>& losses, std::int64_t rows) {
    sums_.resize(losses.size());
    for (std::size_t i = 0; i < losses.size(); ++i) {
      sums_[i] += losses[i] * static_cast<double>(rows);
    }
    rows_ += rows;
  }
  bool empty() const { return rows_ == 0; }
  // `told` is of the steps that gave what was added.
  Logs logs(const Compiled& compiled, const Compiled::Told& told, std::source_location site) const {
    const CallScope call("metric", site);
    Logs logs;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      logs.emplace_back(told.names[i],
                        sums_[i] / static_cast<double>(std::max<std::int64_t>(rows_, 1)));
    }
    if (!told.measures) return logs;
    for (auto& each : detail::metric_logs(compiled)) logs.push_back(std::move(each));
    return logs;
  }

 private:
  std::vector<double> sums_;
  std::int64_t rows_ = 0;
};

void reset_metrics(const Compiled& compiled, std::source_location site) {
  const CallScope call("metric", site);
  detail::reset_metrics(compiled);
}

Logs with_prefix(const std::string& prefix, Logs logs) {
  for (auto& [name, value] : logs) name.insert(0, prefix);
  return logs;
}

void record(const Logs& logs, std::uint64_t step) {
  for (const auto& [name, value] : logs) tenure::detail::events::value(name, step, value);
}

Logs evaluate_batches(const Model& model, Compiled& compiled, const Dataset& batches,
                      const CallbackList& callbacks, Verbose verbose, std::source_location site) {
  const Span span("evaluate", model.name(), site);
  reset_metrics(compiled, site);
  Running running;
  Pass pass(model);
  PassAccess::begin(pass, batches.size().value_or(0), site);
  callbacks.each([&](CallbackBase& callback) { callback.on_test_begin(pass); });
  Progress progress(verbose);
  progress.begin("Evaluate", pass.batches());
  DatasetIterator iterator = batches.iterate(site);
  std::int64_t done = 0;
  while (pass.stopped().empty()) {
    const std::optional<Batch> batch = iterator.next(site);
    if (!batch) break;
    callbacks.each(&BatchHooks::test, [&](CallbackBase& c) { c.on_test_batch_begin(pass); });
    const std::vector<double> losses = detail::test_step(model, compiled, *batch, site);
    running.add(losses, rows_of(*batch));
    ++done;
    if (callbacks.hears().test || progress.is_due()) {
      const Logs logs = running.logs(compiled, compiled.testing, site);
      callbacks.each(&BatchHooks::test, [&](CallbackBase& c) { c.on_test_batch_end(pass, logs); });
      progress.show(done, logs);
    }
    PassAccess::set_batch(pass, done);
  }
  if (done == 0 && pass.stopped().empty()) {
    raise<ValueError>("evaluate: there are no examples");
  }
  Logs logs = running.logs(compiled, compiled.testing, site);
  callbacks.each([&](CallbackBase& callback) { callback.on_test_end(pass, logs); });
  progress.end(done, logs);
  return logs;
}

}  // namespace

// One call of fit.
class FitLoop {
 public:
  FitLoop(const Model& model, std::shared_ptr<Compiled> compiled, Dataset batches,
          std::optional<Dataset> validation, const FitOptions& options, JobControl* control,
          std::source_location site)
      : model_(model),
        compiled_(std::move(compiled)),
        batches_(std::move(batches)),
        validation_(std::move(validation)),
        options_(options),
        class_weights_(options.class_weight, site),
        control_(control),
        site_(site),
        callbacks_(options_.callbacks),
        training_(model, options.epochs),
        progress_(options.verbose) {}

  History run() {
    const auto start = std::chrono::steady_clock::now();
    begin();
    each([&](CallbackBase& callback) { callback.on_train_begin(training_); });
    for (int epoch = first_epoch(); epoch < options_.epochs && goes_on(); ++epoch) {
      run_epoch(epoch);
    }
    finalize();
    each([&](CallbackBase& callback) { callback.on_train_end(training_); });
    history_.cancelled = cancelled();
    history_.stopped = training_.stopped();
    history_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(history_);
  }

 private:
  // Of data whose size was not known, once.
  void tell_of_end(std::int64_t done) {
    if (options_.steps_per_epoch == 0 || std::exchange(told_of_end_, true)) return;
    tenure::detail::warn(
        fmt::format("fit at {}: the data ended after {} of the {} batches of an epoch: repeat() "
                    "the dataset, or "
                    "make steps_per_epoch less",
                    tenure::detail::site_text(site_), done, options_.steps_per_epoch));
  }
  template <class F>
  void each(F&& fn) {
    callbacks_.each(fn);
  }
  void finalize() {
    const detail::Turn turn(ModelAccess::base(model_));
    compiled_->options.optimizer.finalize_variable_values(model_.trainable_weights(), site_);
  }
  bool cancelled() const { return control_ != nullptr && control_->cancelled(); }
  bool goes_on() const { return !cancelled() && training_.stopped().empty(); }

  void begin() {
    const bool counted = options_.steps_per_epoch > 0;
    PassAccess::begin(training_, counted ? options_.steps_per_epoch : batches_.size().value_or(0),
                      site_);
    PassAccess::set_validates(training_, validation_.has_value());
    PassAccess::set_epoch(training_, options_.initial_epoch, 0);
    if (control_ != nullptr) {
      PassAccess::set_cancelled(training_, [control = control_] { return control->cancelled(); });
    }
  }

  // Passes over what an earlier run has done, where a callback says so.
  int first_epoch() {
    const auto [epoch, batch] = PassAccess::first(training_);
    if (epoch < options_.initial_epoch) return options_.initial_epoch;
    for (int done = options_.initial_epoch; done < epoch; ++done) {
      if (options_.steps_per_epoch == 0) {
        dataset::DatasetAccess::skip_pass(batches_);
      } else {
        skip_batches(options_.steps_per_epoch);
      }
    }
    skip_batches(batch);
    skipped_ = batch;
    return epoch;
  }
  void skip_batches(std::int64_t count) {
    for (std::int64_t done = 0; done < count && next_batch(done); ++done) {
    }
  }

  // After so many of the epoch. None at the end of the data, where another pass begins: for an
  // epoch that has just begun, at once.
  std::optional<Batch> next_batch(std::int64_t done) {
    const bool has_begun = iterator_.has_value();
    if (!iterator_) iterator_.emplace(batches_.iterate(site_));
    std::optional<Batch> batch = iterator_->next(site_);
    if (batch) return batch;
    iterator_.reset();
    return has_begun && done == 0 ? next_batch(done) : std::nullopt;
  }

  void run_epoch(int epoch) {
    const Span span("epoch", std::to_string(epoch + 1), site_);
    std::int64_t done = std::exchange(skipped_, 0);
    PassAccess::set_epoch(training_, epoch, done);
    each([&](CallbackBase& callback) { callback.on_epoch_begin(training_); });
    progress_.begin(fmt::format("Epoch {}/{}", epoch + 1, options_.epochs), training_.batches());
    reset_metrics(*compiled_, site_);
    if (options_.steps_per_epoch == 0 && done == 0) iterator_.reset();
    Running running;
    while (goes_on() && (options_.steps_per_epoch == 0 || done < options_.steps_per_epoch)) {
      std::optional<Batch> batch = next_batch(done);
      if (!batch) {
        tell_of_end(done);
        break;
      }
      callbacks_.each(&BatchHooks::train,
                      [&](CallbackBase& c) { c.on_train_batch_begin(training_); });
      const std::int64_t rows = rows_of(*batch);
      running.add(detail::train_step(model_, *compiled_, class_weights_(std::move(*batch)), site_),
                  rows);
      tell_of_batch(running, ++done);
    }
    if (running.empty()) {
      if (done == 0 && goes_on()) raise<ValueError>("fit: there are no examples");
      return;
    }
    PassAccess::set_batches(training_, done);
    end_epoch(epoch, running);
  }

  void tell_of_batch(const Running& running, std::int64_t done) {
    if (callbacks_.hears().train || progress_.is_due()) {
      const Logs logs = running.logs(*compiled_, compiled_->training, site_);
      callbacks_.each(&BatchHooks::train,
                      [&](CallbackBase& c) { c.on_train_batch_end(training_, logs); });
      progress_.show(done, logs);
    }
    PassAccess::set_batch(training_, done);
    if (control_ == nullptr) return;
    const std::int64_t epochs = std::max(1, options_.epochs - options_.initial_epoch);
    const auto batches = static_cast<double>(std::max(training_.batches(), done));
    control_->set_progress(
        (training_.epoch() - options_.initial_epoch + static_cast<double>(done) / batches) /
        static_cast<double>(epochs));
  }

  void end_epoch(int epoch, const Running& running) {
    Logs logs = running.logs(*compiled_, compiled_->training, site_);
    if (validation_ && goes_on() && (epoch + 1) % options_.validation_freq == 0) {
      PassAccess::set_validated(training_);
      for (auto& each_log :
           with_prefix("val_", evaluate_batches(model_, *compiled_, *validation_, callbacks_,
                                                Verbose::silent, site_))) {
        logs.push_back(std::move(each_log));
      }
    }
    each([&](CallbackBase& callback) { callback.add_logs(training_, logs); });
    record(logs, compiled_->steps);
    each([&](CallbackBase& callback) { callback.on_epoch_end(training_, logs); });
    history_.add(epoch, logs);
    progress_.end(training_.batch(), logs);
  }

  Model model_;
  std::shared_ptr<Compiled> compiled_;
  Dataset batches_;
  std::optional<Dataset> validation_;
  FitOptions options_;
  ClassWeights class_weights_;
  JobControl* control_;
  std::source_location site_;
  CallbackList callbacks_;
  Training training_;
  Progress progress_;
  std::optional<DatasetIterator> iterator_;
  bool told_of_end_ = false;
  std::int64_t skipped_ = 0;  // batches of the first epoch, which an earlier run has done
  History history_;
};

namespace {

History run_fit(const Model& model, FitData data, const FitOptions& options, JobControl* control,
                std::source_location site) {
  // What a fit makes is its own: no scope around it disposes of a weight or a batch.
  const tenure::detail::NoScope no_scope(tenure::detail::context());
  const Span span("fit", model.name(), site);
  FitLoop loop(model, detail::compiled_of(model, "fit", site), std::move(data.batches),
               std::move(data.validation), options, control, site);
  return loop.run();
}

Job<History> start_fit(const Model& model, FitData data, FitOptions options,
                       std::source_location site) {
  detail::compiled_of(model, "fit_async", site);
  auto lock = std::make_shared<detail::TrainingLock>(model, "fit_async", site,
                                                     tenure::detail::in_background());
  if (options.verbose == Verbose::automatic) options.verbose = Verbose::silent;
  auto session = std::make_shared<tenure::detail::SessionStay>(tenure::detail::context().session,
                                                               tenure::detail::in_background());
  return start_job<History>(
      [=, data = std::move(data)](JobControl& control) mutable {
        const detail::SessionScope in_session(*session);
        struct Unlock {  // before the job is seen to be done
          std::shared_ptr<detail::TrainingLock>& lock;
          ~Unlock() { lock->release(); }
        } const unlock{lock};
        const tenure::detail::UserLine line(site, "fit_async");
        return run_fit(model, std::move(data), options, &control, site);
      },
      site);
}

}  // namespace

History Model::fit(const Tensor& x, const Tensor& y, FitOptions options,
                   std::source_location site) const {
  check_defined("fit", x, y, site);
  return fit(TensorVector{x}, TensorVector{y}, std::move(options), site);
}

History Model::fit(const TensorVector& x, const TensorVector& y, FitOptions options,
                   std::source_location site) const {
  const tenure::detail::UserLine line(site, "fit");
  check_defined("fit", x, site);
  check_defined("fit", y, site);
  const detail::TrainingLock lock(*this, "fit", site);
  return run_fit(*this, detail::fit_data(*this, x, y, options, site), options, nullptr, site);
}

History Model::fit(const Dataset& batches, FitOptions options, std::source_location site) const {
  const tenure::detail::UserLine line(site, "fit");
  const detail::TrainingLock lock(*this, "fit", site);
  return run_fit(*this, detail::fit_data(*this, batches, options), options, nullptr, site);
}

Job<History> Model::fit_async(const Tensor& x, const Tensor& y, FitOptions options,
                              std::source_location site) const {
  const tenure::detail::UserLine line(site, "fit_async");
  check_defined("fit_async", x, y, site);
  return fit_async(TensorVector{x}, TensorVector{y}, std::move(options), site);
}

Job<History> Model::fit_async(const TensorVector& x, const TensorVector& y, FitOptions options,
                              std::source_location site) const {
  const tenure::detail::UserLine line(site, "fit_async");
  detail::check_alive(*base_, site, "fit_async");
  check_defined("fit_async", x, site);
  check_defined("fit_async", y, site);
  return start_fit(*this, detail::fit_data(*this, x, y, options, site), options, site);
}

Job<History> Model::fit_async(const Dataset& batches, FitOptions options,
                              std::source_location site) const {
  const tenure::detail::UserLine line(site, "fit_async");
  return start_fit(*this, detail::fit_data(*this, batches, options), options, site);
}

Logs Model::train_on_batch(const Tensor& x, const Tensor& y, const Tensor& sample_weight,
                           std::source_location site) const {
  check_defined("train_on_batch", x, y, site);
  return train_on_batch(Batch{{x}, {y}, sample_weight}, site);
}

Logs Model::train_on_batch(const Batch& batch, std::source_location site) const {
  const tenure::detail::UserLine line(site, "train_on_batch");
  const detail::TrainingLock lock(*this, "train_on_batch", site);
  const std::shared_ptr<Compiled> compiled = detail::compiled_of(*this, "train_on_batch", site);
  reset_metrics(*compiled, site);
  Running running;
  running.add(detail::train_step(*this, *compiled, batch, site), 1);
  return running.logs(*compiled, compiled->training, site);
}

Logs Model::test_on_batch(const Tensor& x, const Tensor& y, const Tensor& sample_weight,
                          std::source_location site) const {
  check_defined("test_on_batch", x, y, site);
  return test_on_batch(Batch{{x}, {y}, sample_weight}, site);
}

Logs Model::test_on_batch(const Batch& batch, std::source_location site) const {
  const tenure::detail::UserLine line(site, "test_on_batch");
  const detail::TrainingLock lock(*this, "test_on_batch", site);
  const std::shared_ptr<Compiled> compiled = detail::compiled_of(*this, "test_on_batch", site);
  reset_metrics(*compiled, site);
  Running running;
  running.add(detail::test_step(*this, *compiled, batch, site), 1);
  return running.logs(*compiled, compiled->testing, site);
}

namespace {

Logs evaluate_dataset(const Model& model, const Dataset& batches, const EvaluateOptions& options,
                      std::source_location site) {
  const detail::TrainingLock lock(model, "evaluate", site);
  const tenure::detail::NoScope no_scope(tenure::detail::context());
  const std::shared_ptr<Compiled> compiled = detail::compiled_of(model, "evaluate", site);
  Logs logs = evaluate_batches(model, *compiled, batches, CallbackList(options.callbacks),
                               options.verbose, site);
  record(with_prefix("evaluate_", logs), compiled->steps);
  return logs;
}

}  // namespace

Logs Model::evaluate(const Tensor& x, const Tensor& y, EvaluateOptions options,
                     std::source_location site) const {
  check_defined("evaluate", x, y, site);
  return evaluate(TensorVector{x}, TensorVector{y}, std::move(options), site);
}

Logs Model::evaluate(const TensorVector& x, const TensorVector& y, EvaluateOptions options,
                     std::source_location site) const {
  const tenure::detail::UserLine line(site, "evaluate");
  check_defined("evaluate", x, site);
  check_defined("evaluate", y, site);
  return evaluate_dataset(*this, detail::evaluated_data(*this, x, y, options, site), options, site);
}

Logs Model::evaluate(const Dataset& batches, EvaluateOptions options,
                     std::source_location site) const {
  const tenure::detail::UserLine line(site, "evaluate");
  return evaluate_dataset(*this, detail::evaluated_data(*this, batches, options), options, site);
}

}  // namespace tenure::nn
