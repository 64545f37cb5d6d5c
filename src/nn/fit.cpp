// fit, evaluate and predict: batches go in, steps are made, somebody watches.
#include <fmt/format.h>

#include <chrono>
#include <span>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/events.h"
#include "nn/dataset_stream.h"
#include "nn/eager_scope.h"
#include "nn/model_state.h"
#include "nn/progress.h"
#include "tensor/access.h"
#include "tenure/create.h"
#include "tenure/indexing.h"
#include "tenure/job.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure::nn {

using detail::Compiled;
using detail::ModelAccess;
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
  Logs logs(const Compiled& compiled, std::source_location site) const {
    const CallScope call("metric", site);
    Logs logs;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      logs.emplace_back(compiled.loss_names[i],
                        sums_[i] / static_cast<double>(std::max<std::int64_t>(rows_, 1)));
    }
    for (auto& each : detail::metric_logs(compiled)) logs.push_back(std::move(each));
    return logs;
  }

 private:
  std::vector<double> sums_;
  std::int64_t rows_ = 0;
};

void reset_metrics(const Compiled& compiled, std::source_location site) {
  const CallScope call("metric", site);
  if (compiled.ready) detail::reset_metrics(compiled);
}

// Weights of the examples by their classes, times those they have.
class ClassWeights {
 public:
  ClassWeights(const std::map<int, double>& weights, std::source_location site) : site_(site) {
    if (weights.empty()) return;
    if (weights.begin()->first < 0) {
      raise<ValueError>("fit: class_weight: no class is negative: {}", weights.begin()->first);
    }
    std::vector<float> table(static_cast<std::size_t>(weights.rbegin()->first) + 1, 1.f);
    for (const auto& [label, weight] : weights) {
      table[static_cast<std::size_t>(label)] = static_cast<float>(weight);
    }
    const detail::EagerScope eager;
    const CallScope call("fit", site_);
    table_ = tensor(table);
  }
  Batch operator()(Batch batch) const {
    if (!table_.defined()) return batch;
    const CallScope call("fit", site_);
    if (batch.y.size() != 1) {
      raise<ValueError>("fit: class_weight is for models with one output, this has {}",
                        batch.y.size());
    }
    const Tensor& y = batch.y.front();
    const bool one_hot = y.rank() > 1 && y.dim(-1) > 1;
    Tensor label = one_hot ? arg_max(y, -1) : reshape(y, {-1});
    label = cast(std::move(label), DType::int32);
    // Classes that the table does not reach weigh 1.
    const auto known = static_cast<double>(table_.dim(0));
    const Tensor in_table = less(label, known);
    Tensor weight =
        where(in_table, gather(table_, minimum(label, known - 1)), ones({label.dim(0)}));
    batch.weight = batch.weight.defined() ? batch.weight * weight : weight;
    return batch;
  }

 private:
  std::source_location site_;
  Tensor table_;
};

Tensor rows(const Tensor& x, std::int64_t first, std::int64_t count, std::source_location site) {
  Shape begin = Shape::filled(x.rank(), 0), size = Shape::filled(x.rank(), -1);
  begin[0] = first;
  size[0] = count;
  return slice(Arg(x, site), begin, size);
}

Logs with_prefix(const std::string& prefix, Logs logs) {
  for (auto& [name, value] : logs) name.insert(0, prefix);
  return logs;
}

void record(const Logs& logs, std::uint64_t step) {
  for (const auto& [name, value] : logs) tenure::detail::events::value(name, step, value);
}

Logs evaluate_batches(const Model& model, Compiled& compiled, const Dataset& batches,
                      std::source_location site) {
  const Span span("evaluate", model.name(), site);
  reset_metrics(compiled, site);
  Running running;
  DatasetIterator iterator = batches.iterate(site);
  bool any = false;
  while (std::optional<Batch> batch = iterator.next(site)) {
    any = true;
    const std::vector<double> losses = detail::test_step(model, compiled, *batch, site);
    running.add(losses, rows_of(*batch));
  }
  if (!any) raise<ValueError>("evaluate: there are no examples");
  return running.logs(compiled, site);
}

// Refuses what cannot be used in the name of what the user called, before copies are made of it.
void check_defined(const char* op, std::span<const Tensor> tensors, std::source_location site) {
  if (tenure::detail::context().trace != nullptr) return;  // there they may be captured
  for (const Tensor& each : tensors) {
    if (each.defined()) const tenure::detail::Pin pin(each, op, site);
  }
}
void check_defined(const char* op, const Tensor& x, const Tensor& y, std::source_location site) {
  check_defined(op, {&x, 1}, site);
  check_defined(op, {&y, 1}, site);
}

