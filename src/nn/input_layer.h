// Where a model begins.
#pragma once

#include "nn/fields.h"
#include "nn/layer_state.h"

namespace tenure::nn::detail {

// The spec's shape has the batch size, or kAny for it.
Node input_node(Spec spec, std::string name, std::source_location site);
Layer input_layer(Fields& settings);  // a row's

}  // namespace tenure::nn::detail
