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

namespace {

// ---- What is given for each output: a list, or an object by their names.

Json loss_json(const nn::OutputLoss& loss) {
  return loss.given() ? checked_json(*loss, "loss", nn::detail::loss_from_json) : Json(nullptr);
}
Json number_json(const double& weight) { return weight; }

template <class Given, class T>
Json outputs_json(const Given& given, Json (*json_of)(const T&)) {
  if (given.named().empty()) {
    Json list = Json::array();
    for (const auto& each : given.list()) list.push_back(json_of(each));
    return list;
  }
  Json named = Json::object();
  for (const auto& [output, value] : given.named()) named[output] = json_of(value);
  return named;
}

// As they were given, names and all.
Json metrics_json(const nn::Metrics& metrics) {
  if (metrics.name()) return *metrics.name();
  if (!metrics.is_list()) {
    return checked_json(metrics.metric(), "metric", nn::detail::metric_from_json);
  }
  Json list = Json::array();
  for (const nn::Metrics& each : metrics.list()) list.push_back(metrics_json(each));
  return list;
}

nn::OutputLoss loss_from_json(const Json& json) {
  return json.is_null() ? nn::OutputLoss() : nn::OutputLoss(nn::detail::loss_from_json(json));
}
double number_from_json(const Json& json) {
  if (json.is_null()) return 1;
  if (!json.is_number()) raise<ValueError>("loss_weights: {} is no number", json.dump());
  return json.get<double>();
}

template <class Given, class T>
Given outputs_from_json(const Json& json, T (*from)(const Json&)) {
  if (json.is_object()) {
    std::vector<nn::OfOutput<T>> named;
    for (const auto& [output, value] : json.items()) named.push_back({output, from(value)});
    return named;
  }
  std::vector<T> list;
  if (json.is_array()) {
    for (const Json& each : json) list.push_back(from(each));
  } else if (!json.is_null()) {
    list.push_back(from(json));
  }
  return list;
}

nn::Metrics metrics_from_json(const Json& json) {
  std::vector<nn::Metrics> list;
  if (json.is_string()) return json.get<std::string>();
  if (json.is_object() && json.contains("class_name")) return nn::detail::metric_from_json(json);
  if (json.is_object()) {
    for (const auto& [output, metrics] : json.items()) {
      const nn::Metrics given = metrics_from_json(metrics);
      list.emplace_back(std::vector<nn::Metrics>{
          output, given.is_list() ? given : nn::Metrics(std::vector<nn::Metrics>{given})});
    }
  } else if (json.is_array()) {
    for (const Json& each : json) list.push_back(metrics_from_json(each));
  } else if (!json.is_null()) {
    raise<ValueError>("metrics: neither a name nor a list: {}", json.dump());
  }
  return list;
}

// One list of metrics is there that of every output.
nn::Metrics of_every_output(nn::Metrics metrics, std::size_t outputs) {
  if (outputs < 2 || std::ranges::any_of(metrics.list(), &nn::Metrics::is_list)) return metrics;
  return std::vector<nn::Metrics>(outputs, metrics);
}

}  // namespace

std::string compile_text(const nn::detail::Compiled& compiled) {
  const nn::CompileOptions& options = compiled.options;
  const Json json{
      {"optimizer", checked_json(options.optimizer, "optimizer", nn::detail::optimizer_from_json)},
      {"loss", outputs_json<nn::Losses, nn::OutputLoss>(options.loss, loss_json)},
      {"loss_weights", outputs_json<nn::LossWeights, double>(options.loss_weights, number_json)},
      {"metrics", metrics_json(options.metrics)},
      {"weighted_metrics", metrics_json(options.weighted_metrics)},
      {"accumulate", options.accumulate},
      {"held_back", compiled.held_back},
      {"eager", options.eager},
      {"precision", options.precision}};
  return json.dump();
}

CompileSettings compile_from_text(const Origin& origin, std::string_view text) {
  const Json json = parse_model_json(origin, text);
  CompileSettings settings;
  nn::CompileOptions& options = settings.options;
  options.optimizer =
      nn::detail::optimizer_from_json(member(origin, json, "optimizer", JsonKind::object));
  nn::detail::ConfigReader visit(json, "compile");
  visit.need({"loss", "loss_weights", "metrics"});
  options.loss = outputs_from_json<nn::Losses>(json["loss"], loss_from_json);
  options.loss_weights = outputs_from_json<nn::LossWeights>(json["loss_weights"], number_from_json);
  options.metrics = metrics_from_json(json["metrics"]);
  if (json.contains("weighted_metrics")) {
    options.weighted_metrics = metrics_from_json(json["weighted_metrics"]);
  }
  TENURE_FIELDS(visit, options, accumulate, eager, precision);
  TENURE_FIELDS(visit, settings, held_back);
  return settings;
}

std::optional<nn::CompileOptions> compile_from_keras(const Json& json, std::size_t outputs) {
  const auto optimizer = json.find("optimizer_config");
  const auto loss = json.find("loss");
  if (optimizer == json.end() || loss == json.end()) return std::nullopt;
  nn::CompileOptions options;
  options.optimizer = nn::detail::optimizer_from_json(*optimizer);
  const bool is_one = loss->is_object() && loss->contains("class_name");
  options.loss = is_one ? nn::Losses(nn::detail::loss_from_json(*loss))
                        : outputs_from_json<nn::Losses>(*loss, loss_from_json);
  const auto given = [&](const char* key) { return json.value(key, Json()); };
  options.loss_weights =
      outputs_from_json<nn::LossWeights>(given("loss_weights"), number_from_json);
  options.metrics = of_every_output(metrics_from_json(given("metrics")), outputs);
  options.weighted_metrics = of_every_output(metrics_from_json(given("weighted_metrics")), outputs);
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
  if (const nn::detail::LossScale* scale = OptimizerAccess::scale(optimizer);
      scale != nullptr && scale->scale.defined()) {
    add("dynamic_scale", scale->scale);
    add("step_counter", scale->good_steps);
  }
  const std::vector<nn::OptimizerBase::Slot> slots = nn::detail::slots_of(base);
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
  const std::vector<nn::OptimizerBase::Slot> slots =
      nn::detail::slots_of(OptimizerAccess::base(optimizer));
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
