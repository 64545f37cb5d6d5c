#pragma once

#include "ops/attrs.h"

namespace tenure::ops {

struct BatchNormAttrs {
  int axis = 0;  // of the features; normalised: not negative
  double epsilon = 0;
  bool scaled = false;  // whether scale and offset are among the inputs
  bool shifted = false;
  TENURE_ATTRS(BatchNormAttrs, axis, epsilon, scaled, shifted)
};

struct LayerNormAttrs {
  int axes = 1;  // how many of the last are normalised together
  double epsilon = 0;
  bool scaled = false;
  bool shifted = false;
  TENURE_ATTRS(LayerNormAttrs, axes, epsilon, scaled, shifted)
};

struct LocalResponseAttrs {
  std::int64_t depth_radius = 0;
  double bias = 0;
  double alpha = 0;
  double beta = 0;
  TENURE_ATTRS(LocalResponseAttrs, depth_radius, bias, alpha, beta)
};

struct DropoutAttrs {
  double rate = 0;
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;  // of the first Philox counter this op may use
  bool own_seed = false;     // the user's: a traced node keeps it
  TENURE_ATTRS(DropoutAttrs, rate, seed, offset, own_seed)
};

}  // namespace tenure::ops
