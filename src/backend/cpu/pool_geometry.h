// Where the windows of a pooling lie: always three axes, those that are missing have one element.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/count.h"
#include "ops/pooling_attrs.h"

namespace tenure::cpu {

// Elements of the input that lie in one window, along one axis.
struct Taps {
  std::int64_t first;
  std::int64_t count;
};

struct PoolAxis {
  std::int64_t in = 1, out = 1, window = 1, stride = 1, dilation = 1, before = 0;

  // Those of window `o` that lie in the input.
  Taps taps(std::int64_t o) const {
    const std::int64_t start = o * stride - before;
    if (start >= 0 && start + (window - 1) * dilation < in) return {start, window};
    const std::int64_t begin = start < 0 ? (-start + dilation - 1) / dilation : 0;
    const std::int64_t end = start >= in ? 0 : std::min(window, (in - 1 - start) / dilation + 1);
    return {start + begin * dilation, std::max<std::int64_t>(0, end - begin)};
  }

  // The windows [begin, end) whose element number `tap` lies in the input.
  std::array<std::int64_t, 2> windows(std::int64_t tap) const {
    const std::int64_t at = before - tap * dilation;  // of the first window that is 0 or more
    const std::int64_t begin = at > 0 ? (at + stride - 1) / stride : 0;
    const std::int64_t last = in - 1 + at;
    const std::int64_t end = last < 0 ? 0 : last / stride + 1;
    return {begin, std::max(begin, std::min(out, end))};
  }
};

struct PoolGeometry {
  std::int64_t batch = 1;
  std::int64_t channels = 1;  // next to each other; with channels first they count as batch
  std::array<PoolAxis, 3> axes;

  // `shape` is of the input or of the output.
  PoolGeometry(const Shape& shape, const ops::PoolAttrs& attrs) {
    const int count = attrs.window.rank();
    for (int i = 0; i < count; ++i) {
      const int of_three = 3 - count + i;
      axes[static_cast<std::size_t>(of_three)] = {.in = attrs.in[i],
                                                  .out = attrs.out[i],
                                                  .window = attrs.window[i],
                                                  .stride = attrs.strides[i],
                                                  .dilation = attrs.dilations[i],
                                                  .before = attrs.before[i]};
    }
    if (attrs.batched) batch = shape[0];
    if (attrs.channels_first) {
      batch *= shape[attrs.batched ? 1 : 0];
    } else {
      channels = shape[-1];
    }
  }

  std::int64_t image_in() const { return axes[0].in * axes[1].in * axes[2].in * channels; }
  std::int64_t image_out() const { return axes[0].out * axes[1].out * axes[2].out * channels; }
  // Rows of the output, each along the last axis.
  std::int64_t rows() const { return batch * axes[0].out * axes[1].out; }
  std::int64_t window() const {
    return count_product(count_product(axes[0].window, axes[1].window), axes[2].window);
  }
};

}  // namespace tenure::cpu