void check_batches(const Model& model, const Dataset& examples, std::int64_t batch_size,
                   const char* what) {
  if (batch_size < 1) raise<ValueError>("{}: batch_size must be positive: {}", what, batch_size);
  const std::optional<std::int64_t> size = examples.size();
  if (!size || *size % batch_size == 0) return;
  if (detail::all_states(ModelAccess::base(model)).empty()) return;
  raise<ValueError>(
      "{}: {} examples do not make whole batches of {}, and {} keeps a state per example of a "
      "batch: leave {} out, or use another batch_size",
      what, *size, batch_size, detail::layer_text(ModelAccess::base(model)), *size % batch_size);
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
        training_(model, options.epochs),
        progress_(options.verbose, options.epochs) {}

  History run() {
    const auto start = std::chrono::steady_clock::now();
    training_.batches_ = options_.steps_per_epoch;
    if (const auto size = batches_.size(); size && training_.batches_ == 0) {
      training_.batches_ = *size;
    }
    each([&](CallbackBase& callback) { callback.on_train_begin(training_); });
    for (int epoch = options_.initial_epoch; epoch < options_.epochs && goes_on(); ++epoch) {
      run_epoch(epoch);
    }
    each([&](CallbackBase& callback) { callback.on_train_end(training_); });
    history_.cancelled = cancelled();
    history_.stopped = training_.stopped();
    history_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(history_);
  }

 private:
  template <class F>
  void each(F&& fn) {
    const tenure::detail::CallbackScope users;
    for (const Callback& callback : options_.callbacks) fn(*callback);
  }
  bool cancelled() const { return control_ != nullptr && control_->cancelled(); }
  bool goes_on() const { return !cancelled() && training_.stopped().empty(); }

  void run_epoch(int epoch) {
    const Span span("epoch", std::to_string(epoch + 1), site_);
    training_.epoch_ = epoch;
    training_.batch_ = 0;
    each([&](CallbackBase& callback) { callback.on_epoch_begin(training_); });
    progress_.begin_epoch(epoch, training_.batches_);
    reset_metrics(*compiled_, site_);
    Running running;
    if (!iterator_ || options_.steps_per_epoch == 0) iterator_.emplace(batches_.iterate(site_));
    while (goes_on() &&
           (options_.steps_per_epoch == 0 || training_.batch_ < options_.steps_per_epoch)) {
      std::optional<Batch> batch = iterator_->next(site_);
      if (!batch) {
        iterator_.reset();
        break;
      }
      each([&](CallbackBase& callback) { callback.on_batch_begin(training_); });
      const std::int64_t rows = rows_of(*batch);
      running.add(detail::train_step(model_, *compiled_, class_weights_(std::move(*batch)), site_),
                  rows);
      ++training_.batch_;
      if (!options_.callbacks.empty() || progress_.is_due()) {
        const Logs logs = running.logs(*compiled_, site_);
        each([&](CallbackBase& callback) { callback.on_batch_end(training_, logs); });
        progress_.show(training_.batch_, logs);
      }
      if (control_ != nullptr) {
        control_->set_progress(
            (epoch - options_.initial_epoch +
             static_cast<double>(training_.batch_) /
                 static_cast<double>(std::max(training_.batches_, training_.batch_))) /
            std::max(1, options_.epochs - options_.initial_epoch));
      }
    }
    if (training_.batch_ == 0) {
      if (goes_on()) raise<ValueError>("fit: there are no examples");
      return;
    }
    training_.batches_ = training_.batch_;
    Logs logs = running.logs(*compiled_, site_);
    if (validation_ && goes_on() && (epoch + 1) % options_.validation_freq == 0) {
      for (auto& each_log :
           with_prefix("val_", evaluate_batches(model_, *compiled_, *validation_, site_))) {
        logs.push_back(std::move(each_log));
      }
    }
    record(logs, compiled_->steps);
    history_.add(epoch, logs);
    each([&](CallbackBase& callback) { callback.on_epoch_end(training_, logs); });
    progress_.end_epoch(training_.batch_, logs);
  }

  Model model_;
  std::shared_ptr<Compiled> compiled_;
  Dataset batches_;
  std::optional<Dataset> validation_;
  FitOptions options_;
  ClassWeights class_weights_;
  JobControl* control_;
  std::source_location site_;
  Training training_;
  Progress progress_;
  std::optional<DatasetIterator> iterator_;
  History history_;
};

