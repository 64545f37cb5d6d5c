#include "io/tfjs_dialect.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/raise.h"
#include "nn/fields.h"

namespace tenure::io {

namespace {

constexpr std::string_view kNoLayers[] = {
    "AdditiveAttention",
    "Attention",
    "Conv1DTranspose",
    "Cropping1D",
    "Cropping3D",
    "DepthwiseConv1D",
    "Discretization",
    "EinsumDense",
    "GlobalMaxPooling3D",
    "GroupNormalization",
    "GroupedQueryAttention",
    "GlobalAveragePooling3D",
    "Identity",
    "Lambda",
    "MultiHeadAttention",
    "Normalization",
    "RMSNormalization",
    "RandomBrightness",
    "RandomContrast",
    "RandomCrop",
    "RandomFlip",
    "RandomRotation",
    "RandomTranslation",
    "RandomZoom",
    "SeparableConv1D",
    "SpatialDropout2D",
    "SpatialDropout3D",
    "SpectralNormalization",
    "Subtract",
    "UnitNormalization",
    "UpSampling1D",
    "UpSampling3D",
    "ZeroPadding1D",
    "ZeroPadding3D",
};
constexpr std::string_view kNoActivations[] = {
    "celu",       "exponential", "glu",        "hard_shrink", "hard_sigmoid",   "hard_silu",
    "hard_swish", "hard_tanh",   "leaky_relu", "log_sigmoid", "sparse_sigmoid", "soft_shrink",
    "sparsemax",  "sparse_plus", "squareplus", "tanh_shrink"};
constexpr std::string_view kGated[] = {"GRU",      "GRUCell",    "LSTM",
                                       "LSTMCell", "ConvLSTM2D", "ConvLSTM2DCell"};
constexpr const char* kOldSigmoid = "hard_sigmoid_keras2";

bool is_one_of(const Json& name, std::span<const std::string_view> names) {
  return name.is_string() &&
         std::ranges::find(names, name.get_ref<const std::string&>()) != names.end();
}

bool is_activation(std::string_view key) {
  return key == "activation" || key == "recurrent_activation";
}

void translate_activation(Json& value) {
  Json& name = value.is_object() && value.contains("class_name") ? value["class_name"] : value;
  if (name.is_string() && nn::detail::plain_name(name.get<std::string>()) == "hardsigmoid") {
    name = kOldSigmoid;
  }
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
  if (name == "LeakyReLU") {
    config["alpha"] = config["negative_slope"];
    config.erase("negative_slope");
  } else if (name == "L1") {
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

void from_keras_2(Json& json) {
  if (!json.is_structured()) return;
  if (json.is_object()) {
    const auto class_name = json.find("class_name");
    const auto config = json.find("config");
    if (class_name != json.end() && config != json.end() && config->is_object() &&
        is_one_of(*class_name, kGated) && !config->contains("recurrent_activation")) {
      (*config)["recurrent_activation"] = kOldSigmoid;
    }
    for (auto& [key, value] : json.items()) {
      if (is_activation(key)) translate_activation(value);
    }
  }
  for (Json& each : json) from_keras_2(each);
}

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
    if (is_activation(key)) {
      if (value == "silu") value = "swish";
      if (is_one_of(value, kNoActivations)) {
        raise<UnsupportedError>("TensorFlow.js has no activation \"{}\"", value.get<std::string>());
      }
      if (value == kOldSigmoid) value = "hard_sigmoid";
    }
    to_tfjs(value);
  }
}

}  // namespace tenure::io
