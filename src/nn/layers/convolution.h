// What the convolution layers share.
#pragma once

#include "nn/layers/common.h"
#include "tenure/conv.h"
#include "tenure/math.h"
#include "tenure/nn/conv_layers.h"

namespace tenure::nn::detail {

// Checks the settings that they have in common, and gives every axis its number.
template <class O>
O checked_convolution(const char* name, O o, int axes) {
  if (o.kernel_size.rank() == 0) raise<ValueError>("{}: no kernel_size was given", name);
  o.kernel_size = per_axis(name, "kernel_size", o.kernel_size, axes);
  o.strides = per_axis(name, "strides", o.strides, axes);
  o.dilation_rate = per_axis(name, "dilation_rate", o.dilation_rate, axes);
  if constexpr (requires { o.filters; }) {
    if (o.filters < 1) raise<ValueError>("{}: filters must be positive: {}", name, o.filters);
  }
  if constexpr (requires { o.depth_multiplier; }) {
    if (o.depth_multiplier < 1) {
      raise<ValueError>("{}: depth_multiplier must be positive: {}", name, o.depth_multiplier);
    }
  }
  return o;
}

// How the operation is called.
template <class O>
ConvOptions convolution_options(const char* name, const O& o, bool takes_causal) {
  ConvOptions how;
  how.strides = o.strides;
  how.dilations = o.dilation_rate;
  how.channels_first = is_channels_first(name, o.data_format);
  if (takes_causal && o.padding == "causal") {
    how.padding = Padding({{o.dilation_rate[0] * (o.kernel_size[0] - 1), 0}});
  } else {
    how.padding = padding_named(name, o.padding);
  }
  if constexpr (requires { o.groups; }) how.groups = o.groups;
  return how;
}

// The size of the channels, which must be known.
std::int64_t channels_of(const Shape& input, int axes, bool channels_first);

// activation(y + bias), where there is one.
template <class O>
Tensor with_bias(Tensor y, const Variable& bias, const O& o, bool channels_first,
                 const Call& call) {
  if (bias.defined() && channels_first) {
    Shape shape = Shape::filled(y.rank() - 1, 1);
    shape[0] = bias.shape()[0];
    y = std::move(y) + reshape(bias, shape);
  } else if (bias.defined()) {
    y = std::move(y) + bias;
  }
  y = o.activation(std::move(y));
  add_activity_loss(call, o.activity_regularizer, y);
  return y;
}

}  // namespace tenure::nn::detail
