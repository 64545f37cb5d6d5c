// Normalisation: by the batch, by the example, by groups of channels.
//
//   nn::Sequential model({nn::Dense({.units = 8}), nn::BatchNormalization()});
#pragma once

#include <cstdint>

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
  Axes axis = {-1};  // over which each example is normalised; gamma and beta have their sizes
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

}  // namespace tenure::nn
