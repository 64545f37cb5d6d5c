// One step of training, testing or predicting. Each is a traced function of the model: the same
// code runs operation by operation where the model was compiled with `eager`.
#include <fmt/format.h>

#include <algorithm>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/events.h"
#include "memory/text.h"
#include "nn/containers.h"
#include "nn/eager_scope.h"
#include "tensor/access.h"
#include "tensor/assign.h"
#include "tensor/rollback.h"
#include "tenure/create.h"
#include "tenure/gradient.h"
#include "tenure/math.h"

namespace tenure::nn {
namespace detail {

using tenure::detail::CallScope;

namespace {

struct Judged {
  Tensor total;
  TensorVector losses;  // of each output
  TensorVector outputs;
};

// The model's outputs and its loss. Regularizers and what layers add are part of the total.
Judged judge(ModelBase& base, const Compiled& compiled, const TensorVector& x,
             const TensorVector& y, const TensorVector& weight, bool training,
             std::source_location site) {
  TensorVector masks, added;
  const Call call{.training = training, .masks = {}, .losses = &added, .output_masks = &masks};
  Judged judged;
  judged.outputs = call_layer(base, x, call, site);
  masks.resize(judged.outputs.size());
  const CompileOptions& options = compiled.options;
  if (y.size() != judged.outputs.size()) {
    raise<ValueError>("{}: has {} outputs, was given {} targets", layer_text(base),
                      judged.outputs.size(), y.size());
  }
  for (std::size_t i = 0; i < y.size(); ++i) {
    const Loss& loss = options.loss.of(i);
    judged.losses.push_back(
        loss(y[i], judged.outputs[i], weight.empty() ? Tensor() : weight.front(), masks[i]));
  }
  const auto add = [&judged](Tensor term) {
    judged.total =
        judged.total.defined() ? std::move(judged.total) + std::move(term) : std::move(term);
  };
  for (std::size_t i = 0; i < judged.losses.size(); ++i) {
    const double share = options.loss_weights.empty() ? 1 : options.loss_weights[i];
    add(share == 1 ? judged.losses[i] : judged.losses[i] * share);
  }
  for (const LayerWeight& each : all_weights(base)) {
    if (each.weight->regularizer.given() && each.trainable) {
      add(each.weight->regularizer(each.weight->variable.read(site)));
    }
  }
  for (Tensor& term : added) add(std::move(term));
  return judged;
}

// What a step gives: the total, then the losses of several outputs.
TensorVector losses_of(Judged judged) {
  TensorVector losses{std::move(judged.total)};
  if (judged.losses.size() > 1) {
    for (Tensor& loss : judged.losses) losses.push_back(std::move(loss));
  }
  return losses;
}

void update_metrics(const Compiled& compiled, const Judged& judged, const TensorVector& y,
                    const TensorVector& weight) {
  const std::size_t each = compiled.options.metrics.size();
  for (std::size_t i = 0; i < compiled.metrics.size(); ++i) {
    compiled.metrics[i].update(y[i / each], stop_gradient(judged.outputs[i / each]),
                               weight.empty() ? Tensor() : weight.front());
  }
}

enum class Part { whole, accumulate };

TensorVector train(ModelBase& base, Compiled& compiled, const TensorVector& x,
                   const TensorVector& y, const TensorVector& weight, Part part,
                   std::source_location site) {
  const CallScope scope("train", site);
  GradientTape tape({.name = "training step"}, site);
  Judged judged = judge(base, compiled, x, y, weight, true, site);
  TensorVector gradients =
      tape.gradient(judged.total, {compiled.trainable.begin(), compiled.trainable.end()}, {}, site);
  std::vector<Variable> sums;
  TensorVector next_sums;
  if (!compiled.accumulated.empty()) {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined()) continue;
      const Variable& sum = compiled.accumulated[i];
      sums.push_back(sum);
      Tensor added = sum + gradients[i];
      if (part == Part::accumulate) {
        next_sums.push_back(std::move(added));
      } else {
        gradients[i] = std::move(added) * (1.0 / compiled.options.accumulate);
        next_sums.push_back(zeros(sum.shape(), sum.dtype()));
      }
    }
  }
  if (part == Part::whole) {
    compiled.options.optimizer.apply(gradients, compiled.trainable, site);
    for (const LayerWeight& each : all_weights(base)) {
      Weight& constrained = *each.weight;
      if (!constrained.constraint.given() || !each.trainable) continue;
      constrained.variable.assign(constrained.constraint(constrained.variable.read(site)));
    }
  }
  tenure::detail::assign_all(sums, next_sums, site);
  update_metrics(compiled, judged, y, weight);
  return losses_of(std::move(judged));
}

TensorVector test(ModelBase& base, const Compiled& compiled, const TensorVector& x,
                  const TensorVector& y, const TensorVector& weight, std::source_location site) {
  const CallScope scope("test", site);
  Judged judged = judge(base, compiled, x, y, weight, false, site);
  update_metrics(compiled, judged, y, weight);
  return losses_of(std::move(judged));
}

std::vector<double> numbers(const TensorVector& losses) {
  std::vector<double> values;
  for (const Tensor& loss : losses) {
    values.push_back(loss.dtype() == DType::float64 ? loss.item<double>()
                                                    : static_cast<double>(loss.item<float>()));
  }
  return values;
}

// The arguments of a trace are born where the function was called, which is not where it was made.
std::source_location called_at(const TensorVector& in) {
  if (in.empty()) return {};  // which the model is about to refuse
  return tenure::detail::checked(in.front(), "call").birth.site;
}

// The mean over no examples is no number, and a step along its gradient ruins every weight.
void check_rows(const Model& model, const Batch& batch) {
  for (const Tensor& input : batch.x) {
    if (input.rank() > 0 && input.dim(0) == 0) {
      raise<ValueError>("{}: there are no examples in the batch: an input has shape {}",
                        layer_text(ModelAccess::base(model)), input.shape());
    }
  }
}

TensorVector weights_of(const Batch& batch) {
  return batch.weight.defined() ? TensorVector{batch.weight} : TensorVector{};
}

}  // namespace

