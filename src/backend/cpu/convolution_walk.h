// How the kernels of convolutions see their work.
//
// Images lie with their channels last. A convolution's output pixel sums, over the taps of the
// kernel, a source pixel's channels times that tap's weights; a source pixel outside the image is a
// row of zeros. No patch of the image is ever copied: for a few output pixels at a time a table of
// pointers says where each tap's source pixel lies (Window), and the arithmetic reads through it.
//
// A Walk is such a sum. The gradient of the input is one too, with the output's gradient as the
// source: where the stride is more than 1, the input's pixels fall into phases, one per remainder,
// and all pixels of a phase are reached by the same taps, each at a fixed distance. So a phase is a
// walk with step 1 that writes every stride-th pixel, and no time goes into zeros between pixels.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/parallel.h"
#include "ops/convolution_attrs.h"
#include "ops/kernel.h"

namespace tenure::cpu {

// All ranks as 3D, with leading axes of one.
struct Geometry {
  std::int64_t batch = 1;
  std::array<std::int64_t, 3> in{1, 1, 1};
  std::array<std::int64_t, 3> out{1, 1, 1};
  std::array<std::int64_t, 3> kernel{1, 1, 1};
  std::array<std::int64_t, 3> stride{1, 1, 1};
  std::array<std::int64_t, 3> dilation{1, 1, 1};
  std::array<std::int64_t, 3> before{0, 0, 0};
  std::int64_t in_channels = 1;   // of x
  std::int64_t out_channels = 1;  // of y
  std::int64_t depth = 1;         // of the filter: channels of x in a group
  std::int64_t groups = 1;

  Geometry(const Shape& x, const Shape& filter, const Shape& y, const ops::ConvAttrs& attrs)
      : batch(x[0]),
        in_channels(x[-1]),
        out_channels(y[-1]),
        depth(filter[-2]),
        groups(attrs.groups) {
    const int axes = x.rank() - 2;
    for (int axis = 0; axis < axes; ++axis) {
      const int of_three = 3 - axes + axis;
      const auto to = static_cast<std::size_t>(of_three);
      in[to] = x[axis + 1];
      out[to] = y[axis + 1];
      kernel[to] = filter[axis];
      stride[to] = attrs.strides[axis];
      dilation[to] = attrs.dilations[axis];
      before[to] = attrs.before[axis];
    }
  }
  std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  std::int64_t out_pixels() const { return batch * out[0] * out[1] * out[2]; }
  std::int64_t in_pixels() const { return batch * in[0] * in[1] * in[2]; }
};

// One spatial axis of a walk. Pixel j is written at dst_first + j * dst_step; its tap t reads the
// source at j * step + first + t * tap_step, and is tap weight_first + t * weight_step of the
// filter.
struct Axis {
  std::int64_t count = 1;
  std::int64_t taps = 1;
  std::int64_t src_size = 1;
  std::int64_t step = 1;
  std::int64_t first = 0;
  std::int64_t tap_step = 1;
  std::int64_t weight_first = 0;
  std::int64_t weight_step = 1;
  std::int64_t dst_size = 1;
  std::int64_t dst_first = 0;
  std::int64_t dst_step = 1;
};

inline Axis forward_axis(const Geometry& g, std::size_t i) {
  return {.count = g.out[i],
          .taps = g.kernel[i],
          .src_size = g.in[i],
          .step = g.stride[i],
          .first = -g.before[i],
          .tap_step = g.dilation[i],
          .dst_size = g.out[i]};
}

// The input's pixels phase, phase + stride, ...: tap k of pixel i reads output pixel
// (i + before - k * dilation) / stride, if that is whole.
inline Axis backward_axis(const Geometry& g, std::size_t i, std::int64_t phase) {
  const std::int64_t stride = g.stride[i];
  const std::int64_t dilation = g.dilation[i];
  const std::int64_t common = std::gcd(stride, dilation);
  Axis axis{.count = phase < g.in[i] ? ceil_div(g.in[i] - phase, stride) : 0,
            .taps = 0,
            .src_size = g.out[i],
            .tap_step = -(dilation / common),
            .weight_step = stride / common,
            .dst_size = g.in[i],
            .dst_first = phase,
            .dst_step = stride};
  for (std::int64_t k = 0; k < std::min(g.kernel[i], axis.weight_step); ++k) {
    const std::int64_t distance = phase + g.before[i] - k * dilation;
    if (distance % stride != 0) continue;
    axis.weight_first = k;
    axis.first = distance / stride;
    axis.taps = ceil_div(g.kernel[i] - k, axis.weight_step);
    break;
  }
  return axis;
}

template <class T>
inline constexpr std::int64_t kLineElements = 64 / static_cast<std::int64_t>(sizeof(T));

// Output pixels whose pointers are found together.
inline constexpr int kTilePixels = 24;
// Taps in one table of pointers.
inline constexpr std::int64_t kMaxTaps = 64;
// A piece of work is at most this many pixels, and so many columns unless there are few weights.
inline constexpr std::int64_t kBlockPixels = 8 * kTilePixels;
inline constexpr std::int64_t kBlockWidth = 256;
// Pixels that a gradient of filters takes at a time.
inline constexpr int kChunkPixels = 192;
// Multiply-adds that are not worth a second thread; those of channels by themselves take longer.
inline constexpr std::int64_t kSerialWork = 256 * 1024;
inline constexpr std::int64_t kSerialChannelWork = kSerialWork / 4;
// Rows of weights in a block: what stays in the second cache while pixels pass over it.
template <class T>
constexpr std::int64_t kWeightRows = 3072 / static_cast<std::int64_t>(sizeof(T));

// What is done to a sum that is whole.
template <class T>
struct Ending {
  const T* bias = nullptr;
  bool relu = false;
  T most = std::numeric_limits<T>::infinity();  // with relu
};

template <class T>
struct Walk {
  std::int64_t batch;
  std::array<Axis, 3> axes;
  std::array<std::int64_t, 3> kernel;
  const T* src;
  std::int64_t src_row;  // elements between pixels
  T* dst;
  std::int64_t dst_row;
  const T* weights;  // element (tap, channel, column) is at tap * weight_tap + channel * weight_row
  std::int64_t weight_tap;
  std::int64_t weight_row;
  std::int64_t depth;                     // channels summed over
  std::int64_t columns;                   // channels of the result
  const T* zeros;                         // a pixel of padding
  const ops::Epilogue* finish = nullptr;  // of pixels that have all their columns
  Ending<T> ending = {};
  std::int64_t block_pixels = kBlockPixels;
  std::int64_t block_columns = kBlockWidth;
  bool by_channel = false;           // depthwise
  std::int64_t multiplier = 1;       // depthwise: channels of y for each of x
  const void* channel_of = nullptr;  // depthwise, if that is not 1: the source's, per column

