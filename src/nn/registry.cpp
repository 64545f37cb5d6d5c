// The layers that a file may name.
#include <map>
#include <mutex>

#include "core/raise.h"
#include "memory/fork.h"
#include "nn/input_layer.h"
#include "nn/layers/rows.h"

namespace tenure::nn {

namespace {

struct RegisteredLayers {
  tenure::detail::ProcessMutex mutex;
  std::map<std::string, std::function<Layer(const std::string&)>> makers;
};
RegisteredLayers& registered_layers() {
  static RegisteredLayers layers;
  return layers;
}

}  // namespace

void register_layer(const std::string& class_name,
                    std::function<Layer(const std::string& config)> make,
                    std::source_location site) {
  tenure::detail::check_function("register_layer", make, site);
  const std::lock_guard lock(registered_layers().mutex);
  registered_layers().makers[class_name].swap(make);  // the one before goes without the lock
}

namespace detail {

namespace {

constexpr auto kFamilies = {activation_layers,    attention_layers,
                            augmentation_layers,  convolution_layers,
                            core_layers,          depthwise_convolution_layers,
                            einsum_layers,        grouped_attention_layers,
                            image_layers,         merge_layers,
                            normalization_layers, operation_layers,
                            pooling_layers,       preprocessing_layers,
                            recurrent_layers,     regularization_layers,
                            reshaping_layers,     spectral_normalization_layers,
                            wrapper_layers};

}  // namespace

std::vector<std::string> layer_names() {
  std::vector<std::string> names;
  for (const auto family : kFamilies) {
    for (const LayerRow& row : family()) names.emplace_back(row.name);
  }
  return names;
}

const LayerRow* find_layer(const std::string& class_name) {
  static constexpr LayerRow input{"InputLayer", input_layer};
  if (class_name == input.name) return &input;
  for (const auto family : kFamilies) {
    for (const LayerRow& row : family()) {
      if (class_name == row.name) return &row;
    }
  }
  return nullptr;
}

Layer make_registered_layer(const std::string& class_name, const std::string& config) {
  std::function<Layer(const std::string&)> make;
  {
    const std::lock_guard lock(registered_layers().mutex);
    const auto maker = registered_layers().makers.find(class_name);
    if (maker != registered_layers().makers.end()) make = maker->second;
  }
  if (!make) {
    raise<UnsupportedError>(
        "no layer is called \"{}\": if it is one of your own, register_layer it first", class_name);
  }
  return make(config);
}

}  // namespace detail
}  // namespace tenure::nn