std::shared_ptr<Compiled> compiled_of(const Model& model, const char* what,
                                      std::source_location site) {
  check_alive(ModelAccess::base(model), site, what);
  ModelState& state = ModelAccess::state(model);
  const std::lock_guard lock(state.mutex);
  if (state.compiled == nullptr) {
    throw ValueError(describe("{}: {} is not compiled", what, layer_text(ModelAccess::base(model)))
                         .told({line_of("born", *LayerAccess::state(model).label.get()),
                                tenure::detail::used_line(site, what)},
                               "call compile({.optimizer = ..., .loss = ...}) first."));
  }
  return state.compiled;
}

void prepare(const Model& model, Compiled& compiled, const TensorVector& x,
             std::source_location site) {
  if (compiled.ready) return;
  std::vector<Spec> inputs;
  for (const Tensor& input : x) inputs.push_back(spec_of(input));
  prepare(model, compiled, inputs, site);
}

void prepare(const Model& model, Compiled& compiled, const std::vector<Spec>& inputs,
             std::source_location site) {
  if (compiled.ready) return;
  ModelBase& base = ModelAccess::base(model);
  const EagerScope eager;
  const std::vector<Spec> outputs = output_specs(base, inputs, site);
  const CompileOptions& options = compiled.options;
  if (options.loss.size() != 1 && options.loss.size() != outputs.size()) {
    raise<ValueError>("compile: {} losses for {} outputs: give one, or one for each",
                      options.loss.size(), outputs.size());
  }
  if (!options.loss_weights.empty() && options.loss_weights.size() != outputs.size()) {
    raise<ValueError>("compile: {} loss weights for {} outputs", options.loss_weights.size(),
                      outputs.size());
  }
  const Structure* structure = structure_of(base);
  // Once more from the beginning, if an earlier call failed on the way.
  compiled.metrics.clear();
  compiled.metric_names.clear();
  compiled.accumulated.clear();
  compiled.loss_names = {"loss"};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::string prefix;
    if (outputs.size() > 1) {
      prefix = (structure != nullptr ? structure->outputs[i].layer().name()
                                     : fmt::format("output_{}", i)) +
               "_";
      compiled.loss_names.push_back(prefix + "loss");
    }
    const Loss& loss = options.loss.of(i);
    for (const Metric& metric : options.metrics) {
      const std::string name = prefix + metric.name();
      compiled.metrics.push_back(metric.resolved(loss, outputs[i].shape).fresh());
      compiled.metric_names.push_back(name);
    }
  }
  compiled.trainable = model.trainable_weights();
  compiled.options.optimizer.build(compiled.trainable, site);
  if (options.accumulate > 1) {
    const CallScope call("build", site);
    for (const Variable& variable : compiled.trainable) {
      compiled.accumulated.push_back(Variable(zeros(variable.shape(), variable.dtype()),
                                              {.name = variable.name() + "/accumulated_gradient",
                                               .trainable = false,
                                               .kind = Category::gradient},
                                              site));
    }
  }
  // The functions are the model's own: a pointer to it, and to what it was compiled to, is enough.
  ModelBase* owner = &base;
  Compiled* step_parts = &compiled;
  const auto step = [&](const char* name, auto fn) {
    return Compiled::Step(fmt::format("{}.{}", model.name(), name), std::move(fn), {}, site);
  };
  compiled.train = step("train", [=](TensorVector in, TensorVector y, TensorVector w) {
    return train(*owner, *step_parts, in, y, w, Part::whole, called_at(in));
  });
  compiled.accumulate = step("accumulate", [=](TensorVector in, TensorVector y, TensorVector w) {
    return train(*owner, *step_parts, in, y, w, Part::accumulate, called_at(in));
  });
  compiled.test = step("test", [=](TensorVector in, TensorVector y, TensorVector w) {
    return test(*owner, *step_parts, in, y, w, called_at(in));
  });
  compiled.ready = true;
}

