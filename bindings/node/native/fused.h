// What follows a product in one pass, as JavaScript writes it.
#pragma once

#include "call.h"
#include "tenure/conv.h"

namespace tenure::node {

inline FusedOptions fused_options(Call& call) {
  FusedOptions fused;
  fused.bias = call.maybe_arg();
  fused.prelu_weights = call.maybe_arg();
  fused.activation = call.choice(Activation::hard_sigmoid);
  fused.leaky_relu_alpha = call.number();
  return fused;
}

}  // namespace tenure::node
