// Layers of several inputs, which broadcast; to inputs of fewer axes, some are added after the
// batch.
//
//   nn::Node y = nn::Add()({x, nn::Dense({.units = 8})(x)});
#pragma once

#include "tenure/nn/core_layers.h"

namespace tenure::nn {

struct MergeOptions {
  TENURE_LAYER_FIELDS;
};
TENURE_LAYER(Add, MergeOptions);
TENURE_LAYER(Subtract, MergeOptions);  // the second input from the first
TENURE_LAYER(Multiply, MergeOptions);
TENURE_LAYER(Average, MergeOptions);
TENURE_LAYER(Maximum, MergeOptions);
TENURE_LAYER(Minimum, MergeOptions);

struct ConcatenateOptions {
  int axis = -1;
  TENURE_LAYER_FIELDS;
};
TENURE_LAYER(Concatenate, ConcatenateOptions);

struct DotOptions {
  AxisList axes = {};      // of both inputs, or one of each; 0 is the batch
  bool normalize = false;  // to length 1 first: the cosine of the angle between them
  TENURE_LAYER_FIELDS;
};
// The products of two inputs, example by example, summed over an axis of each.
TENURE_LAYER(Dot, DotOptions);

}  // namespace tenure::nn