std::vector<double> train_step(const Model& model, Compiled& compiled, const Batch& batch,
                               std::source_location site) {
  const tenure::detail::events::Span span("step", {}, site);
  check_rows(model, batch);
  prepare(model, compiled, batch.x, site);
  const bool last = compiled.held_back + 1 >= compiled.options.accumulate;
  TensorVector losses;
  if (compiled.options.eager) {
    tenure::detail::Rollback rollback;
    losses = train(ModelAccess::base(model), compiled, batch.x, batch.y, weights_of(batch),
                   last ? Part::whole : Part::accumulate, site);
    rollback.commit();
  } else {
    const Compiled::Step& step = last ? *compiled.train : *compiled.accumulate;
    losses = step(batch.x, batch.y, weights_of(batch), site);
  }
  compiled.held_back = last ? 0 : compiled.held_back + 1;
  std::vector<double> values = numbers(losses);
  ++compiled.steps;
  for (std::size_t i = 0; i < values.size() && tenure::detail::events::on(); ++i) {
    tenure::detail::events::value(fmt::format("step_{}", compiled.loss_names[i]), compiled.steps,
                                  values[i]);
  }
  return values;
}

std::vector<double> test_step(const Model& model, Compiled& compiled, const Batch& batch,
                              std::source_location site) {
  check_rows(model, batch);
  prepare(model, compiled, batch.x, site);
  const TensorVector weight = weights_of(batch);
  if (!compiled.options.eager) return numbers((*compiled.test)(batch.x, batch.y, weight, site));
  tenure::detail::Rollback rollback;
  const TensorVector losses =
      test(ModelAccess::base(model), compiled, batch.x, batch.y, weight, site);
  rollback.commit();
  return numbers(losses);
}

TensorVector predict_step(const Model& model, const TensorVector& x, std::source_location site) {
  ModelBase& base = ModelAccess::base(model);
  ModelState& state = ModelAccess::state(model);
  std::optional<Function<TensorVector(TensorVector)>> predict;  // none: operation by operation
  {
    const std::lock_guard lock(state.mutex);
    if (state.compiled == nullptr || !state.compiled->options.eager) {
      if (!state.predict) {
        ModelBase* owner = &base;  // the function is the model's own
        state.predict.emplace(
            fmt::format("{}.predict", model.name()),
            [owner](TensorVector in) { return call_layer(*owner, in, {}, called_at(in)); },
            FunctionOptions{}, site);
      }
      predict = state.predict;
    }
  }
  return predict ? (*predict)(x, site) : call_layer(base, x, {}, site);
}

Logs metric_logs(const Compiled& compiled) {
  Logs logs;
  for (std::size_t i = 0; i < compiled.metrics.size(); ++i) {
    logs.emplace_back(compiled.metric_names[i], compiled.metrics[i].result());
  }
  return logs;
}

void reset_metrics(const Compiled& compiled) {
  for (const Metric& metric : compiled.metrics) metric.reset();
}

}  // namespace detail

using detail::ModelAccess;

void Model::compile(CompileOptions options, std::source_location site) const {
  detail::check_alive(*base_, site, "compile");
  if (options.loss.empty()) raise<ValueError>("compile: no loss was given");
  if (options.accumulate < 1) {
    raise<ValueError>("compile: accumulate must be 1 or more: {}", options.accumulate);
  }
  (void)options.optimizer.class_name();  // an empty handle is refused here
  for (const Loss& loss : options.loss.list()) (void)loss.reduction();
  for (const Metric& metric : options.metrics) (void)metric.class_name();
  detail::ModelState& state = ModelAccess::state(*this);
  auto compiled = std::make_shared<detail::Compiled>();
  compiled->options = std::move(options);
  // What was compiled before goes without the lock: it may hold what calls the user's code.
  decltype(state.predict) predict;
  const std::lock_guard lock(state.mutex);
  if (state.training_since) {
    detail::raise_busy("compile", *base_, *state.training_since, site);
  }
  state.compiled.swap(compiled);
  state.predict.swap(predict);
}

}  // namespace tenure::nn
