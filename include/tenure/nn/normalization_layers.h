// Normalisation: by the batch, by the example, by groups of channels, by length; of weights.
//
//   nn::Sequential model({nn::Dense({.units = 8}), nn::BatchNormalization()});
#pragma once

#include <cstdint>
#include <source_location>

#include "tenure/nn/core_layers.h"

namespace tenure::nn {

struct BatchNormalizationOptions {
  int axis = -1;  // of the features
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true;  // adds beta
  bool scale = true;   // multiplies by gamma
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Initializer moving_mean_initializer = "zeros";
  Initializer moving_variance_initializer = "ones";
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  Constraint beta_constraint = {};
  Constraint gamma_constraint = {};
  TENURE_LAYER_FIELDS;
};
// In training by the batch's own mean and variance, which then move the averages by 1 - momentum of
// the way; otherwise, and where the layer is not trainable, by those averages.
TENURE_LAYER(BatchNormalization, BatchNormalizationOptions);

struct LayerNormalizationOptions {
  AxisList axis = -1;  // over which each example is normalised; gamma and beta have their sizes
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  Constraint beta_constraint = {};
  Constraint gamma_constraint = {};
  TENURE_LAYER_FIELDS;
};
TENURE_LAYER(LayerNormalization, LayerNormalizationOptions);

struct GroupNormalizationOptions {
  std::int64_t groups = 32;  // -1: one per channel
  int axis = -1;             // of the channels
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = "zeros";
  Initializer gamma_initializer = "ones";
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  Constraint beta_constraint = {};
  Constraint gamma_constraint = {};
  TENURE_LAYER_FIELDS;
};
// The channels of each example in groups, each by its own mean and variance over all other axes.
TENURE_LAYER(GroupNormalization, GroupNormalizationOptions);

struct RMSNormalizationOptions {
  AxisList axis = -1;
  double epsilon = 1e-6;
  TENURE_LAYER_FIELDS;
};
// Each example by the root of its mean square over the axes, times a scale that is learned and has
// their sizes.
TENURE_LAYER(RMSNormalization, RMSNormalizationOptions);

struct UnitNormalizationOptions {
  AxisList axis = -1;
  TENURE_LAYER_FIELDS;
};
// Divided by the length over the axes.
TENURE_LAYER(UnitNormalization, UnitNormalizationOptions);

struct SpectralNormalizationOptions {
  std::int64_t power_iterations = 1;
  TENURE_LAYER_FIELDS;
};
// A layer with a kernel, or embeddings, which each call in training divides by its largest singular
// value; that is estimated a little better each time. So in a frozen one, as in Keras.
class TENURE_API SpectralNormalization : public Layer {
 public:
  explicit SpectralNormalization(Layer layer, SpectralNormalizationOptions options = {},
                                 std::source_location site = std::source_location::current());
};

}  // namespace tenure::nn
