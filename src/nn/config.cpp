#include "nn/config.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/raise.h"
#include "memory/user_site.h"
#include "nn/containers.h"
#include "nn/copy_scope.h"
#include "nn/parts.h"
#include "tenure/nn/core_layers.h"

namespace tenure::nn::detail {

namespace {

constexpr std::uint64_t kMostInteger = std::numeric_limits<std::int64_t>::max();

// In the order of the constants.
constexpr std::array<const char*, 2> kCurves{"ROC", "PR"};
constexpr std::array<const char*, 4> kReductions{"sum_over_batch_size", "sum", "none",
                                                 "mean_with_sample_weight"};
constexpr std::array<const char*, 3> kSummations{"interpolation", "minoring", "majoring"};

[[noreturn]] void wrong(const std::string& what, const char* wanted, const Json& json) {
  std::string text = json.dump();
  if (text.size() > 60) text = text.substr(0, 60) + "...";
  raise<ValueError>("{} should be {}: {}", what, wanted, text);
}

// Of a field.
template <class T>
T& value_at(T* at) {
  return *at;
}
Numbers value_at(const Numbers& at) { return at; }
MarginField value_at(const MarginField& at) { return at; }

template <class T>
void assign(T* to, const T* from) {
  *to = *from;
}
void assign(const Numbers& to, const Numbers& from) { to.list = from.list; }
void assign(const MarginField& to, const MarginField& from) { to.pairs = from.pairs; }

// ---- Writing

Json named_json(const std::string& class_name, const std::string& config) {
  return {{"class_name", class_name}, {"config", Json::parse(config)}};
}

constexpr const char* kKept = "kept";  // of a CopyScope

template <class P>
Json kept_json(const P& part) {
  CopyScope* const copies = CopyScope::current();
  return copies != nullptr ? Json{{kKept, copies->keep(part)}} : Json(nullptr);
}

template <class P>
bool take_kept(const Json& json, P& part) {
  const CopyScope* const copies = CopyScope::current();
  if (copies == nullptr || !json.is_object() || !json.contains(kKept)) return false;
  const P* kept = copies->kept<P>(json[kKept].template get<std::size_t>());
  if (kept != nullptr) part = *kept;
  return kept != nullptr;
}

template <class P>
Json part_json(const P& part, const std::string& what) {
  if (part.class_name().empty()) {
    if constexpr (kIsKept<P>) {
      if (const Json kept = kept_json(part); !kept.is_null()) return kept;
    }
    raise<UnsupportedError>("{}: a function of your own cannot be written to a file", what);
  }
  return named_json(part.class_name(), part.config());
}

template <class T>
  requires std::is_arithmetic_v<T>
Json json_of(T value) {
  return value;
}
Json json_of(const std::string& value) { return value; }
Json json_of(const std::vector<double>& value) { return value; }
Json json_of(const Shape& value) { return to_json(value); }
Json json_of(DType value) { return std::string(name(value)); }
Json json_of(const DTypePolicy& value) { return json_of(value.weight_dtype()); }
Json json_of(Curve value) { return kCurves[static_cast<std::size_t>(value)]; }
Json json_of(Reduction value) { return kReductions[static_cast<std::size_t>(value)]; }
Json json_of(Summation value) { return kSummations[static_cast<std::size_t>(value)]; }
Json json_of(const Numbers& value) {
  if (value.list.rank() == 0 && !value.is_list) return nullptr;
  if (value.list.rank() == 1 && !value.is_list) return value.list[0];
  Json list = Json::array();
  for (const std::int64_t number : value.list) list.push_back(number);
  return list;
}
Json json_of(const MarginField& value) {
  Json list = Json::array();
  for (const auto& [before, after] : value.pairs) list.push_back(Json::array({before, after}));
  return value.axes == 1 && list.size() == 1 ? list[0] : list;
}
Json json_of(const ActivationFn& value) {
  if (value.name().empty()) {
    if (const Json kept = kept_json(value); !kept.is_null()) return kept;
    raise<UnsupportedError>("activation: a function of your own cannot be written to a file");
  }
  return value.name();
}
Json json_of(const Initializer& value) {
  return value.given() ? part_json(value, "initializer") : Json(nullptr);
}
Json json_of(const Regularizer& value) {
  return value.given() ? part_json(value, "regularizer") : Json(nullptr);
}
Json json_of(const Constraint& value) {
  return value.given() ? part_json(value, "constraint") : Json(nullptr);
}
Json json_of(const LearningRate& value) {
  if (value.schedule().given()) return to_json(value.schedule());
  return value.value();
}
Json json_of(const LambdaFn& value) {
  if (value.name().empty()) {
    if (const Json kept = kept_json(value); !kept.is_null()) return kept;
    raise<UnsupportedError>(
        "Lambda: a function cannot be written to a file unless register_lambda gave it a name");
  }
  return value.name();
}
Json json_of(const Layer& value) { return to_json(value); }
Json json_of(const std::vector<Layer>& value) {
  Json list = Json::array();
  for (const Layer& layer : value) list.push_back(to_json(layer));
  return list;
}
template <class T>
Json json_of(const std::optional<T>& value) {
  return value ? json_of(*value) : Json(nullptr);
}

class ConfigWriter final : public Fields {
 public:
  bool reads() const override { return false; }
  std::string text() const { return json_.dump(); }

