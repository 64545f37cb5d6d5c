// Other looks at the same bytes, and joining, cutting and padding tensors. Views copy nothing where
// strides allow it; a view keeps the whole storage alive (why_alive says so).
//
//   tenure::Tensor row = x[2];
//   tenure::Tensor half = tenure::slice(x, {0, 0}, {-1, 16});   // -1: to the end
//   tenure::Tensor framed = tenure::pad(image, {{1, 1}, {1, 1}, {0, 0}});
#pragma once

#include <cstdint>
#include <source_location>
#include <utility>
#include <vector>

#include "tenure/export.h"
#include "tenure/scalar.h"
#include "tenure/shape.h"
#include "tenure/tensor.h"

namespace tenure {

TENURE_API Tensor reshape(Arg x, const Shape& shape);  // one dimension may be -1
TENURE_API Tensor transpose(Arg x);                    // all axes reversed
TENURE_API Tensor transpose(Arg x, const Axes& axes);
TENURE_API Tensor slice(Arg x, const Shape& begin, const Shape& size);
// Negative steps walk backwards from `begin`.
TENURE_API Tensor slice(Arg x, const Shape& begin, const Shape& size, const Shape& step);
TENURE_API Tensor broadcast_to(Arg x, const Shape& shape);
TENURE_API Tensor expand_dims(Arg x, int axis);
TENURE_API Tensor squeeze(Arg x);  // drops axes of size 1
TENURE_API Tensor squeeze(Arg x, const Axes& axes);
TENURE_API Tensor contiguous(Arg x);  // itself, or a row-major copy

// Bit i of a mask is about entry i of begin, end and strides.
struct StridedSliceOptions {
  std::uint32_t begin_mask = 0;        // from the first element, whatever begin says
  std::uint32_t end_mask = 0;          // to the last
  std::uint32_t ellipsis_mask = 0;     // stands for all axes that no other entry is about
  std::uint32_t new_axis_mask = 0;     // an axis of size 1 that was not there
  std::uint32_t shrink_axis_mask = 0;  // one element, and the axis is gone
};
// As x[begin:end:stride, ...] in Python; an end beyond the axis means its end.
TENURE_API Tensor strided_slice(Arg x, const Shape& begin, const Shape& end, const Shape& strides,
                                StridedSliceOptions options = {});
TENURE_API Tensor reverse(Arg x);  // along all axes
TENURE_API Tensor reverse(Arg x, const Axes& axes);

// Equal parts, or parts of the given sizes, of which one may be -1: the rest. Views.
TENURE_API std::vector<Tensor> split(Arg x, int parts, int axis = 0);
TENURE_API std::vector<Tensor> split(Arg x, const Shape& sizes, int axis = 0);
TENURE_API std::vector<Tensor> unstack(Arg x, int axis = 0);  // views without the axis

TENURE_API Tensor concat(std::vector<Tensor> tensors, int axis = 0,
                         std::source_location site = std::source_location::current());
// Along a new axis.
TENURE_API Tensor stack(std::vector<Tensor> tensors, int axis = 0,
                        std::source_location site = std::source_location::current());

TENURE_API Tensor tile(Arg x, const Shape& repeats);  // one number per axis
// Elements move by `shift` places and come in again at the other end.
TENURE_API Tensor roll(Arg x, std::int64_t shift);  // of the flattened tensor
TENURE_API Tensor roll(Arg x, const Shape& shifts, const Axes& axes);

using Paddings = std::vector<std::pair<std::int64_t, std::int64_t>>;  // per axis: before, after
TENURE_API Tensor pad(Arg x, const Paddings& paddings, Scalar value = 0);  // below 0: a cut
enum class Mirror : std::uint8_t {
  reflect,    // without the edge: c b | a b c | b a
  symmetric,  // with it:        b a | a b c | c b
};
TENURE_API Tensor mirror_pad(Arg x, const Paddings& paddings, Mirror mirror);

enum class GridIndexing : std::uint8_t { xy, ij };
// Coordinates of a grid, one tensor per vector given; xy swaps the first two axes. Views.
TENURE_API std::vector<Tensor> meshgrid(
    std::vector<Tensor> vectors, GridIndexing indexing = GridIndexing::xy,
    std::source_location site = std::source_location::current());

// Blocks of the axes after the first become entries of the first, after padding; and back, with
// crops in place of paddings.
TENURE_API Tensor space_to_batch_nd(Arg x, const Shape& block, const Paddings& paddings);
TENURE_API Tensor batch_to_space_nd(Arg x, const Shape& block, const Paddings& crops);

enum class ImageLayout : std::uint8_t { nhwc, nchw };
// Channels become blocks of block x block pixels, and back.
TENURE_API Tensor depth_to_space(Arg x, std::int64_t block, ImageLayout layout = ImageLayout::nhwc);
TENURE_API Tensor space_to_depth(Arg x, std::int64_t block, ImageLayout layout = ImageLayout::nhwc);

}  // namespace tenure
