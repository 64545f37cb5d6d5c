// Pooling: the largest or the mean value of each window that slides over an image.
//
// A window of n axes slides over [batch, n axes, channels], or over [n axes, channels]; with
// `channels_first` the channels stand before the n axes. Padding never takes part: it is smaller
// than anything, and no mean counts it.
//
//   tenure::Tensor y = tenure::max_pool(x, {3, 3}, {.strides = {2}, .padding = Padding::same});
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "tenure/export.h"
#include "tenure/shape.h"
#include "tenure/tensor.h"
#include "tenure/window.h"

namespace tenure {

struct PoolOptions {
  Shape strides = {};  // one for all axes or one for each; default: the window
  Padding padding = Padding::valid;
  Shape dilations = {};                // between a window's elements; default: 1
  Rounding rounding = Rounding::down;  // not for `same`
  bool channels_first = false;
};

TENURE_API Tensor max_pool(Arg x, const Shape& window, const PoolOptions& options = {});
TENURE_API Tensor avg_pool(Arg x, const Shape& window, const PoolOptions& options = {});

struct MaxPoolWithArgmax {
  Tensor values;
  Tensor
      indices;  // int32: where in x (in its own image, by default) each value lies; first of ties
};
struct ArgmaxOptions {
  bool include_batch_in_index = false;
};
TENURE_API MaxPoolWithArgmax max_pool_with_argmax(Arg x, const Shape& window,
                                                  const PoolOptions& options = {},
                                                  ArgmaxOptions argmax = {});

enum class PoolType : std::uint8_t { max, avg };
// Either of them, with strides of 1 by default; strides or dilations must be 1.
TENURE_API Tensor pool(Arg x, const Shape& window, PoolType type, PoolOptions options = {});

struct GlobalPoolOptions {
  bool keep_dims = false;
  bool channels_first = false;
};
// Over all axes between batch and channels.
TENURE_API Tensor global_max_pool(Arg x, GlobalPoolOptions options = {});
TENURE_API Tensor global_avg_pool(Arg x, GlobalPoolOptions options = {});

struct DilationOptions {
  Shape strides = {1};
  Padding padding = Padding::valid;
  Shape dilations = {1};
};
// Grayscale dilation: the largest sum of an element of x, [batch, height, width, channels] or
// without a batch, and of filter, [height, width, channels], laid over it.
TENURE_API Tensor dilation2d(Arg x, Arg filter, const DilationOptions& options = {});

}  // namespace tenure
