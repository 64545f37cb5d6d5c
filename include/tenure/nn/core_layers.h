// Dense, activations, and layers that shape, mask, look up or compute something of your own.
//
//   nn::Sequential model({nn::Dense({.units = 64, .activation = "relu", .input_shape = {10}}),
//                         nn::Dropout({.rate = 0.5}), nn::Dense({.units = 1})});
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <string>

#include "tenure/export.h"
#include "tenure/nn/layer.h"

// The settings that every layer has. They come last, so that they can follow the layer's own.
#define TENURE_LAYER_FIELDS     \
  std::string name = {};        \
  bool trainable = true;        \
  Shape input_shape = {};       \
  Shape batch_input_shape = {}; \
  DType dtype = DType::float32

namespace tenure::nn {

struct DenseOptions {
  std::int64_t units = 0;
  ActivationFn activation = {};
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  TENURE_LAYER_FIELDS;
};
// activation(x kernel + bias), along the last axis.
class TENURE_API Dense : public Layer {
 public:
  explicit Dense(DenseOptions options, std::source_location site = std::source_location::current());
};

}  // namespace tenure::nn
