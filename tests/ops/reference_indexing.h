// What ops on views, indices, orders and counts should give (see reference.h).
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "reference.h"

namespace tenure::testing {

using Pads = std::vector<std::pair<std::int64_t, std::int64_t>>;

// Of every axis, the elements at the places listed for it, in that order.
Array picked(const Array& x, const std::vector<Index>& places);
Array reversed(const Array& x, const Axes& axes);
Array tiled(const Array& x, const Shape& repeats);
Array rolled(const Array& x, const Shape& shifts, const Axes& axes);
Array padded(const Array& x, const Pads& pads, double value);
Array mirrored(const Array& x, const Pads& pads, bool with_edge);
Array cropped(const Array& x, const Pads& crops);
Array stacked(const Arrays& parts, int axis);

Array gathered(const Array& x, const Array& indices, int axis, int batch_dims);
// What gathered's gradient adds up to.
Array gathered_back(const Array& dy, const Array& indices, const Shape& shape, int axis,
                    int batch_dims);
Array gathered_nd(const Array& x, const Array& indices);
using Combine = double (*)(double old, double update);
Array scattered(Array into, const Array& indices, const Array& updates, Combine combine);
Array taken_along(const Array& x, const Array& indices, int axis);
Array one_hot_of(const Array& indices, std::int64_t depth, int axis, double on, double off);
Array places_of_true(const Array& x);
Array masked(const Array& x, const Array& mask, int axis);

// Places along the axis, in order of the elements; NaN is the largest.
Array order_of(const Array& x, int axis, bool descending);
Array first_places(const Array& x, std::int64_t k, bool largest);
struct Differing {
  Array values;
  Array inverse;
};
Differing differing(const Array& x, int axis);
Array searched(const Array& sorted, const Array& values, bool right);

Array counted(const Array& x, const Array* weights, std::int64_t size, bool binary);
Array binned(const Array& x, double low, double high, std::int64_t bins);

Array space_to_batch(const Array& x, const Shape& block, const Pads& pads);
Array batch_to_space(const Array& x, const Shape& block, const Pads& crops);
// Channels of one image format as blocks of pixels; `first`: channels come before the pixels.
Array depth_to_pixels(const Array& x, std::int64_t block, bool first);
Array pixels_to_depth(const Array& x, std::int64_t block, bool first);

}  // namespace tenure::testing