 private:
  void visit(const char* key, const Field& field) override {
    std::visit([&](const auto& at) { json_[key] = json_of(value_at(at)); }, field);
  }
  Json json_ = Json::object();
};

// ---- Reading: `what` names the field in errors. What is null keeps its default, where it does not
// mean none.

struct NamedConfig {
  std::string name;
  Json config;
};
NamedConfig named_config(const Json& json, const std::string& what) {
  if (json.is_string()) return {json.get<std::string>(), Json::object()};
  if (!json.is_object() || !json.contains("class_name") || !json["class_name"].is_string()) {
    wrong(what, "a name or an object with class_name", json);
  }
  const Json config = json.value("config", Json::object());
  return {json["class_name"].get<std::string>(), config.is_object() ? config : Json::object()};
}

template <class P>
void part_from_json(const Json& json, const std::string& what, P& part,
                    P (*make)(const std::string& name, Fields&& settings)) {
  if (json.is_null()) {
    part = P();
    return;
  }
  if (take_kept(json, part)) return;
  const auto [name, config] = named_config(json, what);
  part = make(name, ConfigReader(config, what));
}

template <class E>
void choice_from_json(const Json& json, const std::string& what, E& value,
                      std::span<const char* const> names) {
  const std::string word = json.is_null()     ? "none"
                           : json.is_string() ? json.get<std::string>()
                                              : json.dump();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (plain_name(word) == plain_name(names[i])) {
      value = static_cast<E>(i);
      return;
    }
  }
  if (!json.is_null()) raise_no_such(what, word, fmt::format("{}", fmt::join(names, ", ")));
}

void from_json(const Json& json, const std::string& what, bool& value) {
  if (json.is_null()) return;
  if (!json.is_boolean()) wrong(what, "true or false", json);
  value = json.get<bool>();
}
void from_json(const Json& json, const std::string& what, std::int64_t& value) {
  if (json.is_null()) return;
  if (!json.is_number_integer() ||
      (json.is_number_unsigned() && json.get<std::uint64_t>() > kMostInteger)) {
    wrong(what, "a whole number", json);
  }
  value = json.get<std::int64_t>();
}
void from_json(const Json& json, const std::string& what, int& value) {
  std::int64_t wide = value;
  from_json(json, what, wide);
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    wrong(what, "a small whole number", json);
  }
  value = static_cast<int>(wide);
}
void from_json(const Json& json, const std::string& what, double& value) {
  if (json.is_null()) return;
  if (!json.is_number()) wrong(what, "a number", json);
  value = json.get<double>();
}
void from_json(const Json& json, const std::string& what, std::string& value) {
  if (json.is_null()) return;
  if (!json.is_string()) wrong(what, "text", json);
  value = json.get<std::string>();
}
void from_json(const Json& json, const std::string& what, std::vector<double>& value) {
  if (!json.is_array()) wrong(what, "a list of numbers", json);
  value.clear();
  for (const Json& each : json) {
    if (!each.is_number()) wrong(what, "a list of numbers", json);
    value.push_back(each.get<double>());
  }
}
void from_json(const Json& json, const std::string& what, Shape& value) {
  value = {};
  if (json.is_null()) return;
  if (json.is_number_integer()) {
    std::int64_t number = 0;
    from_json(json, what, number);
    value = {number};
    return;
  }
  if (!json.is_array() || json.size() > 32) wrong(what, "a list of sizes", json);
  for (const Json& size : json) {
    if (!size.is_null() && !size.is_number_integer()) wrong(what, "a list of sizes", json);
    std::int64_t number = kAny;
    from_json(size, what, number);
    value.push_back(number);
  }
}
void from_json(const Json& json, const std::string& what, DType& value) {
  if (json.is_null()) return;
  if (!json.is_string()) wrong(what, "a dtype", json);
  for (int i = 0; i < kDTypeCount; ++i) {
    if (json.get<std::string>() == name(static_cast<DType>(i))) {
      value = static_cast<DType>(i);
      return;
    }
  }
  wrong(what, "a dtype", json);
}
void from_json(const Json& json, const std::string& what, DTypePolicy& value) {
  // Keras 3 writes a policy.
  if (json.is_object()) {
    const Json config = json.value("config", Json::object());
    if (!config.is_object() || !config.contains("name")) wrong(what, "a dtype", json);
    from_json(config["name"], what, value);
    return;
  }
  if (json.is_string() && json.get<std::string>().starts_with("mixed_")) {
    value = DTypePolicy(json.get<std::string>());
    return;
  }
  DType dtype = DType::float32;
  from_json(json, what, dtype);
  value = dtype == DType::float32 ? DTypePolicy() : DTypePolicy(dtype);
}
void from_json(const Json& json, const std::string&, std::optional<std::uint64_t>& value) {
  value.reset();
  if (json.is_number_integer()) value = json.get<std::uint64_t>();
}
void from_json(const Json& json, const std::string& what,
               std::optional<std::vector<double>>& value) {
  value.reset();
  if (json.is_null()) return;
  value.emplace();
  if (json.is_number()) {
    value->push_back(json.get<double>());
  } else {
    from_json(json, what, *value);
    if (value->empty()) wrong(what, "a number or a list of numbers", json);
  }
}

