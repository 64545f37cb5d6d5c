// The families of layers, each in its own file; nn/registry.cpp joins them.
#pragma once

#include <span>

#include "nn/config.h"

namespace tenure::nn::detail {

std::span<const LayerRow> activation_layers();
std::span<const LayerRow> attention_layers();
std::span<const LayerRow> augmentation_layers();
std::span<const LayerRow> convolution_layers();
std::span<const LayerRow> core_layers();
std::span<const LayerRow> depthwise_convolution_layers();
std::span<const LayerRow> einsum_layers();
std::span<const LayerRow> grouped_attention_layers();
std::span<const LayerRow> image_layers();
std::span<const LayerRow> merge_layers();
std::span<const LayerRow> normalization_layers();
std::span<const LayerRow> operation_layers();
std::span<const LayerRow> pooling_layers();
std::span<const LayerRow> preprocessing_layers();
std::span<const LayerRow> recurrent_layers();
std::span<const LayerRow> regularization_layers();
std::span<const LayerRow> reshaping_layers();
std::span<const LayerRow> spectral_normalization_layers();
std::span<const LayerRow> wrapper_layers();

}  // namespace tenure::nn::detail
