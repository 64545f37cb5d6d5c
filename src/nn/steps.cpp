// One step of training, testing or predicting. Each is a traced function of the model: the same
// code runs operation by operation where the model was compiled with `eager`.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/listed.h"
#include "core/raise.h"
#include "memory/context.h"
#include "memory/events.h"
#include "memory/text.h"
#include "memory/warn.h"
#include "nn/containers.h"
#include "nn/eager_scope.h"
#include "nn/metric.h"
#include "nn/optimizer_state.h"
#include "nn/step_parts.h"
#include "nn/widened.h"
#include "tensor/access.h"
#include "tensor/assign.h"
#include "tensor/rollback.h"
#include "tenure/create.h"
#include "tenure/gradient.h"
#include "tenure/math.h"

namespace tenure::nn {
namespace detail {

using tenure::detail::CallScope;

std::source_location called_at(const TensorVector& in) {
  if (in.empty()) return {};  // which the model is about to refuse
  return tenure::detail::checked(in.front(), "call").birth.site;
}

std::vector<Spec> specs_of(const TensorVector& tensors) {
  std::vector<Spec> specs;
  specs.reserve(tensors.size());
  for (const Tensor& each : tensors) specs.push_back(spec_of(each));
  return specs;
}

std::vector<Variable> trainable_of(ModelBase& base) {
  std::vector<Variable> trainable;
  for (const LayerWeight& each : all_weights(base)) {
    if (each.trainable) trainable.push_back(each.weight->variable);
  }
  return trainable;
}

namespace {

constexpr const char* kFewSizes =
    "give the model batches of a few sizes: from a dataset with batch(n, {.drop_remainder = "
    "true}), sequences padded to a few lengths";

TensorVector call_model(StepScope& step, const TensorVector& x, bool training) {
  const Call call{
      .training = training, .masks = {}, .losses = &step.added, .output_masks = &step.masks};
  return call_layer(step.base, x, call, step.site);
}

// What a step gives: the total, then the losses of several outputs.
StepLogs logs_of(const Compiled& compiled, Judged judged) {
  StepLogs logs{{compiled.loss_names[0], std::move(judged.total)}};
  for (std::size_t i = 1; i < compiled.loss_names.size(); ++i) {
    logs.emplace_back(compiled.loss_names[i], std::move(judged.losses[i - 1]));
  }
  return logs;
}

// The gradients of the batches so far with this one's: kept, or averaged for the step.
void accumulate(StepScope& step, TensorVector& gradients, std::vector<Variable>& sums,
                TensorVector& next_sums) {
  const Compiled& compiled = step.compiled;
  if (compiled.accumulated.empty()) return;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    const Variable& sum = compiled.accumulated[i];
    sums.push_back(sum);
    Tensor added = sum + gradients[i];
    if (step.kind == StepKind::accumulate) {
      next_sums.push_back(std::move(added));
    } else {
      gradients[i] = std::move(added) * (1.0 / compiled.options.accumulate);
      next_sums.push_back(zeros(sum.shape(), sum.dtype()));
    }
  }
}

void constrain(StepScope& step) {
  const CallScope scope("train", step.site);
  for (const LayerWeight& each : all_weights(step.base)) {
    Weight& constrained = *each.weight;
    if (!constrained.constraint.given() || !each.trainable) continue;
    constrained.variable.assign(constrained.constraint(constrained.variable.read(step.site)));
  }
}

}  // namespace

StepLogs built_in_training(StepScope& step, const Batch& batch) {
  const CallScope scope("train", step.site);
  Compiled& compiled = step.compiled;
  prepare(step.base, compiled, specs_of(batch.x), step.site);
  step.built_in = true;
  GradientTape tape({.name = "training step"}, step.site);
  const TensorVector outputs = call_model(step, batch.x, true);
  Judged judged = judge(step, batch, outputs);
  const Optimizer& optimizer = compiled.options.optimizer;
  TensorVector gradients =
      tape.gradient(optimizer.scale_loss(judged.total, step.site),
                    {compiled.trainable.begin(), compiled.trainable.end()}, {}, step.site);
  std::vector<Variable> sums;
  TensorVector next_sums;
  accumulate(step, gradients, sums, next_sums);
  if (step.kind == StepKind::train) optimizer.apply(gradients, compiled.trainable, step.site);
  tenure::detail::assign_all(sums, next_sums, step.site);
  update_metrics(step, batch, outputs);
  return logs_of(compiled, std::move(judged));
}

StepLogs built_in_test(StepScope& step, const Batch& batch) {
  const CallScope scope("test", step.site);
  prepare(step.base, step.compiled, specs_of(batch.x), step.site);
  const TensorVector outputs = call_model(step, batch.x, false);
  Judged judged = judge(step, batch, outputs);
  update_metrics(step, batch, outputs);
  return logs_of(step.compiled, std::move(judged));
}

namespace {

void check_step(const StepScope& step, const StepLogs& logs) {
  const char* what = step.kind == StepKind::test ? "test_step" : "train_step";
  if (logs.empty()) {
    raise<ValueError>("{}: its {} gives nothing: give {{{{\"loss\", loss}}}} at least",
                      layer_text(step.base), what);
  }
  std::set<std::string> names;
  for (const auto& [name, value] : logs) {
    check_number(step.base, fmt::format("\"{}\" of its {}", name, what), value);
    if (names.insert(name).second) continue;
    raise<ValueError>("{}: its {} gives two numbers named \"{}\"", layer_text(step.base), what,
                      name);
  }
  const int batches = step.compiled.options.accumulate;
  if (step.kind != StepKind::test && batches > 1 && !step.built_in) {
    raise<UnsupportedError>(
        "{}: accumulate = {} is for the built-in train_step: one of your own adds up gradients "
        "itself",
        layer_text(step.base), batches);
  }
}

// The names are the same in every trace: what a fit adds up are the same things.
void note_names(const StepScope& step, const StepLogs& logs) {
  const bool test = step.kind == StepKind::test;
  std::vector<std::string> names;
  names.reserve(logs.size());
  for (const auto& [name, value] : logs) names.push_back(name);
  std::vector<std::string>& known = step.told().names;
  if (known.empty()) {
    known = std::move(names);
    return;
  }
  if (names == known) return;
  const auto listed = [](const std::vector<std::string>& list) {
    return tenure::detail::listed(list, [](const std::string& name) { return name; });
  };
  raise<ValueError>("{}: its {} gave {} before, and gives {} now: give the same for every batch",
                    layer_text(step.base), test ? "test_step" : "train_step", listed(known),
                    listed(names));
}

// One step of whatever kind, traced or not.
TensorVector make_step(ModelBase& base, Compiled& compiled, StepKind kind, Batch batch,
                       std::source_location site) {
  StepScope step(base, compiled, kind, site);
  StepLogs logs;
  {
    const tenure::detail::CallbackScope users;
    logs = kind == StepKind::test ? base.test_step(batch) : base.train_step(batch);
  }
  for (auto& [name, value] : logs) {
    if (!is_floating(value.dtype()) && !is_complex(value.dtype()))
      value = cast(value, DType::float64);  // a count, as it may be
  }
  check_step(step, logs);
  if (kind == StepKind::train) constrain(step);
  note_names(step, logs);
  TensorVector values;
  values.reserve(logs.size());
  for (auto& [name, value] : logs) values.push_back(std::move(value));
  return values;
}

std::vector<double> numbers(const TensorVector& losses) {
  std::vector<double> values;
  for (const Tensor& loss : losses) {
    values.push_back(loss.dtype() == DType::float64 ? loss.item<double>()
                                                    : static_cast<double>(loss.item<float>()));
  }
  return values;
}

// The mean over no examples is no number, and a step along its gradient ruins every weight.
void check_rows(const Model& model, const Batch& batch) {
  if (batch.x.empty() && !batch.text.empty()) {
    throw ValueError(
        describe("{}: the batch has text and no tensors", layer_text(ModelAccess::base(model)))
            .told({}, "map the dataset by a TextVectorization's to_inputs()."));
  }
  for (const Tensor& input : batch.x) {
    if (input.rank() > 0 && input.dim(0) == 0) {
      raise<ValueError>("{}: there are no examples in the batch: an input has shape {}",
                        layer_text(ModelAccess::base(model)), input.shape());
    }
  }
}

// A traced step can tell of an operation that failed, but not of what it is in. The same, operation
// by operation, can: a ValueError of that takes the place of the one in hand.
void call_again(LayerBase& base, const TensorVector& x, std::source_location site) {
  if (tenure::detail::context().trace != nullptr) return;
  const EagerScope eager;
  tenure::detail::Rollback rollback;  // nothing is kept
  try {
    call_layer(base, x, {}, site);
  } catch (const ValueError&) {
    throw;
  } catch (const std::exception&) {
  }
}

// A traced step, which is told of what its labels stand for, and its layers.
TensorVector run_step(ModelBase& base, const Compiled& compiled, const Compiled::Step& step,
                      const Batch& batch, const TensorVector& weights, std::source_location site) {
  try {
    return step(batch.x, batch.y, weights, site);
  } catch (const ShapeError&) {
    check_inputs(base, batch.x);
    throw;
  } catch (const ValueError&) {
    check_labels(base, compiled, batch.y);
    call_again(base, batch.x, site);
    throw;
  }
}

TensorVector weights_of(const Batch& batch) {
  return batch.weight.defined() ? TensorVector{batch.weight} : TensorVector{};
}
Batch batch_of(TensorVector x, TensorVector y, const TensorVector& weight) {
  return {std::move(x), std::move(y), weight.empty() ? Tensor() : weight.front()};
}

}  // namespace

namespace {

// Sequential m{other} has the other in it, where a copy of the handle may have been meant.
std::string not_compiled_remedy(const Model& model) {
  const std::vector<Layer> layers = model.layers();
  if (model.class_name() == "Sequential" && layers.size() == 1) {
    const auto* inner = layers.front().as<ModelBase>();
    const auto is_compiled = [](ModelState& state) {
      const std::lock_guard lock(state.mutex);
      return state.compiled != nullptr;
    };
    if (inner != nullptr && is_compiled(ModelAccess::state(*inner))) {
      return fmt::format(
          "it holds one model, {}, which is compiled: braces list layers. For that model itself, "
          "write Sequential m = model or Sequential m(model), not Sequential m{{model}}.",
          layer_text(*inner));
    }
  }
  return "call compile({.optimizer = ..., .loss = ...}) first.";
}

// With the state's mutex held. What was traced of layers that were added to or popped since is
// given up, and goes with what this gives, without the lock: it may hold what calls the user's
// code.
struct GivenUp {
  std::shared_ptr<Compiled> compiled;
  std::optional<ModelState::Predict> predict;
};
GivenUp give_up_changed(ModelBase& base, ModelState& state) {
  const std::uint64_t now = changes_of_layers();
  const std::uint64_t seen = std::exchange(state.changes_seen, now);
  GivenUp given_up;
  if (seen == now || last_change(base) <= seen) return given_up;
  given_up.predict.swap(state.predict);
  if (state.compiled != nullptr) {
    auto compiled = std::make_shared<Compiled>();
    compiled->options = state.compiled->options;
    compiled->site = state.compiled->site;
    compiled->steps = state.compiled->steps;
    given_up.compiled = std::exchange(state.compiled, std::move(compiled));
  }
  return given_up;
}

}  // namespace

std::shared_ptr<Compiled> compiled_of(const Model& model, const char* what,
                                      std::source_location site) {
  check_alive(ModelAccess::base(model), site, what);
  ModelState& state = ModelAccess::state(model);
  GivenUp given_up;
  const std::lock_guard lock(state.mutex);
  check_not_ending(what, ModelAccess::base(model), site);
  given_up = give_up_changed(ModelAccess::base(model), state);
  if (state.compiled == nullptr) {
    throw ValueError(describe("{}: {} is not compiled", what, layer_text(ModelAccess::base(model)))
                         .told({line_of("born", *LayerAccess::state(model).label.get()),
                                tenure::detail::used_line(site, what)},
                               not_compiled_remedy(model)));
  }
  return state.compiled;
}

void prepare(ModelBase& base, Compiled& compiled, const std::vector<Spec>& inputs,
             std::source_location site) {
  if (compiled.ready) return;
  const EagerScope eager;
  prepare_outputs(base, compiled, output_specs(base, inputs, site));
  compiled.accumulated.clear();
  compiled.trainable = trainable_of(base);
  compiled.options.optimizer.build(compiled.trainable, site);
  if (compiled.options.accumulate > 1) {
    const CallScope call("build", site);
    for (const Variable& variable : compiled.trainable) {
      compiled.accumulated.push_back(Variable(zeros(variable.shape(), widened(variable.dtype())),
                                              {.name = variable.name() + "/accumulated_gradient",
                                               .trainable = false,
                                               .kind = Category::gradient},
                                              site));
    }
  }
  compiled.ready = true;
}

namespace {

// The functions are the model's own, and made where it was, whoever calls them first.
std::source_location made_at(const ModelBase& model) {
  return LayerAccess::state(model).label->site;
}

void make_functions(const Model& model, Compiled& compiled) {
  if (compiled.test) return;
  ModelBase* owner = &ModelAccess::base(model);
  // The functions are the model's own: a pointer to it, and to what it was compiled to, is enough.
  Compiled* step_parts = &compiled;
  const auto step = [&](const char* name, auto fn) {
    return Compiled::Step(fmt::format("{}.{}", model.name(), name), std::move(fn),
                          {.advice = kFewSizes}, made_at(*owner));
  };
  const auto made_as = [&](const char* name, StepKind kind) {
    return step(name, [=](TensorVector in, TensorVector y, TensorVector w) {
      const std::source_location line = called_at(in);
      return make_step(*owner, *step_parts, kind, batch_of(in, y, w), line);
    });
  };
  compiled.train = made_as("train", StepKind::train);
  compiled.accumulate = made_as("accumulate", StepKind::accumulate);
  compiled.test = made_as("test", StepKind::test);
}

// What a model that the library makes needs is made before its steps are traced; one of the user's
// own may not be called in its steps.
void prepare(const Model& model, Compiled& compiled, const Batch& batch,
             std::source_location site) {
  make_functions(model, compiled);
  if (compiled.ready || model.as<Container>() == nullptr) return;
  check_inputs(ModelAccess::base(model), batch.x);
  prepare(ModelAccess::base(model), compiled, specs_of(batch.x), site);
}

}  // namespace

std::vector<double> train_step(const Model& model, Compiled& compiled, const Batch& batch,
                               std::source_location site) {
  const tenure::detail::events::Span span("step", {}, site);
  check_rows(model, batch);
  const Turn turn(ModelAccess::base(model));
  prepare(model, compiled, batch, site);
  const bool last = compiled.held_back + 1 >= compiled.options.accumulate;
  TensorVector losses;
  if (compiled.options.eager) {
    tenure::detail::Rollback rollback;
    losses = make_step(ModelAccess::base(model), compiled,
                       last ? StepKind::train : StepKind::accumulate, batch, site);
    rollback.commit();
  } else {
    const Compiled::Step& step = last ? *compiled.train : *compiled.accumulate;
    losses = run_step(ModelAccess::base(model), compiled, step, batch, weights_of(batch), site);
  }
  if (compiled.steps == 0 && compiled.ready && compiled.trainable.empty()) {
    tenure::detail::warn(fmt::format(
        "{} at {}: no weight is trainable, so that training changes none: its layers have none, or "
        "they are frozen by set_trainable(false)",
        layer_text(ModelAccess::base(model)), tenure::detail::site_text(site)));
  }
  compiled.held_back = last ? 0 : compiled.held_back + 1;
  std::vector<double> values = numbers(losses);
  ++compiled.steps;
  for (std::size_t i = 0; i < values.size() && tenure::detail::events::on(); ++i) {
    tenure::detail::events::value(fmt::format("step_{}", compiled.training.names[i]),
                                  compiled.steps, values[i]);
  }
  return values;
}

std::vector<double> test_step(const Model& model, Compiled& compiled, const Batch& batch,
                              std::source_location site) {
  check_rows(model, batch);
  prepare(model, compiled, batch, site);
  if (!compiled.options.eager) {
    return numbers(run_step(ModelAccess::base(model), compiled, *compiled.test, batch,
                            weights_of(batch), site));
  }
  tenure::detail::Rollback rollback;
  const TensorVector losses =
      make_step(ModelAccess::base(model), compiled, StepKind::test, batch, site);
  rollback.commit();
  return numbers(losses);
}

TensorVector predict_step(const Model& model, const TensorVector& x, std::source_location site) {
  ModelBase& base = ModelAccess::base(model);
  ModelState& state = ModelAccess::state(model);
  std::optional<ModelState::Predict> predict;  // none: operation by operation
  GivenUp given_up;
  {
    const std::lock_guard lock(state.mutex);
    given_up = give_up_changed(base, state);
    if (state.compiled == nullptr || !state.compiled->options.eager) {
      if (!state.predict) {
        ModelBase* owner = &base;  // the function is the model's own
        state.predict.emplace(
            fmt::format("{}.predict", model.name()),
            [owner](TensorVector in) { return owner->predict_step(in); },
            FunctionOptions{.advice = kFewSizes}, made_at(base));
      }
      predict = state.predict;
    }
  }
  try {
    return predict ? (*predict)(x, site) : base.predict_step(x);
  } catch (const ShapeError&) {
    check_inputs(base, x);
    throw;
  } catch (const ValueError&) {
    if (predict) call_again(base, x, site);
    throw;
  }
}

Logs metric_logs(const Compiled& compiled) {
  Logs logs;
  for (const Measure& each : compiled.metrics) {
    const std::vector<double> results = each.metric.results();
    logs.emplace_back(each.name, ratio(std::accumulate(results.begin(), results.end(), 0.0),
                                       static_cast<double>(results.size())));
    for (std::size_t k = 0; k < results.size() && results.size() > 1; ++k) {
      logs.emplace_back(fmt::format("{}[{}]", each.name, k), results[k]);
    }
  }
  return logs;
}

void reset_metrics(const Compiled& compiled) {
  for (const Measure& each : compiled.metrics) each.metric.reset();
}

}  // namespace detail

