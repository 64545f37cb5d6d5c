// Where a model begins.
#pragma once

#include "nn/fields.h"
#include "nn/layer_state.h"

namespace tenure::nn::detail {

// The spec's shape has the batch size, or kAny for it.
Node input_node(Spec spec, std::string name, std::source_location site, bool of_data = false);
Layer input_layer(Fields& settings);  // a row's
// The place that an InputLayer is, which those who hold it share.
Node input_node(const Layer& layer, const Spec& spec, std::source_location site);

}  // namespace tenure::nn::detail
