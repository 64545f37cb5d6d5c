// How outputs are judged: their losses, their metrics, and the targets they are held against.
#include <fmt/format.h>

#include <algorithm>

#include "core/listed.h"
#include "core/raise.h"
#include "memory/text.h"
#include "nn/containers.h"
#include "nn/eager_scope.h"
#include "nn/loss_spec.h"
#include "nn/step_parts.h"
#include "tenure/gradient.h"
#include "tenure/math.h"
#include "tenure/views.h"

namespace tenure::nn::detail {

namespace {

std::string output_text(const JudgedOutput& output) {
  return fmt::format("output \"{}\"", output.name);
}

// Which of so many targets each output is held against: there is one for every output, or for each
// that has a loss or a metric. None where that is not so.
std::vector<std::size_t> targets_of(const Compiled& compiled, std::size_t given) {
  const std::vector<JudgedOutput>& outputs = compiled.judged;
  const bool for_all = given == outputs.size();
  std::vector<std::size_t> targets;
  std::size_t next = 0;
  for (const JudgedOutput& output : outputs) {
    targets.push_back(next);
    if (for_all || output.is_judged()) ++next;
  }
  if (next != given) targets.clear();
  return targets;
}

[[noreturn]] void raise_targets(const LayerBase& base, const Compiled& compiled,
                                std::size_t given) {
  const std::vector<JudgedOutput>& outputs = compiled.judged;
  const auto judged = std::ranges::count_if(outputs, &JudgedOutput::is_judged);
  const auto counted = [](std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  throw ValueError(describe("{}: has {}{}, was given {}", layer_text(base),
                            counted(outputs.size(), "output"),
                            static_cast<std::size_t>(judged) == outputs.size()
                                ? ""
                                : fmt::format(", {} of them with a loss or a metric", judged),
                            counted(given, "target"))
                       .told({line_of("born", *LayerAccess::state(base).label.get())},
                             fmt::format("give a target for each of: {}.",
                                         tenure::detail::listed(outputs, output_text))));
}

// An error about the target of an output, or what is compared with it.
void tell_output(Error& error, const LayerBase& base, const JudgedOutput& output) {
  error.within(output_text(output));
  error.within(layer_text(base));
  error.add(line_of("born", *LayerAccess::state(base).label.get()));
}

Tensor loss_of(const LayerBase& base, const JudgedOutput& output, const Tensor& target,
               const Tensor& prediction, const Tensor& weight, const Tensor& mask) {
  const auto tell = [&](Error& error) {
    tell_output(error, base, output);
    error.advise("y_true is the target that was given for it, y_pred what the model gives.");
  };
  Tensor loss =
      telling<ShapeError>(tell, [&] { return (*output.loss)(target, prediction, weight, mask); });
  check_number(base, fmt::format("loss \"{}\"", output.loss->name()), loss);
  return loss;
}

}  // namespace

void check_number(const LayerBase& base, const std::string& loss, const Tensor& value) {
  const Spec spec = spec_of(value);
  if (spec.shape.numel() != 1) {
    raise<ShapeError>("{}: {} is to be one number, and has shape {}", layer_text(base), loss,
                      spec.shape);
  }
  if (!is_floating(spec.dtype)) {
    raise<DtypeError>("{}: {} is to be a floating-point number, and is {}", layer_text(base), loss,
                      spec.dtype);
  }
}

Judged judge(StepScope& step, const Batch& batch, const TensorVector& outputs) {
  ModelBase& base = step.base;
  const Compiled& compiled = step.compiled;
  const std::vector<std::size_t> targets = targets_of(compiled, batch.y.size());
  if (targets.empty()) raise_targets(base, compiled, batch.y.size());
  step.masks.resize(outputs.size());
  Judged judged;
  const auto add = [&judged](Tensor term) {
    judged.total =
        judged.total.defined() ? std::move(judged.total) + std::move(term) : std::move(term);
  };
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const JudgedOutput& output = compiled.judged[i];
    if (!output.loss.given()) continue;
    const Tensor& loss = judged.losses.emplace_back(
        loss_of(base, output, batch.y[targets[i]], outputs[i], batch.weight, step.masks[i]));
    add(output.loss_weight == 1 ? loss : loss * output.loss_weight);
  }
  for (const LayerWeight& each : all_weights(base)) {
    if (each.weight->regularizer.given() && each.trainable) {
      add(each.weight->regularizer(each.weight->variable.read(step.site)));
    }
  }
  for (Tensor& term : std::exchange(step.added, {})) add(std::move(term));
  if (!judged.total.defined()) {
    throw ValueError(describe("{}: there is no loss to train by", layer_text(base))
                         .told({line_of("born", *LayerAccess::state(base).label.get()),
                                {"compiled", tenure::detail::site_text(compiled.site), {}}},
                               "give compile a .loss, or let a layer of yours call add_loss()."));
  }
  check_number(base, "the loss with what its layers add", judged.total);
  return judged;
}

namespace {

// The weights of the examples, for what the mask leaves of them.
Tensor masked(const Tensor& mask, Tensor weight) {
  Tensor counts = cast(mask, DType::float32);
  if (!weight.defined()) return counts;
  while (weight.rank() < counts.rank()) weight = expand_dims(std::move(weight), -1);
  while (counts.rank() < weight.rank()) counts = expand_dims(std::move(counts), -1);
  return counts * weight;
}

}  // namespace

void update_metrics(const StepScope& step, const Batch& batch, const TensorVector& outputs) {
  const Compiled& compiled = step.compiled;
  const std::vector<std::size_t> targets = targets_of(compiled, batch.y.size());
  for (const Measure& each : compiled.metrics) {
    Tensor weight = each.weighted ? batch.weight : Tensor();
    if (each.output < step.masks.size() && step.masks[each.output].defined() &&
        each.metric.takes_mask()) {
      weight = masked(step.masks[each.output], std::move(weight));
    }
    each.metric.update(batch.y[targets[each.output]], stop_gradient(outputs[each.output]), weight);
  }
  step.told().measures = true;
}

// Refuses labels that are no classes, in the name of the output.
void check_labels(const LayerBase& base, const Compiled& compiled, const TensorVector& y) {
  const std::vector<std::size_t> targets = targets_of(compiled, y.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const JudgedOutput& output = compiled.judged[i];
    if (!output.loss.given()) continue;
    const LossSpec& loss = LossAccess::spec(*output.loss);
    if (!loss.check_labels) continue;
    const auto tell = [&](Error& error) {
      tell_output(error, base, output);
      error.advise("classes are numbered from 0, and the output has a unit for each of them.");
    };
    telling<ValueError>(tell, [&] { loss.check_labels(y[targets[i]], compiled.outputs[i].shape); });
  }
}

std::vector<std::string> output_names(const ModelBase& base, std::size_t count) {
  const Structure* structure = structure_of(base);
  UniqueNames names;
  std::vector<std::string> unique;
  unique.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    unique.push_back(names.add(structure != nullptr ? structure->outputs[i].layer().name()
                                                    : fmt::format("output_{}", i)));
  }
  return unique;
}

