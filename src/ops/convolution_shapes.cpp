#include "ops/convolution_shapes.h"

#include <algorithm>
#include <limits>

#include "core/count.h"
#include "core/raise.h"

namespace tenure::ops {
namespace {

// Of strides, dilations and paddings: positions can be counted then, as far as a window reaches.
constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

// One value for each axis, from none, one or all of them.
Shape per_axis(const char* op, const char* what, const Shape& sizes, int axes, std::int64_t none,
               std::int64_t least) {
  Shape all = Shape::filled(axes, sizes.rank() == 0 ? none : sizes[0]);
  if (sizes.rank() > 1 && sizes.rank() != axes) {
    raise<ShapeError>("{}: {} {} are for {} axes, not {}", op, what, sizes, sizes.rank(), axes);
  }
  if (sizes.rank() == axes) all = sizes;
  if (std::any_of(all.begin(), all.end(), [least](std::int64_t v) { return v < least; })) {
    raise<ShapeError>("{}: {} must be at least {}: {}", op, what, least, sizes);
  }
  if (std::any_of(all.begin(), all.end(), [](std::int64_t v) { return v > kMost; })) {
    raise<ShapeError>("{}: {} must be at most {}: {}", op, what, kMost, sizes);
  }
  return all;
}

// Windows of `size` in `room`, which is at least as long.
std::int64_t windows(std::int64_t room, std::int64_t size, std::int64_t stride, Rounding rounding) {
  const std::int64_t left = room - size;
  switch (rounding) {
    case Rounding::nearest:
      return (2 * left + stride) / (2 * stride) + 1;
    case Rounding::up:
      return (left + stride - 1) / stride + 1;
    default:
      return left / stride + 1;
  }
}

void check_ranks(const char* op, int axes, const Shape& x, const Shape& filter) {
  if (x.rank() != axes + 2 && x.rank() != axes + 1) {
    raise<ShapeError>("{}: the input needs {} axes, or {} without a batch: {}", op, axes + 2,
                      axes + 1, x);
  }
  if (filter.rank() != axes + 2) {
    raise<ShapeError>("{}: the filter needs {} axes: {}", op, axes + 2, filter);
  }
}

void check_channels(const char* op, bool depthwise, const Shape& x, const Shape& filter,
                    std::int64_t channels, std::int64_t groups) {
  if (groups < 1 || (depthwise && groups != 1)) {
    raise<ShapeError>("{}: groups must be {}: {}", op, depthwise ? "1" : "at least 1", groups);
  }
  const std::int64_t taken = count_product(filter[-2], groups);
  if (channels != taken) {
    raise<ShapeError>("{}: the input has {} channels, the filter takes {}: {} and {}", op, channels,
                      taken, x, filter);
  }
  if (filter[-1] % groups != 0) {
    raise<ShapeError>("{}: {} groups do not divide the filter's {} outputs: {}", op, groups,
                      filter[-1], filter);
  }
}

}  // namespace

Axes to_last(int rank) {
  Axes axes;
  axes.push_back(0);
  for (int axis = 2; axis < rank; ++axis) axes.push_back(axis);
  axes.push_back(1);
  return axes;
}

Axes to_first(int rank) {
  Axes axes;
  axes.push_back(0);
  axes.push_back(rank - 1);
  for (int axis = 1; axis < rank - 1; ++axis) axes.push_back(axis);
  return axes;
}

namespace {

Shape permuted(const Shape& shape, const Axes& axes) {
  Shape result = shape;
  for (int i = 0; i < shape.rank(); ++i) result[i] = shape[static_cast<int>(axes[i])];
  return result;
}

}  // namespace

Shape channels_last(const Shape& shape, bool channels_first) {
  return channels_first ? permuted(shape, to_last(shape.rank())) : shape;
}
Shape as_given(const Shape& shape, bool channels_first) {
  return channels_first ? permuted(shape, to_first(shape.rank())) : shape;
}

ConvShapes conv_shapes(const char* op, int axes, bool depthwise, const Shape& x,
                       const Shape& filter, const ConvOptions& options) {
  check_ranks(op, axes, x, filter);
  Shape batched;
  if (x.rank() == axes + 1) batched.push_back(1);
  for (const std::int64_t dim : x) batched.push_back(dim);
  batched = channels_last(batched, options.channels_first);
  check_channels(op, depthwise, x, filter, batched[-1], options.groups);

  const Padding& padding = options.padding;
  ConvAttrs attrs{.strides = per_axis(op, "strides", options.strides, axes, 1, 1),
                  .dilations = per_axis(op, "dilations", options.dilations, axes, 1, 1),
                  .before = per_axis(op, "padding", padding.before, axes, 0, 0),
                  .result = {},
                  .groups = options.groups};
  const Shape after = per_axis(op, "padding", padding.after, axes, 0, 0);
  if (padding.kind == Padding::same && options.rounding != Rounding::down) {
    raise<ShapeError>("{}: same padding leaves nothing to round", op);
  }
  Shape y;
  y.push_back(batched[0]);
  for (int axis = 0; axis < axes; ++axis) {
    const std::int64_t size = batched[axis + 1];
    const std::int64_t stride = attrs.strides[axis];
    if (filter[axis] < 1) raise<ShapeError>("{}: the filter has an empty axis: {}", op, filter);
    const std::int64_t window =
        count_sum(count_product(filter[axis] - 1, attrs.dilations[axis]), 1);
    if (padding.kind == Padding::same) {
      const std::int64_t count = (size + stride - 1) / stride;
      attrs.before[axis] =
          std::max<std::int64_t>(0, count_sum((count - 1) * stride - size, window)) / 2;
      y.push_back(count);
      continue;
    }
    const std::int64_t room = attrs.before[axis] + size + after[axis];
    if (window > room) {
      raise<ShapeError>("{}: a window of {} does not fit into axis {} of size {}: {} and {}", op,
                        window, axis, room, x, filter);
    }
    y.push_back(windows(room, window, stride, options.rounding));
  }
  y.push_back(depthwise ? filter[-2] * filter[-1] : filter[-1]);
  return {std::move(batched), filter, std::move(y), std::move(attrs)};
}

}  // namespace tenure::ops