  std::int64_t pixels() const { return batch * axes[0].count * axes[1].count * axes[2].count; }
  std::int64_t taps() const { return axes[0].taps * axes[1].taps * axes[2].taps; }
  std::int64_t work() const {
    return pixels() * std::max<std::int64_t>(1, taps()) * depth * columns;
  }
  std::int64_t items() const {
    return ceil_div(pixels(), block_pixels) * ceil_div(columns, block_columns);
  }

  // Chooses the pieces: all columns if their weights are few, and then smaller ones until there are
  // `wanted`. No sum depends on how a walk is cut.
  void cut(std::int64_t wanted) {
    const auto halve = [](std::int64_t& size, std::int64_t unit) {
      size = ceil_div(size, 2 * unit) * unit;
    };
    if (by_channel) {
      // Whole lines; and channels, which share no source, before these.
      const std::int64_t line = axes[2].count;
      block_columns = columns;
      block_pixels = ceil_div(kBlockPixels, line) * line;
      while (items() < wanted) {
        if (finish == nullptr && block_columns > 4 * kLineElements<T>) {
          halve(block_columns, 2 * kLineElements<T>);
        } else if (block_pixels > line) {
          halve(block_pixels, line);
        } else {
          return;
        }
      }
      return;
    }
    const std::int64_t rows = std::min(kWeightRows<T>, taps() * depth);
    block_columns = rows * columns <= kWeightRows<T> * kBlockWidth ? columns : kBlockWidth;
    const std::int64_t blocks = std::max<std::int64_t>(1, pixels() / kBlockPixels);
    block_pixels = ceil_div(pixels(), blocks * kTilePixels) * kTilePixels;
    while (items() < wanted) {
      if (block_pixels > 2 * kTilePixels) {
        halve(block_pixels, kTilePixels);
      } else if (block_columns > 4 * kLineElements<T>) {
        halve(block_columns, 4 * kLineElements<T>);
      } else if (block_pixels > kTilePixels) {
        halve(block_pixels, kTilePixels);
      } else {
        return;
      }
    }
  }

  // Where every pixel is made of the source's same pixel, all of them are one line.
  void flatten() {
    for (const Axis& axis : axes) {
      const bool same = axis.taps == 1 && axis.step == 1 && axis.first == 0 && axis.dst_step == 1 &&
                        axis.src_size == axis.count && axis.dst_size == axis.count;
      if (!same) return;
    }
    Axis& line = axes[2];
    line.count = line.src_size = line.dst_size = pixels();
    for (std::size_t i = 0; i < 2; ++i) axes[i].count = axes[i].src_size = axes[i].dst_size = 1;
    batch = 1;
  }
};

// Steps through a walk's taps in order.
template <class T>
class Tap {
 public:
  Tap(const Walk<T>& walk, std::int64_t index) : walk_(walk) {
    at_[2] = index % walk.axes[2].taps;
    at_[1] = index / walk.axes[2].taps % walk.axes[1].taps;
    at_[0] = index / walk.axes[2].taps / walk.axes[1].taps;
  }
  void next() {
    for (std::size_t i = 3; i-- > 0;) {
      if (++at_[i] < walk_.axes[i].taps) return;
      at_[i] = 0;
    }
  }
  const T* weights() const {
    std::int64_t tap = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const Axis& axis = walk_.axes[i];
      tap = tap * walk_.kernel[i] + axis.weight_first + at_[i] * axis.weight_step;
    }
    return walk_.weights + tap * walk_.weight_tap;
  }