namespace {

void add_metrics(std::vector<Measure>& metrics, const JudgedOutput& judged, std::size_t output,
                 const std::string& prefix, const Shape& shape, bool weighted, UniqueNames& names) {
  for (const Metric& metric : weighted ? judged.weighted_metrics : judged.metrics) {
    const Metric kind = judged.loss.given() ? metric.resolved(*judged.loss, shape) : metric;
    std::string name = prefix + metric.name();
    if (weighted && names.has(name)) name = prefix + "weighted_" + metric.name();
    metrics.push_back({kind.fresh(), output, weighted, names.add(name)});
  }
}

}  // namespace

void prepare_outputs(ModelBase& base, Compiled& compiled, const std::vector<Spec>& outputs) {
  if (!compiled.outputs.empty()) return;
  const EagerScope eager;
  std::vector<JudgedOutput> judged = telling<ValueError>(
      [&](Error& error) {
        error.add({"compiled", tenure::detail::site_text(compiled.site), layer_text(base)});
      },
      [&] { return judged_outputs(compiled.options, output_names(base, outputs.size())); });
  std::vector<std::string> loss_names{"loss"};
  for (const JudgedOutput& output : judged) {
    if (output.loss.given()) loss_names.push_back(output.name + "_loss");
  }
  if (loss_names.size() == 2) loss_names.pop_back();  // it is the loss
  std::vector<Measure> metrics;
  UniqueNames names(loss_names);
  for (const bool weighted : {false, true}) {
    for (std::size_t i = 0; i < judged.size(); ++i) {
      const std::string prefix = judged.size() > 1 ? judged[i].name + "_" : "";
      add_metrics(metrics, judged[i], i, prefix, outputs[i].shape, weighted, names);
    }
  }
  compiled.judged = std::move(judged);
  compiled.loss_names = std::move(loss_names);
  compiled.metrics = std::move(metrics);
  compiled.outputs = outputs;
}

}  // namespace tenure::nn::detail
