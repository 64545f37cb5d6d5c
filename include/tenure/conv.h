// Convolutions, their gradients, and convolutions with bias and activation in one pass.
//
// Inputs are [batch, axes..., channels], or [axes..., channels] for a single one, where `axes` is
// one, two or three axes; with `channels_first` the channels stand before the axes. The filter is
// [axes..., channels in, channels out] either way. Padding takes part as zeros. Kernels work with
// channels last: with `channels_first` an input is copied unless it is a transposed view, and so is
// every result.
//
//   tenure::Tensor y = tenure::conv2d(x, w, {.strides = {2}, .padding = Padding::same});
//   tenure::Tensor z = tenure::fused_conv2d(x, w, {.bias = b, .activation = Activation::relu});
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>

#include "tenure/activation.h"
#include "tenure/export.h"
#include "tenure/linalg.h"
#include "tenure/shape.h"
#include "tenure/tensor.h"
#include "tenure/window.h"

namespace tenure {

struct ConvOptions {
  Shape strides = {};  // one for all axes or one for each; default: 1
  Padding padding = Padding::valid;
  Shape dilations = {};                // between a window's elements; default: 1
  Rounding rounding = Rounding::down;  // not for `same`
  std::int64_t groups = 1;  // of channels, each convolved by itself; not for depthwise ones
  bool channels_first = false;
};

TENURE_API Tensor conv1d(Arg x, Arg filter, const ConvOptions& options = {});
TENURE_API Tensor conv2d(Arg x, Arg filter, const ConvOptions& options = {});
TENURE_API Tensor conv3d(Arg x, Arg filter, const ConvOptions& options = {});

// Each channel by itself. The filter is [h, w, channels, multiplier]; channel c gives the channels
// c * multiplier, c * multiplier + 1, ... of the result.
TENURE_API Tensor depthwise_conv2d(Arg x, Arg filter, const ConvOptions& options = {});
// A depthwise convolution, then one with `pointwise`, [1, 1, channels * multiplier, channels out].
TENURE_API Tensor separable_conv2d(Arg x, Arg depthwise, Arg pointwise,
                                   const ConvOptions& options = {});

// What undoes a convolution's shape: the gradient with respect to the input of a convolution that
// would turn `output_shape` into x's. The filter is [axes..., channels out, channels in].
TENURE_API Tensor conv1d_transpose(Arg x, Arg filter, const Shape& output_shape,
                                   const ConvOptions& options = {});
TENURE_API Tensor conv2d_transpose(Arg x, Arg filter, const Shape& output_shape,
                                   const ConvOptions& options = {});
TENURE_API Tensor conv3d_transpose(Arg x, Arg filter, const Shape& output_shape,
                                   const ConvOptions& options = {});

// The gradients of a convolution with these options, given its output's gradient.
TENURE_API Tensor conv1d_grad_input(Arg dy, Arg filter, const Shape& x_shape,
                                    const ConvOptions& options = {});
TENURE_API Tensor conv2d_grad_input(Arg dy, Arg filter, const Shape& x_shape,
                                    const ConvOptions& options = {});
TENURE_API Tensor conv3d_grad_input(Arg dy, Arg filter, const Shape& x_shape,
                                    const ConvOptions& options = {});
TENURE_API Tensor depthwise_conv2d_grad_input(Arg dy, Arg filter, const Shape& x_shape,
                                              const ConvOptions& options = {});
TENURE_API Tensor conv1d_grad_filter(Arg x, Arg dy, const Shape& filter_shape,
                                     const ConvOptions& options = {});
TENURE_API Tensor conv2d_grad_filter(Arg x, Arg dy, const Shape& filter_shape,
                                     const ConvOptions& options = {});
TENURE_API Tensor conv3d_grad_filter(Arg x, Arg dy, const Shape& filter_shape,
                                     const ConvOptions& options = {});
TENURE_API Tensor depthwise_conv2d_grad_filter(Arg x, Arg dy, const Shape& filter_shape,
                                               const ConvOptions& options = {});

// What follows a product: activation(product + bias).
struct FusedOptions {
  std::optional<KeptArg> bias = {};  // broadcasts to the result; a vector has one entry per channel
  Activation activation = Activation::linear;
  std::optional<KeptArg> prelu_weights = {};  // as the bias; for prelu
  double leaky_relu_alpha = 0.2;
};

TENURE_API Tensor fused_conv2d(Arg x, Arg filter, const FusedOptions& fused,
                               const ConvOptions& options = {});
TENURE_API Tensor fused_depthwise_conv2d(Arg x, Arg filter, const FusedOptions& fused,
                                         const ConvOptions& options = {});
TENURE_API Tensor fused_matmul(Arg a, Arg b, const FusedOptions& fused,
                               const MatmulOptions& options = {});

}  // namespace tenure
