// Activations with settings or weights of their own. For others there is nn::Activation.
//
//   nn::Sequential model({nn::Dense({.units = 8}), nn::LeakyReLU({.negative_slope = 0.1})});
#pragma once

#include <optional>

#include "tenure/nn/core_layers.h"

namespace tenure::nn {

struct ReLUOptions {
  std::optional<double> max_value = {};
  double negative_slope = 0;
  double threshold = 0;
  TENURE_LAYER_FIELDS;
};
// x above the threshold, but max_value at most; negative_slope * (x - threshold) below it.
TENURE_LAYER(ReLU, ReLUOptions);

struct LeakyReLUOptions {
  double negative_slope = 0.3;
  TENURE_LAYER_FIELDS;
};
// x, or negative_slope * x below zero.
TENURE_LAYER(LeakyReLU, LeakyReLUOptions);

struct PReLUOptions {
  Initializer alpha_initializer = "zeros";
  Regularizer alpha_regularizer = {};
  Constraint alpha_constraint = {};
  AxisList shared_axes = {};  // along which there is one alpha for all; the batch is axis 0
  TENURE_LAYER_FIELDS;
};
// x, or alpha x below zero, with an alpha for each place that is learned.
TENURE_LAYER(PReLU, PReLUOptions);

struct ELUOptions {
  double alpha = 1;
  TENURE_LAYER_FIELDS;
};
// x, or alpha (exp(x) - 1) below zero.
TENURE_LAYER(ELU, ELUOptions);

struct ThresholdedReLUOptions {
  double theta = 1;
  TENURE_LAYER_FIELDS;
};
// x above theta, else zero.
TENURE_LAYER(ThresholdedReLU, ThresholdedReLUOptions);

struct SoftmaxOptions {
  AxisList axis = -1;  // over which the results add up to 1
  TENURE_LAYER_FIELDS;
};
// What a mask of the input's shape leaves out gets 0.
TENURE_LAYER(Softmax, SoftmaxOptions);

}  // namespace tenure::nn
