#include "io/tfjs_dialect.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/raise.h"

namespace tenure::io {

namespace {

constexpr std::string_view kNoLayers[] = {
    "AdditiveAttention",
    "Attention",
    "Conv1DTranspose",
    "Cropping1D",
    "Cropping3D",
    "DepthwiseConv1D",
    "GlobalMaxPooling3D",
    "GroupNormalization",
    "GlobalAveragePooling3D",
    "Lambda",
    "MultiHeadAttention",
    "SeparableConv1D",
    "SpatialDropout2D",
    "SpatialDropout3D",
    "Subtract",
    "UpSampling1D",
    "UpSampling3D",
    "ZeroPadding1D",
    "ZeroPadding3D",
};
constexpr std::string_view kNoActivations[] = {"exponential", "leaky_relu", "log_sigmoid"};

bool is_one_of(const Json& name, std::span<const std::string_view> names) {
  return name.is_string() &&
         std::ranges::find(names, name.get_ref<const std::string&>()) != names.end();
}

void translate_object(Json& json) {
  const Json& name = json["class_name"];
  Json& config = json["config"];
  if (is_one_of(name, kNoLayers)) {
    raise<UnsupportedError>("TensorFlow.js has no layer {} (\"{}\")", name.get<std::string>(),
                            config.value("name", std::string()));
  }
  if ((name == "GRU" || name == "GRUCell") && config.value("reset_after", false)) {
    raise<UnsupportedError>("TensorFlow.js has no GRU with reset_after = true (\"{}\")",
                            config.value("name", std::string()));
  }
  if (name == "L1") {
    json["class_name"] = "L1L2";
    config["l2"] = 0.0;
  } else if (name == "L2") {
    json["class_name"] = "L1L2";
    config["l1"] = 0.0;
  } else if (name == "LecunNormal") {
    json["class_name"] = "LeCunNormal";
  } else if (name == "LecunUniform") {
    json["class_name"] = "LeCunUniform";
  }
}

}  // namespace

void to_tfjs(Json& json) {
  if (json.is_array()) {
    for (Json& each : json) to_tfjs(each);
    return;
  }
  if (!json.is_object()) return;
  const auto config = json.find("config");
  if (json.contains("class_name") && config != json.end() && config->is_object()) {
    translate_object(json);
  }
  for (auto& [key, value] : json.items()) {
    if (key == "activation" || key == "recurrent_activation") {
      if (value == "silu") value = "swish";
      if (is_one_of(value, kNoActivations)) {
        raise<UnsupportedError>("TensorFlow.js has no activation \"{}\"", value.get<std::string>());
      }
    }
    to_tfjs(value);
  }
}

}  // namespace tenure::io
