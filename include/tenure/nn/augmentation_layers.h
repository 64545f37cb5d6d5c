// Layers that vary images at random in training, and give them as they are otherwise. Images are
// [batch, height, width, channels], or without the batch; each is varied by itself. What comes out
// has the layer's dtype.
//
//   nn::Sequential vary({nn::RandomFlip({.mode = "horizontal"}), nn::RandomRotation({.factor =
//   0.1})}); Tensor more = vary(images, {.training = true});
//
// With a seed, a layer draws from a sequence of its own, as Dropout does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "tenure/nn/core_layers.h"

namespace tenure::nn {

// How far something may vary: from lower to upper, or as much either way.
class Factor {
 public:
  Factor(double both) : lower_(-both), upper_(both), is_one_(true) {}
  Factor(double lower, double upper) : lower_(lower), upper_(upper) {}
  double lower() const { return lower_; }
  double upper() const { return upper_; }
  bool is_one() const { return is_one_; }

 private:
  double lower_, upper_;
  bool is_one_ = false;
};

struct RandomFlipOptions {
  std::string mode = "horizontal_and_vertical";  // or "horizontal", "vertical"
  std::optional<std::int64_t> seed = {};
  std::string data_format = "channels_last";  // or "channels_first"
  TENURE_LAYER_FIELDS;
};
TENURE_LAYER(RandomFlip, RandomFlipOptions);

struct RandomRotationOptions {
  Factor factor = 0;                       // parts of a full turn; above 0: counterclockwise
  std::string fill_mode = "reflect";       // of what comes in: or "constant", "wrap", "nearest"
  std::string interpolation = "bilinear";  // or "nearest"
  std::optional<std::int64_t> seed = {};
  double fill_value = 0;  // for "constant"
  std::string data_format = "channels_last";
  TENURE_LAYER_FIELDS;
};
TENURE_LAYER(RandomRotation, RandomRotationOptions);

struct RandomZoomOptions {
  Factor height_factor = 0;                 // parts of the height; above 0: smaller
  std::optional<Factor> width_factor = {};  // default: as much as the height
  std::string fill_mode = "reflect";
  std::string interpolation = "bilinear";
  std::optional<std::int64_t> seed = {};
  double fill_value = 0;
  std::string data_format = "channels_last";
  TENURE_LAYER_FIELDS;
};
TENURE_LAYER(RandomZoom, RandomZoomOptions);

struct RandomTranslationOptions {
  Factor height_factor = 0;  // parts of the height; above 0: down
  Factor width_factor = 0;   // parts of the width; above 0: to the right
  std::string fill_mode = "reflect";
  std::string interpolation = "bilinear";
  std::optional<std::int64_t> seed = {};
  double fill_value = 0;
  std::string data_format = "channels_last";
  TENURE_LAYER_FIELDS;
};
TENURE_LAYER(RandomTranslation, RandomTranslationOptions);

struct RandomCropOptions {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::optional<std::int64_t> seed = {};
  std::string data_format = "channels_last";
  TENURE_LAYER_FIELDS;
};
// In training a part of the images, the same of all in a batch. Otherwise, and where they are too
// small, the largest part in the middle that has the aspect ratio, resized.
TENURE_LAYER(RandomCrop, RandomCropOptions);

struct RandomContrastOptions {
  Factor factor = 0;  // f, or {lower, upper}: by 1 - f to 1 + f, or by 1 - lower to 1 + upper
  std::pair<double, double> value_range = {0, 255};  // beyond which nothing comes out
  std::optional<std::int64_t> seed = {};
  std::string data_format = "channels_last";
  TENURE_LAYER_FIELDS;
};
// Moves each channel of an image away from its mean, or towards it.
TENURE_LAYER(RandomContrast, RandomContrastOptions);

struct RandomBrightnessOptions {
  Factor factor = 0;  // parts of the value_range; above 0: brighter
  std::pair<double, double> value_range = {0, 255};
  std::optional<std::int64_t> seed = {};
  TENURE_LAYER_FIELDS;
};
TENURE_LAYER(RandomBrightness, RandomBrightnessOptions);

}  // namespace tenure::nn
