// Layers that do something in training only: noise, and terms of the loss.
//
//   nn::Sequential model({nn::Dense({.units = 64}), nn::Dropout({.rate = 0.5})});
//
// Noise is drawn from set_seed's sequence. The seed of a layer begins a sequence of the layer's
// own: each call draws other noise, and a layer with the same seed draws the same, call for call.
#pragma once

#include <cstdint>
#include <optional>

#include "tenure/nn/core_layers.h"

namespace tenure::nn {

struct DropoutLayerOptions {
  double rate = 0;
  std::optional<Shape> noise_shape = {};  // broadcasts to the input's; kAny: as the input's
  std::optional<std::int64_t> seed = {};
  TENURE_LAYER_FIELDS;
};
// Zeroes elements with probability `rate` and multiplies the others by 1 / (1 - rate).
TENURE_LAYER(Dropout, DropoutLayerOptions);
// The same such that inputs of mean 0 and variance 1 keep them: for SELU.
TENURE_LAYER(AlphaDropout, DropoutLayerOptions);

struct SpatialDropoutOptions {
  double rate = 0;
  std::string data_format = "channels_last";  // or "channels_first"; not for SpatialDropout1D
  std::optional<std::int64_t> seed = {};
  TENURE_LAYER_FIELDS;
};
// Zeroes whole channels.
TENURE_LAYER(SpatialDropout1D, SpatialDropoutOptions);
TENURE_LAYER(SpatialDropout2D, SpatialDropoutOptions);
TENURE_LAYER(SpatialDropout3D, SpatialDropoutOptions);

struct GaussianDropoutOptions {
  double rate = 0;
  std::optional<std::int64_t> seed = {};
  TENURE_LAYER_FIELDS;
};
// Multiplies by noise of mean 1 and deviation sqrt(rate / (1 - rate)).
TENURE_LAYER(GaussianDropout, GaussianDropoutOptions);

struct GaussianNoiseOptions {
  double stddev = 0;
  std::optional<std::int64_t> seed = {};
  TENURE_LAYER_FIELDS;
};
// Adds noise of mean 0.
TENURE_LAYER(GaussianNoise, GaussianNoiseOptions);

struct ActivityRegularizationOptions {
  double l1 = 0;
  double l2 = 0;
  TENURE_LAYER_FIELDS;
};
// Gives its input, and adds l1 sum |x| + l2 sum x^2, per example, to the loss.
TENURE_LAYER(ActivityRegularization, ActivityRegularizationOptions);

}  // namespace tenure::nn
