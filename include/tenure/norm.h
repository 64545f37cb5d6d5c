// Normalisation and dropout.
//
//   auto [y, mean, variance] = tenure::batch_norm_training(x, {.scale = gamma, .offset = beta});
//   tenure::Tensor z = tenure::layer_norm(x, {.scale = gamma, .offset = beta});
#pragma once

#include <cstdint>
#include <optional>

#include "tenure/export.h"
#include "tenure/shape.h"
#include "tenure/tensor.h"

namespace tenure {

struct BatchNormOptions {
  std::optional<KeptArg> scale = {};   // per feature; default: 1
  std::optional<KeptArg> offset = {};  // per feature; default: 0
  int axis = -1;                       // of the features: 1 for NCHW
  double epsilon = 1e-3;               // added to the variance
};
// With a mean and a variance per feature (or of any shapes that broadcast with x):
// (x - mean) / sqrt(variance + epsilon) * scale + offset
TENURE_API Tensor batch_norm(Arg x, Arg mean, Arg variance, const BatchNormOptions& options = {});
// With the mean and the variance of x itself, which are returned too.
struct BatchNormalized {
  Tensor output;
  Tensor mean;
  Tensor variance;
};
TENURE_API BatchNormalized batch_norm_training(Arg x, const BatchNormOptions& options = {});

// Each sample by its own mean and variance over `axes`, which are also the shape of scale and
// offset.
struct LayerNormOptions {
  std::optional<KeptArg> scale = {};
  std::optional<KeptArg> offset = {};
  Axes axes = {-1};
  double epsilon = 1e-3;
};
TENURE_API Tensor layer_norm(Arg x, const LayerNormOptions& options = {});

// As layer_norm, by the root of the mean square, without mean and offset.
struct RmsNormOptions {
  std::optional<KeptArg> scale = {};
  Axes axes = {-1};
  double epsilon = 1e-6;
};
TENURE_API Tensor rms_norm(Arg x, const RmsNormOptions& options = {});

// Axis 0 counts samples. The features of each are split into `groups`, each normalised by its own
// mean and variance over all other axes; scale and offset are per feature.
TENURE_API Tensor group_norm(Arg x, std::int64_t groups, const BatchNormOptions& options = {});

// x / (bias + alpha * sum of squares)^beta, the sum over neighbours up to depth_radius away along
// the last axis.
struct LocalResponseOptions {
  std::int64_t depth_radius = 5;
  double bias = 1;
  double alpha = 1;
  double beta = 0.5;
};
TENURE_API Tensor local_response_normalization(Arg x, LocalResponseOptions options = {});

// x / sqrt(max(sum of squares over axes, epsilon))
TENURE_API Tensor l2_normalize(Arg x, const Axes& axes = {-1}, double epsilon = 1e-12);

// Zeroes elements with probability `rate` and multiplies the others by 1 / (1 - rate).
struct DropoutOptions {
  std::optional<std::uint64_t> seed = {};  // default: the next of set_seed's sequence
  std::optional<Shape> noise_shape = {};   // of the mask, which broadcasts to x; default: x's
};
TENURE_API Tensor dropout(Arg x, double rate, const DropoutOptions& options = {});

}  // namespace tenure
