// Where a model begins.
#pragma once

#include "nn/config.h"
#include "nn/layer_state.h"

namespace tenure::nn::detail {

// The spec's shape has the batch size, or kAny for it.
Node input_node(Spec spec, std::string name, std::source_location site);
Layer input_layer_from_json(const Json& config);

}  // namespace tenure::nn::detail
