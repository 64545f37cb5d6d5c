// A layer's settings as JSON in Keras's schema, from one list of fields per options struct:
//
//   template <class V>
//   void fields(V& visit, DenseOptions& o) {
//     visit("units", o.units);
//     visit("activation", o.activation);
//   }
//
// ConfigWriter and ConfigReader are two such visitors. A field that a file lacks keeps its default;
// one of the wrong kind is a ValueError that names it.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "nn/layer_state.h"
#include "tenure/nn/layer.h"

namespace tenure::nn::detail {

using Json = nlohmann::ordered_json;

Json to_json(bool value);
Json to_json(std::int64_t value);
Json to_json(int value);
Json to_json(double value);
Json to_json(const std::string& value);
Json to_json(const Shape& value);  // null for kAny
Json to_json(DType value);
Json to_json(const ActivationFn& value);
Json to_json(const Initializer& value);
Json to_json(const Regularizer& value);
Json to_json(const Constraint& value);
Json to_json(const Layer& value);  // {"class_name": ..., "config": {...}}
Json to_json(const std::vector<Layer>& value);
template <class T>
Json to_json(const std::optional<T>& value) {
  return value ? to_json(*value) : Json(nullptr);
}

// `what` names the field in errors.
void from_json(const Json& json, const std::string& what, bool& value);
void from_json(const Json& json, const std::string& what, std::int64_t& value);
void from_json(const Json& json, const std::string& what, int& value);
void from_json(const Json& json, const std::string& what, double& value);
void from_json(const Json& json, const std::string& what, std::string& value);
void from_json(const Json& json, const std::string& what, Shape& value);
void from_json(const Json& json, const std::string& what, DType& value);
void from_json(const Json& json, const std::string& what, ActivationFn& value);
void from_json(const Json& json, const std::string& what, Initializer& value);
void from_json(const Json& json, const std::string& what, Regularizer& value);
void from_json(const Json& json, const std::string& what, Constraint& value);
void from_json(const Json& json, const std::string& what, std::optional<Layer>& value);
void from_json(const Json& json, const std::string& what, std::vector<Layer>& value);
template <class T>
void from_json(const Json& json, const std::string& what, std::optional<T>& value) {
  if (json.is_null()) {
    value.reset();
    return;
  }
  T read{};
  from_json(json, what, read);
  value = std::move(read);
}

class ConfigWriter {
 public:
  template <class T>
  void operator()(const char* key, const T& value) {
    json_[key] = to_json(value);
  }
  Json take() { return std::move(json_); }

 private:
  Json json_ = Json::object();
};

class ConfigReader {
 public:
  ConfigReader(const Json& json, std::string owner) : json_(json), owner_(std::move(owner)) {}
  template <class T>
  void operator()(const char* key, T& value) {
    const auto found = json_.find(key);
    if (found != json_.end()) from_json(*found, owner_ + ": " + key, value);
  }

 private:
  const Json& json_;
  std::string owner_;
};

// The settings that every layer has.
template <class V, class O>
void common_fields(V& visit, O& o) {
  visit("name", o.name);
  visit("trainable", o.trainable);
  visit("dtype", o.dtype);
  if constexpr (std::is_same_v<V, ConfigReader>) {
    visit("batch_input_shape", o.batch_input_shape);
    visit("batch_shape", o.batch_input_shape);
  } else if (o.batch_input_shape.rank() > 0) {
    visit("batch_input_shape", o.batch_input_shape);
  } else if (o.input_shape.rank() > 0) {
    Shape batch{kAny};
    for (const std::int64_t size : o.input_shape) batch.push_back(size);
    visit("batch_input_shape", batch);
  }
}

template <class O>
LayerOptions common_options(const O& o) {
  return {o.name, o.trainable, o.input_shape, o.batch_input_shape, o.dtype};
}

// A built-in layer: its options, written and read through fields(visit, options).
template <class O, class Base = LayerBase>
class ConfiguredLayer : public Base {
 public:
  explicit ConfiguredLayer(O options)
      : Base(common_options(options)), options_(std::move(options)) {}
  std::string config() const override {
    O options = options_;
    options.name = this->name();
    options.trainable = this->trainable();
    ConfigWriter writer;
    common_fields(writer, options);
    fields(writer, options);
    return writer.take().dump();
  }

 protected:
  const O options_;
};

// A handle class's constructor, from JSON: for the table of layers (nn/registry.cpp).
template <class L, class O>
Layer layer_from_json(const Json& json) {
  O options;
  ConfigReader reader(json, json.value("name", std::string("layer")));
  common_fields(reader, options);
  fields(reader, options);
  return L(std::move(options));
}

// A row of the table of layers that files may name.
struct LayerRow {
  const char* class_name;
  Layer (*make)(const Json& config);
};
Layer layer_from_json(const std::string& class_name, const Json& config);

}  // namespace tenure::nn::detail
