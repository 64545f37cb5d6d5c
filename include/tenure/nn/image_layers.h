// Layers that prepare inputs: images, [batch, height, width, channels] or without the batch, and
// categories.
//
//   nn::Rescaling({.scale = 1.0 / 255});   nn::Resizing({.height = 224, .width = 224});
#pragma once

#include <cstdint>
#include <string>

#include "tenure/nn/core_layers.h"

namespace tenure::nn {

struct RescalingOptions {
  double scale = 1;
  double offset = 0;
  TENURE_LAYER_FIELDS;
};
// x * scale + offset, in the layer's dtype.
TENURE_LAYER(Rescaling, RescalingOptions);

struct ResizingOptions {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::string interpolation = "bilinear";  // or "nearest"
  bool crop_to_aspect_ratio = false;       // cuts what would be squeezed, on both sides
  TENURE_LAYER_FIELDS;
};
TENURE_LAYER(Resizing, ResizingOptions);

struct CenterCropOptions {
  std::int64_t height = 0;
  std::int64_t width = 0;
  TENURE_LAYER_FIELDS;
};
// The middle of each image; one that is too small is resized, with the aspect ratio kept.
TENURE_LAYER(CenterCrop, CenterCropOptions);

struct CategoryEncodingOptions {
  std::int64_t num_tokens = 0;
  std::string output_mode = "multi_hot";  // "one_hot": a row per index; "count": how often
  TENURE_LAYER_FIELDS;
};
// Indices, [batch, n] or [n], as rows of num_tokens; one out of range is a ValueError. "count"
// takes weights as a second input.
TENURE_LAYER(CategoryEncoding, CategoryEncodingOptions);

}  // namespace tenure::nn
