// The settings of layers (nn/fields.h), and settings as JSON in Keras's schema. Files that look
// into JSON themselves include its header; the others need not.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "nn/fields.h"
#include "nn/layer_state.h"
#include "tenure/nn/layer.h"

namespace tenure::nn {
class Loss;
class Metric;
class Optimizer;
class Schedule;
}  // namespace tenure::nn

namespace tenure::nn::detail {

void common_fields(Fields& visit, std::string& name, bool& trainable, DTypePolicy& dtype,
                   const Shape& input_shape, Shape& batch_input_shape);

// The settings that every layer has, and this one's.
template <class O>
void layer_fields(Fields& visit, O& o) {
  common_fields(visit, o.name, o.trainable, o.dtype, o.input_shape, o.batch_input_shape);
  fields(visit, o);
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
    return written([&](Fields& visit) { layer_fields(visit, options); });
  }

 protected:
  const O options_;
};

// A handle class's constructor, for the table of layers (nn/registry.cpp).
using LayerRow = Row<Layer>;
template <class L, class O>
Layer make_layer(Fields& settings) {
  O options;
  layer_fields(settings, options);
  return L(std::move(options));
}
const LayerRow* find_layer(const std::string& class_name);  // or null
std::vector<std::string> layer_names();                     // of those that have a class
// One that the user registered; `config` is a JSON object.
Layer make_registered_layer(const std::string& class_name, const std::string& config);
Layer copy_of(const Layer& layer);  // another with the same settings

using Json = nlohmann::ordered_json;

// `owner` is named in errors.
class ConfigReader final : public Fields {
 public:
  ConfigReader(const Json& json, std::string owner) : json_(json), owner_(std::move(owner)) {}
  void need(std::initializer_list<const char*> keys) const override;

 private:
  void visit(const char* key, const Field& field) override;
  const Json& json_;
  std::string owner_;
};

// A name, or an object with class_name and config.
Optimizer optimizer_from_json(const Json& json);
Schedule schedule_from_json(const Json& json);
Loss loss_from_json(const Json& json);
Metric metric_from_json(const Json& json);
Layer layer_from_json(const std::string& class_name, const Json& config);
Layer layer_from_json(const Json& json, const std::string& what);  // `what` is named in errors

// {"class_name": ..., "config": {...}}; an UnsupportedError for a function of the user's.
Json to_json(const Layer& layer);
Json to_json(const Schedule& schedule);
Json to_json(const Optimizer& optimizer);
Json to_json(const Loss& loss);
Json to_json(const Metric& metric);
Json to_json(const Shape& shape);  // null for kAny

}  // namespace tenure::nn::detail