using detail::ModelAccess;

void Model::compile(CompileOptions options, std::source_location site) const {
  detail::check_alive(*base_, site, "compile");
  const tenure::detail::UserLine line(site, "compile");
  const DTypePolicy precision(options.precision, site);
  if (precision.weight_dtype() != DType::float32) {
    raise<ValueError>(
        "compile: precision is float32, mixed_bfloat16 or mixed_float16: \"{}\" is for the .dtype "
        "of each layer",
        options.precision);
  }
  if (options.accumulate < 1) {
    raise<ValueError>("compile: accumulate must be 1 or more: {}", options.accumulate);
  }
  (void)options.optimizer.class_name();  // an empty handle is refused here
  detail::check_parts(options);
  const ModelBase& base = ModelAccess::base(*this);
  if (const detail::Structure* structure = detail::structure_of(base)) {
    (void)detail::judged_outputs(options, detail::output_names(base, structure->outputs.size()));
  }
  detail::ModelState& state = ModelAccess::state(*this);
  if (precision.compute_dtype() == DType::float16 &&
      detail::OptimizerAccess::scale(options.optimizer) == nullptr) {
    options.optimizer = LossScaleOptimizer(options.optimizer, {}, site);
  }
  auto compiled = std::make_shared<detail::Compiled>();
  compiled->options = std::move(options);
  compiled->site = site;
  // What was compiled before goes without the lock: it may hold what calls the user's code.
  decltype(state.predict) predict;
  const std::lock_guard lock(state.mutex);
  detail::check_idle("compile", detail::ModelAccess::base(*this), site);
  state.compiled.swap(compiled);
  state.predict.swap(predict);
  detail::LayerAccess::state(*this).precision =
      precision.is_mixed() ? std::optional(precision.compute_dtype()) : std::nullopt;
}

}  // namespace tenure::nn
