// Pooling: the largest or the mean value of each window, or of everything. Windows and strides are
// one number for all axes, or one for each.
//
//   nn::MaxPooling2D({.pool_size = 3, .strides = 2, .padding = "same"});
#pragma once

#include <string>

#include "tenure/nn/core_layers.h"

namespace tenure::nn {

struct PoolingOptions {
  Sizes pool_size = 2;
  Sizes strides = {};             // default: pool_size
  std::string padding = "valid";  // or "same"; padding takes no part
  std::string data_format = "channels_last";
  TENURE_LAYER_FIELDS;
};
TENURE_LAYER(MaxPooling1D, PoolingOptions);
TENURE_LAYER(MaxPooling2D, PoolingOptions);
TENURE_LAYER(MaxPooling3D, PoolingOptions);
TENURE_LAYER(AveragePooling1D, PoolingOptions);
TENURE_LAYER(AveragePooling2D, PoolingOptions);
TENURE_LAYER(AveragePooling3D, PoolingOptions);

struct GlobalPoolingOptions {
  std::string data_format = "channels_last";
  bool keepdims = false;
  TENURE_LAYER_FIELDS;
};
// Over all axes between batch and channels. GlobalAveragePooling1D leaves masked steps out.
TENURE_LAYER(GlobalMaxPooling1D, GlobalPoolingOptions);
TENURE_LAYER(GlobalMaxPooling2D, GlobalPoolingOptions);
TENURE_LAYER(GlobalMaxPooling3D, GlobalPoolingOptions);
TENURE_LAYER(GlobalAveragePooling1D, GlobalPoolingOptions);
TENURE_LAYER(GlobalAveragePooling2D, GlobalPoolingOptions);
TENURE_LAYER(GlobalAveragePooling3D, GlobalPoolingOptions);

}  // namespace tenure::nn