namespace {

struct FitData {
  Dataset batches;
  std::optional<Dataset> validation;
};

Dataset in_batches(const Model& model, const Dataset& examples, const FitOptions& options) {
  check_batches(model, examples, options.batch_size, "fit");
  return examples.batch(options.batch_size);
}

std::optional<Dataset> validation_data(const Model& model, const FitOptions& options) {
  if (!options.validation || !dataset::DatasetAccess::has_single_examples(*options.validation)) {
    return options.validation;
  }
  return in_batches(model, *options.validation, options);
}

// Tensors as batches, the last of them for validation where asked for.
FitData fit_data(const Model& model, const TensorVector& x, const TensorVector& y,
                 const FitOptions& options, std::source_location site) {
  Dataset examples = Dataset::from_tensors(x, y, options.sample_weight, site);
  std::optional<Dataset> validation = validation_data(model, options);
  if (options.validation_split > 0) {
    const std::int64_t size = examples.size().value_or(0);
    const auto kept =
        static_cast<std::int64_t>(static_cast<double>(size) * (1 - options.validation_split));
    if (kept == 0 || kept == size) {
      raise<ValueError>("fit: validation_split {} of {} examples leaves none to {}",
                        options.validation_split, size, kept == 0 ? "train on" : "validate on");
    }
    validation = in_batches(model, examples.skip(kept), options);
    examples = examples.take(kept);
  }
  const bool stateful = !detail::all_states(ModelAccess::base(model)).empty();
  if (options.shuffle && !stateful) examples = examples.shuffle();
  return {in_batches(model, examples, options), validation};
}

FitData fit_data(const Model& model, const Dataset& batches, const FitOptions& options) {
  if (options.validation_split > 0) {
    raise<ValueError>(
        "fit: validation_split {} is of tensors: of a dataset, give .validation = dataset.skip(n), "
        "and train on dataset.take(n)",
        options.validation_split);
  }
  if (options.sample_weight.defined()) {
    raise<ValueError>("fit: sample_weight is for tensors: a dataset's batches have their own");
  }
  return {batches, validation_data(model, options)};
}

void check_options(const FitOptions& options) {
  const auto check = [](const char* name, std::int64_t value, std::int64_t least) {
    if (value < least) raise<ValueError>("fit: {} must be at least {}: {}", name, least, value);
  };
  check("epochs", options.epochs, 0);
  check("initial_epoch", options.initial_epoch, 0);
  check("steps_per_epoch", options.steps_per_epoch, 0);
  check("validation_freq", options.validation_freq, 1);
  if (!(options.validation_split >= 0 && options.validation_split < 1)) {
    raise<ValueError>("fit: validation_split must be at least 0 and below 1: {}",
                      options.validation_split);
  }
}

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
  auto lock = std::make_shared<detail::TrainingLock>(model, "fit_async", site);
  if (options.verbose == Verbose::automatic) options.verbose = Verbose::silent;
  auto session = std::make_shared<tenure::detail::SessionStay>(tenure::detail::context().session);
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
  check_options(options);
  check_defined("fit", x, site);
  check_defined("fit", y, site);
  const detail::TrainingLock lock(*this, "fit", site);
  return run_fit(*this, fit_data(*this, x, y, options, site), options, nullptr, site);
}

History Model::fit(const Dataset& batches, FitOptions options, std::source_location site) const {
  const tenure::detail::UserLine line(site, "fit");
  check_options(options);
  const detail::TrainingLock lock(*this, "fit", site);
  return run_fit(*this, fit_data(*this, batches, options), options, nullptr, site);
}

Job<History> Model::fit_async(const Tensor& x, const Tensor& y, FitOptions options,
                              std::source_location site) const {
  const tenure::detail::UserLine line(site, "fit_async");
  check_options(options);
  detail::check_alive(*base_, site, "fit_async");
  check_defined("fit_async", x, y, site);
  return start_fit(*this, fit_data(*this, {x}, {y}, options, site), options, site);
}

Job<History> Model::fit_async(const Dataset& batches, FitOptions options,
                              std::source_location site) const {
  const tenure::detail::UserLine line(site, "fit_async");
  check_options(options);
  return start_fit(*this, fit_data(*this, batches, options), options, site);
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
  return running.logs(*compiled, site);
}