std::int64_t whole(const Json& json, const std::string& what) {
  std::int64_t value = 0;
  from_json(json, what, value);
  return value;
}

void from_json(const Json& json, const std::string& what, const Numbers& value) {
  value.list = {};
  if (json.is_null()) return;
  if (!json.is_array()) {
    value.list.push_back(whole(json, what));
    return;
  }
  // TensorFlow.js writes an open size as null.
  for (const Json& each : json) value.list.push_back(each.is_null() ? kAny : whole(each, what));
}
void from_json(const Json& json, const std::string& what, const MarginField& value) {
  value.pairs.clear();
  const auto pair_of = [&](const Json& each) {
    if (!each.is_array()) return std::pair(whole(each, what), whole(each, what));
    if (each.size() != 2) raise<ValueError>("{} should have pairs: {}", what, json.dump());
    return std::pair(whole(each[0], what), whole(each[1], what));
  };
  const bool is_one =
      !json.is_array() || (value.axes == 1 && json.size() == 2 && !json[0].is_array());
  if (is_one) {
    value.pairs.push_back(pair_of(json));
  } else {
    for (const Json& each : json) value.pairs.push_back(pair_of(each));
  }
}

void from_json(const Json& json, const std::string& what, Curve& value) {
  choice_from_json(json, what, value, kCurves);
}
void from_json(const Json& json, const std::string& what, Summation& value) {
  choice_from_json(json, what, value, kSummations);
}
void from_json(const Json& json, const std::string& what, Reduction& value) {
  if (json == "auto" || json == "mean") {
    value = Reduction::sum_over_batch_size;
  } else {
    choice_from_json(json, what, value, kReductions);
  }
}
void from_json(const Json& json, const std::string& what, ActivationFn& value) {
  if (take_kept(json, value)) return;
  if (json.is_null()) {
    value = {};
  } else if (json.is_string()) {
    value = ActivationFn(json.get<std::string>());
  } else if (json.is_object() && json.contains("class_name") && json["class_name"].is_string()) {
    value = ActivationFn(json["class_name"].get<std::string>());
  } else {
    wrong(what, "an activation's name", json);
  }
}
void from_json(const Json& json, const std::string& what, Initializer& value) {
  part_from_json(json, what, value, initializer_named);
}
void from_json(const Json& json, const std::string& what, Regularizer& value) {
  part_from_json(json, what, value, regularizer_named);
}
void from_json(const Json& json, const std::string& what, Constraint& value) {
  part_from_json(json, what, value, constraint_named);
}
void from_json(const Json& json, const std::string&, LearningRate& value) {
  if (json.is_number()) {
    value = json.get<double>();
  } else {
    value = schedule_from_json(json);
  }
}
void from_json(const Json& json, const std::string& what, LambdaFn& value) {
  if (take_kept(json, value)) return;
  std::string name;
  from_json(json, what, name);
  value = LambdaFn(name);
}
void from_json(const Json& json, const std::string& what, std::optional<Layer>& value) {
  value.reset();
  if (!json.is_null()) value = layer_from_json(json, what);
}
void from_json(const Json& json, const std::string& what, std::vector<Layer>& value) {
  if (!json.is_array()) wrong(what, "a list of layers", json);
  value.clear();
  for (const Json& each : json) value.push_back(layer_from_json(each, what));
}
template <class T>
void from_json(const Json& json, const std::string& what, std::optional<T>& value) {
  value.reset();
  if (!json.is_null()) from_json(json, what, value.emplace());
}

