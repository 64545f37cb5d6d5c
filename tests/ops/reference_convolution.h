// Convolutions and their gradients by their definition: a visit to every product there is.
#pragma once

#include "reference.h"

namespace tenure::testing {

struct ConvKind {
  int axes = 2;
  bool depthwise = false;
  ConvOptions options = {};
};

// The shape of the convolution's result. Shapes are as the user gives them.
Shape conv_result(const ConvKind& kind, const Shape& x, const Shape& filter);

Array conv_of(const ConvKind& kind, const Array& x, const Array& filter);
Array conv_grad_input_of(const ConvKind& kind, const Array& dy, const Array& filter,
                         const Shape& x_shape);
Array conv_grad_filter_of(const ConvKind& kind, const Array& x, const Array& dy,
                          const Shape& filter_shape);

// `values` as they broadcast to a result of `shape`: a vector belongs to the channels.
Array per_channel(const Array& values, const Shape& shape, bool channels_first);
Array activated(Activation activation, Array z, double leaky_relu_alpha,
                const Array* prelu_weights);

}  // namespace tenure::testing
