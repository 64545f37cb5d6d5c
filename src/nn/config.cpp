#include "nn/config.h"

#include <limits>

#include "core/raise.h"
#include "nn/parts.h"

namespace tenure::nn::detail {

namespace {

constexpr std::uint64_t kMostInteger = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void wrong(const std::string& what, const char* wanted, const Json& json) {
  std::string found = json.dump();
  if (found.size() > 60) found = found.substr(0, 60) + "...";
  raise<ValueError>("{} should be {}: {}", what, wanted, found);
}

template <class P>
Json part_to_json(const P& part, const char* kind) {
  if (!part.given()) return nullptr;
  if (part.class_name().empty()) {
    raise<UnsupportedError>("{}: a function of your own cannot be written to a file", kind);
  }
  return {{"class_name", part.class_name()}, {"config", Json::parse(part.config())}};
}

// A name, or {"class_name": ..., "config": {...}}; none for null.
template <class P>
void part_from_json(const Json& json, const std::string& what, P& part,
                    P (*make)(const std::string&, const Json&)) {
  if (json.is_null()) {
    part = P();
  } else if (json.is_string()) {
    part = make(json.get<std::string>(), Json::object());
  } else if (json.is_object() && json.contains("class_name") && json["class_name"].is_string()) {
    const Json config = json.value("config", Json::object());
    part =
        make(json["class_name"].get<std::string>(), config.is_object() ? config : Json::object());
  } else {
    wrong(what, "a name or an object with class_name", json);
  }
}

}  // namespace

double number_in(const Json& config, const char* key, double otherwise) {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null()) return otherwise;
  if (!found->is_number()) wrong(key, "a number", *found);
  return found->get<double>();
}

Json to_json(bool value) { return value; }
Json to_json(std::int64_t value) { return value; }
Json to_json(int value) { return value; }
Json to_json(double value) { return value; }
Json to_json(const std::string& value) { return value; }
Json to_json(const Shape& value) {
  Json list = Json::array();
  for (const std::int64_t size : value) list.push_back(size == kAny ? Json(nullptr) : Json(size));
  return list;
}
Json to_json(DType value) { return std::string(name(value)); }
Json to_json(const ActivationFn& value) {
  if (value.name().empty()) {
    raise<UnsupportedError>("activation: a function of your own cannot be written to a file");
  }
  return value.name();
}
Json to_json(const Initializer& value) { return part_to_json(value, "initializer"); }
Json to_json(const Regularizer& value) { return part_to_json(value, "regularizer"); }
Json to_json(const Constraint& value) { return part_to_json(value, "constraint"); }
Json to_json(const Layer& value) {
  return {{"class_name", value.class_name()}, {"config", Json::parse(value.config())}};
}
Json to_json(const std::vector<Layer>& value) {
  Json list = Json::array();
  for (const Layer& layer : value) list.push_back(to_json(layer));
  return list;
}

void from_json(const Json& json, const std::string& what, bool& value) {
  if (json.is_null()) return;  // the default
  if (!json.is_boolean()) wrong(what, "true or false", json);
  value = json.get<bool>();
}
void from_json(const Json& json, const std::string& what, std::int64_t& value) {
  if (json.is_null()) return;  // the default
  if (!json.is_number_integer() ||
      (json.is_number_unsigned() && json.get<std::uint64_t>() > kMostInteger)) {
    wrong(what, "a whole number", json);
  }
  value = json.get<std::int64_t>();
}
void from_json(const Json& json, const std::string& what, int& value) {
  if (json.is_null()) return;  // the default
  std::int64_t wide = 0;
  from_json(json, what, wide);
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    wrong(what, "a small whole number", json);
  }
  value = static_cast<int>(wide);
}
void from_json(const Json& json, const std::string& what, double& value) {
  if (json.is_null()) return;  // the default
  if (!json.is_number()) wrong(what, "a number", json);
  value = json.get<double>();
}
void from_json(const Json& json, const std::string& what, std::string& value) {
  if (json.is_null()) return;  // the default
  if (!json.is_string()) wrong(what, "text", json);
  value = json.get<std::string>();
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
  // Keras 3 writes a policy.
  if (json.is_object()) {
    const Json config = json.value("config", Json::object());
    if (!config.is_object() || !config.contains("name")) wrong(what, "a dtype", json);
    from_json(config["name"], what, value);
    return;
  }
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
void from_json(const Json& json, const std::string& what, ActivationFn& value) {
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
  part_from_json(json, what, value, initializer_from);
}
void from_json(const Json& json, const std::string& what, Regularizer& value) {
  part_from_json(json, what, value, regularizer_from);
}
void from_json(const Json& json, const std::string& what, Constraint& value) {
  part_from_json(json, what, value, constraint_from);
}
void from_json(const Json& json, const std::string& what, std::optional<Layer>& value) {
  if (json.is_null()) {
    value.reset();
    return;
  }
  if (!json.is_object() || !json.contains("class_name") || !json["class_name"].is_string() ||
      !json.contains("config") || !json["config"].is_object()) {
    wrong(what, "a layer: an object with class_name and config", json);
  }
  value = layer_from_json(json["class_name"].get<std::string>(), json["config"]);
}
void from_json(const Json& json, const std::string& what, std::vector<Layer>& value) {
  if (!json.is_array()) wrong(what, "a list of layers", json);
  value.clear();
  for (const Json& each : json) {
    std::optional<Layer> layer;
    from_json(each, what, layer);
    if (!layer) wrong(what, "a list of layers", json);
    value.push_back(*layer);
  }
}

}  // namespace tenure::nn::detail