// An optimizer's settings under Keras's names, whoever wrote them; what is null keeps its default.
Json with_keras_names(const std::string& optimizer, const Json& config) {
  static const std::map<std::string, std::string> names{{"learningrate", "learning_rate"},
                                                        {"lr", "learning_rate"},
                                                        {"beta1", "beta_1"},
                                                        {"beta2", "beta_2"},
                                                        {"usenesterov", "nesterov"}};
  Json named = Json::object();
  for (const auto& [key, value] : config.items()) {
    if (value.is_null()) continue;
    const auto keras_name = names.find(plain_name(key));
    named[keras_name != names.end() ? keras_name->second : key] = value;
  }
  // TensorFlow.js's name for rho; in Keras's older files something else stands beside it.
  if (plain_name(optimizer) == "rmsprop" && !named.contains("rho") && named.contains("decay")) {
    named["rho"] = named["decay"];
  }
  return named;
}

// A loss or metric. `wrapper` is what Keras calls one that was given as a function.
template <class T>
T training_part(const Json& json, const char* what, const char* wrapper,
                T (*make)(const std::string& name, Fields&& settings)) {
  auto [name, config] = named_config(json, what);
  if (name == wrapper && config.contains("fn") && config["fn"].is_string()) {
    name = config["fn"].get<std::string>();
  }
  return make(name, ConfigReader(config, name));
}

}  // namespace

void FieldCopy::visit(const char* key, const Field& field) {
  const auto [first, is_new] = first_.try_emplace(key, field);
  if (is_new) return;
  std::visit([from = first->second](
                 const auto& to) { assign(to, std::get<std::decay_t<decltype(to)>>(from)); },
             field);
}

void ConfigReader::need(std::initializer_list<const char*> keys) const {
  for (const char* key : keys) {
    const auto value = json_.find(key);
    if (value == json_.end() || value->is_null()) raise<ValueError>("{}: has no {}", owner_, key);
  }
}

void ConfigReader::visit(const char* key, const Field& field) {
  const auto value = json_.find(key);
  if (value == json_.end()) return;
  const std::string what = fmt::format("{}: {}", owner_, key);
  std::visit([&](const auto& at) { from_json(*value, what, value_at(at)); }, field);
}

std::string written(const Settings& settings) {
  ConfigWriter writer;
  if (settings) settings(writer);
  return writer.text();
}

std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != '_') plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

std::string snake_case(std::string_view class_name) {
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  std::string text;
  for (std::size_t i = 0; i < class_name.size(); ++i) {
    const bool upper = class_name[i] >= 'A' && class_name[i] <= 'Z';
    const bool after_lower = i > 0 && lower(class_name[i - 1]);
    const bool before_lower = i > 0 && i + 1 < class_name.size() && lower(class_name[i + 1]);
    if (upper && (after_lower || before_lower)) text += '_';
    text += upper ? static_cast<char>(class_name[i] - 'A' + 'a') : class_name[i];
  }
  return text;
}

bool is_called(const std::string& plain, std::string_view name, std::string_view other_names) {
  return plain_name(name) == plain || other_names.find(" " + plain + " ") != other_names.npos;
}

void raise_no_such(const std::string& what, const std::string& name, const std::string& known) {
  raise<ValueError>("{}: no such one: \"{}\" (there are: {})", what, name, known);
}

