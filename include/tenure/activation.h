// Activations beyond those of math.h.
//
//   tenure::Tensor y = tenure::leaky_relu(x, 0.1) + tenure::gelu(x, {.approximate = true});
#pragma once

#include <cstdint>

#include "tenure/export.h"
#include "tenure/tensor.h"

namespace tenure {

// What an op may apply to its result in the same pass. Recurrent ops know linear, relu, sigmoid,
// tanh and hard_sigmoid.
enum class Activation : std::uint8_t {
  linear,
  relu,
  relu6,
  elu,
  leaky_relu,
  prelu,
  sigmoid,
  tanh,
  hard_sigmoid,
};

struct GeluOptions {
  bool approximate = false;  // by tanh
};

TENURE_API Tensor leaky_relu(Arg x, double alpha = 0.2);  // x, or alpha x below zero
TENURE_API Tensor prelu(Arg x, Arg alpha);                // the same; alpha broadcasts
TENURE_API Tensor elu(Arg x, double alpha);               // x, or alpha (exp(x) - 1) below zero
TENURE_API Tensor gelu(Arg x, GeluOptions options = {});  // x times the normal distribution's
TENURE_API Tensor silu(Arg x);                            // x sigmoid(x)
TENURE_API Tensor swish(Arg x);                           // another name of silu
TENURE_API Tensor mish(Arg x);                            // x tanh(softplus(x))
TENURE_API Tensor softplus(Arg x);                        // log(1 + exp(x))
TENURE_API Tensor softsign(Arg x);                        // x / (1 + |x|)
TENURE_API Tensor log_sigmoid(Arg x);
// clip(0.2 x + 0.5, 0, 1), as TensorFlow.js and Keras 2 have it. Keras 3 has
// relu6(x + 3) / 6 instead.
TENURE_API Tensor hard_sigmoid(Arg x);
TENURE_API Tensor step(Arg x, double alpha = 0);  // 1 above zero, else alpha; NaN stays

}  // namespace tenure