Logs Model::test_on_batch(const Tensor& x, const Tensor& y, const Tensor& sample_weight,
                          std::source_location site) const {
  const tenure::detail::UserLine line(site, "test_on_batch");
  check_defined("test_on_batch", x, y, site);
  const detail::TrainingLock lock(*this, "test_on_batch", site);
  const std::shared_ptr<Compiled> compiled = detail::compiled_of(*this, "test_on_batch", site);
  reset_metrics(*compiled, site);
  Running running;
  running.add(detail::test_step(*this, *compiled, {{x}, {y}, sample_weight}, site), 1);
  return running.logs(*compiled, site);
}

Logs Model::evaluate(const Tensor& x, const Tensor& y, EvaluateOptions options,
                     std::source_location site) const {
  const tenure::detail::UserLine line(site, "evaluate");
  check_defined("evaluate", x, y, site);
  const Dataset examples = Dataset::from_tensors(x, y, options.sample_weight, site);
  check_batches(*this, examples, options.batch_size, "evaluate");
  return evaluate(examples.batch(options.batch_size), site);
}

Logs Model::evaluate(const Dataset& batches, std::source_location site) const {
  const tenure::detail::UserLine line(site, "evaluate");
  const detail::TrainingLock lock(*this, "evaluate", site);
  const tenure::detail::NoScope no_scope(tenure::detail::context());
  const std::shared_ptr<Compiled> compiled = detail::compiled_of(*this, "evaluate", site);
  Logs logs = evaluate_batches(*this, *compiled, batches, site);
  record(with_prefix("evaluate_", logs), compiled->steps);
  return logs;
}

Tensor Model::predict(const Tensor& x, PredictOptions options, std::source_location site) const {
  check_defined("predict", {&x, 1}, site);
  return detail::first_of(*base_, predict(TensorVector{x}, options, site));
}

namespace {

void check_predicted(const TensorVector& x, const PredictOptions& options) {
  if (x.empty()) raise<ValueError>("predict: no inputs were given");
  if (options.batch_size < 1) {
    raise<ValueError>("predict: batch_size must be positive: {}", options.batch_size);
  }
  for (const Tensor& each : x) {
    if (each.rank() == 0) raise<ShapeError>("predict: an input has no axis of examples: []");
    if (each.dim(0) != x.front().dim(0)) {
      raise<ShapeError>("predict: inputs have different numbers of examples: {} and {}",
                        x.front().dim(0), each.dim(0));
    }
  }
}

TensorVector predict_batches(const Model& model, const TensorVector& x, std::int64_t batch_size,
                             std::source_location site) {
  const std::int64_t examples = x.front().dim(0);
  if (examples <= batch_size) return detail::predict_step(model, x, site);
  check_batches(model, Dataset::from_tensors(x, {}, {}, site), batch_size, "predict");
  std::vector<TensorVector> parts;  // per output
  {
    const tenure::detail::NoScope no_scope(tenure::detail::context());
    for (std::int64_t first = 0; first < examples; first += batch_size) {
      TensorVector batch;
      for (const Tensor& each : x) {
        batch.push_back(rows(each, first, std::min(batch_size, examples - first), site));
      }
      TensorVector outputs = detail::predict_step(model, batch, site);
      parts.resize(outputs.size());
      for (std::size_t i = 0; i < outputs.size(); ++i) parts[i].push_back(std::move(outputs[i]));
    }
  }
  TensorVector whole;
  for (const TensorVector& each : parts) whole.push_back(concat(each, 0, site));
  return whole;
}

}  // namespace

TensorVector Model::predict(const TensorVector& x, PredictOptions options,
                            std::source_location site) const {
  const tenure::detail::UserLine line(site, "predict");
  detail::check_alive(*base_, site, "predict");
  check_defined("predict", x, site);
  const Span span("predict", name(), site);
  check_predicted(x, options);
  return predict_batches(*this, x, options.batch_size, site);
}

Job<Tensor> Model::predict_async(const Tensor& x, PredictOptions options,
                                 std::source_location site) const {
  detail::check_alive(*base_, site, "predict_async");
  check_defined("predict_async", {&x, 1}, site);
  const tenure::detail::NoScope no_scope(tenure::detail::context());
  Tensor held = x.clone(site);  // whatever becomes of the user's
  auto session = std::make_shared<tenure::detail::SessionStay>(tenure::detail::context().session);
  return start_job<Tensor>(
      [model = *this, held, options, session, site](JobControl&) mutable {
        const detail::SessionScope in_session(*session);
        return model.predict(std::exchange(held, {}), options, site);
      },
      site);
}

}  // namespace tenure::nn