void common_fields(Fields& visit, std::string& name, bool& trainable, DTypePolicy& dtype,
                   const Shape& input_shape, Shape& batch_input_shape) {
  visit("name", name);
  visit("trainable", trainable);
  visit("dtype", dtype);
  // Files of others say float32 of every layer, which is no choice; one that was made is told here.
  std::optional<std::string> policy;
  if (dtype.is_mixed() || (dtype.given() && dtype == DType::float32)) policy = dtype.name();
  if (visit.reads() || policy) visit("dtype_policy", policy);
  if (visit.reads() && policy) dtype = DTypePolicy(*policy);
  Shape batch = batch_input_shape;
  if (batch.rank() == 0 && input_shape.rank() > 0) {
    batch.push_back(kAny);
    for (const std::int64_t size : input_shape) batch.push_back(size);
  }
  if (visit.reads() || batch.rank() > 0) visit("batch_input_shape", batch);
  if (visit.reads()) {
    visit("batch_shape", batch);
    batch_input_shape = batch;
  }
}

Layer layer_from_json(const std::string& class_name, const Json& config) {
  if (class_name == "Sequential") return sequential_from_json(config);
  // "Model" in Keras before 2.4, and in TensorFlow.js.
  if (class_name == "Functional" || class_name == "Model") return functional_from_json(config);
  const LayerRow* row = find_layer(class_name);
  if (row == nullptr) return make_registered_layer(class_name, config.dump());
  const auto name = config.find("name");
  const bool is_named = name != config.end() && name->is_string();
  ConfigReader settings(config, is_named ? name->get<std::string>() : class_name);
  return row->make(settings);
}

Layer layer_from_json(const Json& json, const std::string& what) {
  if (!json.is_object() || !json.contains("class_name") || !json["class_name"].is_string() ||
      !json.contains("config") || !json["config"].is_object()) {
    wrong(what, "a layer: an object with class_name and config", json);
  }
  return layer_from_json(json["class_name"].get<std::string>(), json["config"]);
}

Layer copy_of(const Layer& layer) {
  const CopyScope functions;
  return layer_from_json(layer.class_name(), Json::parse(layer.config()));
}

Optimizer optimizer_from_json(const Json& json) {
  const auto [name, config] = named_config(json, "optimizer");
  if (plain_name(name) == "lossscaleoptimizer") {
    ConfigReader visit(config, name);
    visit.need({"inner_optimizer"});
    LossScaleOptimizerOptions options;
    TENURE_FIELDS(visit, options, name, initial_scale, dynamic_growth_steps);
    return LossScaleOptimizer(optimizer_from_json(config["inner_optimizer"]), std::move(options));
  }
  return optimizer_named(name, ConfigReader(with_keras_names(name, config), name));
}

Schedule schedule_from_json(const Json& json) {
  const auto [name, config] = named_config(json, "schedule");
  return schedule_named(name, ConfigReader(config, name));
}

Loss loss_from_json(const Json& json) {
  return training_part(json, "loss", "LossFunctionWrapper", loss_named);
}

Metric metric_from_json(const Json& json) {
  return training_part(json, "metric", "MeanMetricWrapper", metric_named);
}

Json to_json(const Shape& shape) {
  Json list = Json::array();
  for (const std::int64_t size : shape) list.push_back(size == kAny ? Json(nullptr) : Json(size));
  return list;
}

Json to_json(const Layer& layer) { return named_json(layer.class_name(), layer.config()); }
Json to_json(const Optimizer& optimizer) {
  return named_json(optimizer.class_name(), optimizer.config());
}
Json to_json(const Schedule& schedule) { return part_json(schedule, "learning_rate"); }
Json to_json(const Loss& loss) { return part_json(loss, fmt::format("loss \"{}\"", loss.name())); }
Json to_json(const Metric& metric) {
  const std::string class_name = metric.class_name();
  // Of no kind yet.
  if (class_name == "accuracy" || class_name == "crossentropy") return metric.name();
  return part_json(metric, fmt::format("metric \"{}\"", metric.name()));
}

}  // namespace tenure::nn::detail

namespace tenure::nn {

template <class E>
E Choice<E>::named(const std::string& name, std::source_location site) {
  const tenure::detail::UserLine line(site);
  constexpr const char* kWhat = std::is_same_v<E, Curve>       ? "curve"
                                : std::is_same_v<E, Reduction> ? "reduction"
                                                               : "summation_method";
  E choice{};
  detail::from_json(name, kWhat, choice);
  return choice;
}

template struct Choice<Curve>;
template struct Choice<Reduction>;
template struct Choice<Summation>;

}  // namespace tenure::nn
