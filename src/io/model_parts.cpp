#include "io/model_parts.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "core/raise.h"
#include "nn/config.h"
#include "nn/optimizer_state.h"

namespace tenure::io {

using nn::detail::NamedVariable;
using nn::detail::OptimizerAccess;
using nn::detail::OptimizerState;

namespace {

NamedVariable named(std::string name, const Variable& variable) {
  NamedVariable entry;
  entry.name = std::move(name);
  entry.variable = variable;
  return entry;
}

// The JSON of a part that can be made of it again: one of the user's own cannot.
template <class T>
Json checked_json(const T& part, const char* what, T (*from)(const Json&)) {
  Json json = nn::detail::to_json(part);
  try {
    from(json);
  } catch (const ValueError&) {
    raise<UnsupportedError>("{}: one of your own ({}) cannot be written to a file", what,
                            part.class_name());
  }
  return json;
}

std::string slot_name(const NamedVariable& weight, const nn::OptimizerBase::Slot& slot) {
  return fmt::format("{}{}/{}", kOptimizerPrefix, weight.name, slot.name);
}

}  // namespace

bool is_reserved(std::string_view name) {
  return name.starts_with(kOptimizerPrefix) || name.starts_with(kStatePrefix) ||
         name.starts_with(kGradientPrefix);
}

std::string compile_text(const nn::detail::Compiled& compiled) {
  const nn::CompileOptions& options = compiled.options;
  Json losses = Json::array(), metrics = Json::array();
  for (const nn::Loss& loss : options.loss.list()) {
    losses.push_back(checked_json(loss, "loss", nn::detail::loss_from_json));
  }
  for (const nn::Metric& metric : options.metrics) {
    metrics.push_back(checked_json(metric, "metric", nn::detail::metric_from_json));
  }
  const Json json{
      {"optimizer", checked_json(options.optimizer, "optimizer", nn::detail::optimizer_from_json)},
      {"loss", losses},
      {"metrics", metrics},
      {"loss_weights", options.loss_weights},
      {"accumulate", options.accumulate},
      {"held_back", compiled.held_back},
      {"eager", options.eager}};
  return json.dump();
}

CompileSettings compile_from_text(const Origin& origin, std::string_view text) {
  const Json json = parse_model_json(origin, text);
  CompileSettings settings;
  nn::CompileOptions& options = settings.options;
  options.optimizer =
      nn::detail::optimizer_from_json(member(origin, json, "optimizer", JsonKind::object));
  std::vector<nn::Loss> losses;
  for (const Json& loss : member(origin, json, "loss", JsonKind::array)) {
    losses.push_back(nn::detail::loss_from_json(loss));
  }
  options.loss = std::move(losses);
  for (const Json& metric : member(origin, json, "metrics", JsonKind::array)) {
    options.metrics.push_back(nn::detail::metric_from_json(metric));
  }
  nn::detail::ConfigReader visit(json, "compile");
  visit.need({"loss_weights"});
  TENURE_FIELDS(visit, options, loss_weights, accumulate, eager);
  TENURE_FIELDS(visit, settings, held_back);
  return settings;
}

std::optional<nn::CompileOptions> compile_from_keras(const Json& json,
                                                     const std::vector<std::string>& outputs) {
  const auto optimizer = json.find("optimizer_config");
  const auto loss = json.find("loss");
  if (optimizer == json.end() || loss == json.end()) return std::nullopt;
  nn::CompileOptions options;
  options.optimizer = nn::detail::optimizer_from_json(*optimizer);
  if (loss->is_string()) {
    options.loss = nn::detail::loss_from_json(*loss);
  } else {
    std::vector<nn::Loss> losses;
    if (loss->is_object()) {
      for (const std::string& output : outputs) {
        const auto output_loss = loss->find(output);
        if (output_loss == loss->end()) raise<ValueError>("loss: there is none for \"{}\"", output);
        losses.push_back(nn::detail::loss_from_json(*output_loss));
      }
    } else {
      for (const Json& each : *loss) losses.push_back(nn::detail::loss_from_json(each));
    }
    options.loss = std::move(losses);
  }
  if (const auto metrics = json.find("metrics"); metrics != json.end() && !metrics->is_null()) {
    if (metrics->is_string()) {
      options.metrics.push_back(nn::detail::metric_from_json(*metrics));
    } else if (metrics->is_array()) {
      for (const Json& each : *metrics) {
        options.metrics.push_back(nn::detail::metric_from_json(each));
      }
    } else {
      raise<ValueError>("metrics: some are of one output only, which does not exist here");
    }
  }
  return options;
}

std::vector<NamedVariable> optimizer_state(const nn::Optimizer& optimizer,
                                           const std::vector<NamedVariable>& weights) {
  const nn::OptimizerBase& base = OptimizerAccess::base(optimizer);
  const OptimizerState& state = OptimizerAccess::state(base);
  const std::lock_guard lock(state.mutex);
  std::vector<NamedVariable> all;
  if (!state.iterations.defined()) return all;
  const auto add = [&](std::string_view name, const Variable& variable) {
    all.push_back(named(fmt::format("{}{}", kOptimizerPrefix, name), variable));
  };
  add("iterations", state.iterations);
  if (state.learning_rate.defined()) add("learning_rate", state.learning_rate);
  const std::vector<nn::OptimizerBase::Slot> shared = base.shared_slots();
  for (std::size_t i = 0; i < state.shared.size(); ++i) add(shared[i].name, state.shared[i]);
  const std::vector<nn::OptimizerBase::Slot> slots = base.slots();
  for (const NamedVariable& weight : weights) {
    const auto index = state.slot_index.find(weight.variable.id());
    if (index == state.slot_index.end()) continue;
    const std::vector<Variable>& variables = state.slots[index->second];
    for (std::size_t i = 0; i < variables.size(); ++i) {
      all.push_back(named(slot_name(weight, slots[i]), variables[i]));
    }
  }
  return all;
}

void build_optimizer(const nn::Optimizer& optimizer, const std::vector<NamedVariable>& weights,
                     const std::function<bool(const std::string& name)>& has,
                     std::source_location site) {
  if (!has(std::string(kOptimizerPrefix) + "iterations")) return;
  const std::vector<nn::OptimizerBase::Slot> slots = OptimizerAccess::base(optimizer).slots();
  std::vector<Variable> variables;
  for (const NamedVariable& weight : weights) {
    const bool any =
        std::ranges::any_of(slots, [&](const auto& slot) { return has(slot_name(weight, slot)); });
    if (any) variables.push_back(weight.variable);
  }
  optimizer.build(variables, site);
}

std::vector<NamedVariable> waiting_gradients(const nn::detail::Compiled& compiled,
                                             const std::vector<NamedVariable>& weights) {
  std::vector<NamedVariable> all;
  if (compiled.held_back == 0) return all;
  for (std::size_t i = 0; i < compiled.accumulated.size(); ++i) {
    const auto weight = std::ranges::find(weights, compiled.trainable[i].id(),
                                          [](const NamedVariable& w) { return w.variable.id(); });
    if (weight == weights.end()) continue;
    all.push_back(named(std::string(kGradientPrefix) + weight->name, compiled.accumulated[i]));
  }
  return all;
}

}  // namespace tenure::io
