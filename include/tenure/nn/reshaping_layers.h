// Layers that put elements elsewhere: shapes, repetitions, crops, margins. The batch stays axis 0.
//
//   nn::Reshape({.target_shape = {-1, 4}});
//   nn::ZeroPadding2D({.padding = {{1, 1}, {2, 2}}});
#pragma once

#include <cstdint>
#include <string>

#include "tenure/nn/core_layers.h"

namespace tenure::nn {

struct FlattenOptions {
  std::string data_format = "channels_last";  // "channels_first": channels are put last before
  TENURE_LAYER_FIELDS;
};
// [batch, ...] to [batch, the rest].
TENURE_LAYER(Flatten, FlattenOptions);

struct ReshapeOptions {
  Shape target_shape = {};  // of one example; one size may be -1
  TENURE_LAYER_FIELDS;
};
TENURE_LAYER(Reshape, ReshapeOptions);

struct PermuteOptions {
  Axes dims = {};  // where each axis comes from; the first after the batch is 1
  TENURE_LAYER_FIELDS;
};
TENURE_LAYER(Permute, PermuteOptions);

struct RepeatVectorOptions {
  std::int64_t n = 1;
  TENURE_LAYER_FIELDS;
};
// [batch, features] to [batch, n, features].
TENURE_LAYER(RepeatVector, RepeatVectorOptions);

template <int Count>
struct CroppingOptions {
  Margins cropping = Count == 2 ? 0 : 1;
  std::string data_format = "channels_last";  // or "channels_first"; not for 1D
  TENURE_LAYER_FIELDS;
};
TENURE_LAYER(Cropping1D, CroppingOptions<1>);
TENURE_LAYER(Cropping2D, CroppingOptions<2>);
TENURE_LAYER(Cropping3D, CroppingOptions<3>);

template <int Count>
struct ZeroPaddingOptions {
  Margins padding = 1;
  std::string data_format = "channels_last";
  TENURE_LAYER_FIELDS;
};
TENURE_LAYER(ZeroPadding1D, ZeroPaddingOptions<1>);
TENURE_LAYER(ZeroPadding2D, ZeroPaddingOptions<2>);
TENURE_LAYER(ZeroPadding3D, ZeroPaddingOptions<3>);

struct UpSampling1DOptions {
  std::int64_t size = 2;
  TENURE_LAYER_FIELDS;
};
// Each step `size` times.
TENURE_LAYER(UpSampling1D, UpSampling1DOptions);

struct UpSampling2DOptions {
  Sizes size = 2;  // one factor for all axes or one for each
  std::string data_format = "channels_last";
  std::string interpolation = "nearest";  // or "bilinear"
  TENURE_LAYER_FIELDS;
};
TENURE_LAYER(UpSampling2D, UpSampling2DOptions);

struct UpSampling3DOptions {
  Sizes size = 2;
  std::string data_format = "channels_last";
  TENURE_LAYER_FIELDS;
};
TENURE_LAYER(UpSampling3D, UpSampling3DOptions);

}  // namespace tenure::nn