 private:
  const Walk<T>& walk_;
  std::array<std::int64_t, 3> at_;
};

// `count` of a walk's pixels in order, at most kSize: where their tap 0 lies and where they go.
// Addresses are integers, because those of padding point outside of the image.
template <class T, int kSize>
struct Window {
  std::array<std::array<std::int64_t, kSize>, 3> at;
  std::array<std::uintptr_t, kSize> base;
  std::array<T*, kSize> dst;

  Window(const Walk<T>& walk, std::int64_t first, std::int64_t count) {
    const auto& [planes, rows, columns] = walk.axes;
    std::int64_t column = first % columns.count;
    std::int64_t line = first / columns.count;
    for (std::int64_t i = 0; i < count; ++line, column = 0) {
      const std::int64_t row = line % rows.count;
      const std::int64_t plane = line / rows.count % planes.count;
      const std::int64_t image = line / rows.count / planes.count;
      const std::int64_t src_plane = plane * planes.step + planes.first;
      const std::int64_t src_row = row * rows.step + rows.first;
      const std::uintptr_t src =
          reinterpret_cast<std::uintptr_t>(walk.src) +
          static_cast<std::uintptr_t>(
              ((image * planes.src_size + src_plane) * rows.src_size + src_row) * columns.src_size *
              walk.src_row) *
              sizeof(T);
      const std::int64_t dst_line =
          ((image * planes.dst_size + planes.dst_first + plane * planes.dst_step) * rows.dst_size +
           rows.dst_first + row * rows.dst_step) *
              columns.dst_size +
          columns.dst_first;
      const std::int64_t end = std::min(count, i + columns.count - column);
      for (; i < end; ++i, ++column) {
        const std::int64_t src_column = column * columns.step + columns.first;
        const auto to = static_cast<std::size_t>(i);
        at[0][to] = src_plane;
        at[1][to] = src_row;
        at[2][to] = src_column;
        base[to] = src + static_cast<std::uintptr_t>(src_column * walk.src_row) * sizeof(T);
        dst[to] = walk.dst + (dst_line + column * columns.dst_step) * walk.dst_row;
      }
    }
    for (auto i = static_cast<std::size_t>(count); i < kSize; ++i) {
      for (auto& each : at) each[i] = -1;
      base[i] = 0;
    }
  }
};

// The gradient of a filter: the walk's source pixels times `dy`, whose rows are the walk's pixels.
template <class T>
struct FilterSum {
  Walk<T> walk;
  const T* dy;
  std::int64_t dy_row;
  T* dst;  // element (tap, channel, column) is at (tap * depth + channel) * dst_row + column
  std::int64_t dst_row;
  bool accumulate = false;  // add to what dst holds
};

// convolution_tiles.cpp: piece `item` of the walk.
void walk_tiles(const Walk<float>& walk, std::int64_t item) noexcept;
void walk_tiles(const Walk<double>& walk, std::int64_t item) noexcept;

// convolution_filter.cpp: some of the units that the filter's gradient is made of, summed over
// pixels [first, last).
inline constexpr std::int64_t kUnitRows = 6;
template <class T>
inline constexpr std::int64_t kUnitColumns = 4 * kLineElements<T>;
template <class T>
std::int64_t filter_units(const FilterSum<T>& sum) {
  return sum.walk.taps() * ceil_div(sum.walk.depth, kUnitRows) *
         ceil_div(sum.walk.columns, kUnitColumns<T>);
}
void filter_tiles(const FilterSum<float>& sum, std::int64_t first_unit, std::int64_t last_unit,
                  std::int64_t first, std::int64_t last) noexcept;
void filter_tiles(const FilterSum<double>& sum, std::int64_t first_unit, std::int64_t last_unit,
                  std::int64_t first, std::int64_t last) noexcept;

// convolution_depthwise.cpp: the same for convolutions of each channel by itself.
void depthwise_tiles(const Walk<float>& walk, std::int64_t item) noexcept;
void depthwise_tiles(const Walk<double>& walk, std::int64_t item) noexcept;
// The gradient of the input where the multiplier is not 1: columns of dy are added up.
void depthwise_sums(const Walk<float>& walk, std::int64_t item) noexcept;
void depthwise_sums(const Walk<double>& walk, std::int64_t item) noexcept;
inline constexpr std::int64_t kUnitTaps = 6;
template <class T>
std::int64_t depthwise_units(const FilterSum<T>& sum) {
  return ceil_div(sum.walk.taps(), kUnitTaps) * ceil_div(sum.walk.columns, kLineElements<T>);
}
void depthwise_filter(const FilterSum<float>& sum, std::int64_t first_unit, std::int64_t last_unit,
                      std::int64_t first, std::int64_t last) noexcept;
void depthwise_filter(const FilterSum<double>& sum, std::int64_t first_unit, std::int64_t last_unit,
                      std::int64_t first, std::int64_t last) noexcept;

}  // namespace tenure::cpu
