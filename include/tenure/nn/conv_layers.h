// Convolutions. Inputs are [batch, axes..., channels], or with "channels_first"
// [batch, channels, axes...].
//
//   nn::Conv2D({.filters = 32, .kernel_size = 3, .padding = "same", .activation = "relu"});
//
// kernel_size, strides, dilation_rate and output_padding are one number for all axes, or one for
// each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tenure/nn/core_layers.h"

namespace tenure::nn {

struct ConvLayerOptions {
  std::int64_t filters = 0;
  Sizes kernel_size = {};
  Sizes strides = 1;
  std::string padding = "valid";  // "same", or "causal" (Conv1D): no step sees a later one
  std::string data_format = "channels_last";
  Sizes dilation_rate = 1;
  std::int64_t groups = 1;  // of channels, each convolved by itself
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
TENURE_LAYER(Conv1D, ConvLayerOptions);
TENURE_LAYER(Conv2D, ConvLayerOptions);
TENURE_LAYER(Conv3D, ConvLayerOptions);

struct ConvTransposeOptions {
  std::int64_t filters = 0;
  Sizes kernel_size = {};
  Sizes strides = 1;
  std::string padding = "valid";  // or "same"
  Sizes output_padding = {};      // added to the smaller of the sizes that are possible
  std::string data_format = "channels_last";
  Sizes dilation_rate = 1;
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
// What undoes a convolution's shape.
TENURE_LAYER(Conv1DTranspose, ConvTransposeOptions);
TENURE_LAYER(Conv2DTranspose, ConvTransposeOptions);
TENURE_LAYER(Conv3DTranspose, ConvTransposeOptions);

struct DepthwiseConvOptions {
  Sizes kernel_size = {};
  Sizes strides = 1;
  std::string padding = "valid";  // "same", or "causal" (DepthwiseConv1D)
  std::int64_t depth_multiplier = 1;
  std::string data_format = "channels_last";
  Sizes dilation_rate = 1;
  ActivationFn activation = {};
  bool use_bias = true;
  Initializer depthwise_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer depthwise_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint depthwise_constraint = {};
  Constraint bias_constraint = {};
  TENURE_LAYER_FIELDS;
};
// Each channel by itself, depth_multiplier times.
TENURE_LAYER(DepthwiseConv1D, DepthwiseConvOptions);
TENURE_LAYER(DepthwiseConv2D, DepthwiseConvOptions);

struct SeparableConvOptions {
  std::int64_t filters = 0;
  Sizes kernel_size = {};
  Sizes strides = 1;
  std::string padding = "valid";  // "same", or "causal" (SeparableConv1D)
  std::string data_format = "channels_last";
  Sizes dilation_rate = 1;
  std::int64_t depth_multiplier = 1;
  ActivationFn activation = {};
  bool use_bias = true;
  Initializer depthwise_initializer = "glorot_uniform";
  Initializer pointwise_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer depthwise_regularizer = {};
  Regularizer pointwise_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint depthwise_constraint = {};
  Constraint pointwise_constraint = {};
  Constraint bias_constraint = {};
  TENURE_LAYER_FIELDS;
};
// Each channel by itself, then what each place has in its channels.
TENURE_LAYER(SeparableConv1D, SeparableConvOptions);
TENURE_LAYER(SeparableConv2D, SeparableConvOptions);

}  // namespace tenure::nn
