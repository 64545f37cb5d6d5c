// Views that are made of slices, reshapes and broadcasts.
#include <algorithm>
#include <limits>

#include "core/count.h"
#include "core/raise.h"
#include "memory/context.h"
#include "ops/operands.h"
#include "ops/promote.h"
#include "tensor/create.h"
#include "tenure/views.h"

namespace tenure {
namespace {

using detail::CallScope;
using ops::live_operand;
using ops::normal_axis;

// What strided_slice's entries come to: a slice of every axis, and the shape without the axes that
// are given up and with the new ones.
struct DenseSlice {
  Shape begin, size, step;
  Shape shape;
};

// Where a begin or an end that was given lies: between the first element and past the last, in the
// direction of the stride.
std::int64_t clamped(std::int64_t at, std::int64_t dim, std::int64_t stride) {
  if (at < 0) at += dim;
  return stride > 0 ? std::clamp<std::int64_t>(at, 0, dim)
                    : std::clamp<std::int64_t>(at, -1, dim - 1);
}

void add_axis(DenseSlice& dense, std::int64_t begin, std::int64_t size, std::int64_t step) {
  dense.begin.push_back(size > 0 ? begin : 0);
  dense.size.push_back(size);
  dense.step.push_back(step);
}

void add_range(DenseSlice& dense, std::int64_t begin, std::int64_t end, std::int64_t stride) {
  const std::int64_t distance = stride > 0 ? end - begin : begin - end;
  // Divided by the stride as it is: the lowest number there is has no opposite.
  const std::int64_t steps = distance > 0 ? (distance - 1) / stride : 0;
  const std::int64_t size = distance > 0 ? 1 + (stride > 0 ? steps : -steps) : 0;
  add_axis(dense, begin, size, stride);
  dense.shape.push_back(size);
}

DenseSlice dense_slice(const Shape& shape, const Shape& begin, const Shape& end,
                       const Shape& strides, const StridedSliceOptions& options) {
  const int entries = begin.rank();
  const auto in = [](std::uint32_t mask, int i) { return i < 32 && (mask >> i & 1U) != 0; };
  int ellipsis = entries;
  int consumed = 0;
  for (int i = 0; i < entries; ++i) {
    if (in(options.ellipsis_mask, i)) {
      if (ellipsis != entries) {
        raise<ShapeError>("strided_slice: more than one ellipsis: {:#b}", options.ellipsis_mask);
      }
      ellipsis = i;
    } else if (!in(options.new_axis_mask, i)) {
      ++consumed;
    }
  }
  if (consumed > shape.rank()) {
    raise<ShapeError>("strided_slice: {} entries are about axes, but {} has {}", consumed, shape,
                      shape.rank());
  }
  DenseSlice dense;
  const auto add_whole_axes = [&] {
    for (int count = shape.rank() - consumed; count > 0; --count) {
      const std::int64_t dim = shape[dense.size.rank()];
      add_axis(dense, 0, dim, 1);
      dense.shape.push_back(dim);
    }
  };
  for (int i = 0; i < entries; ++i) {
    if (i == ellipsis) {
      add_whole_axes();
      continue;
    }
    if (in(options.new_axis_mask, i)) {
      dense.shape.push_back(1);
      continue;
    }
    const int axis = dense.size.rank();
    const std::int64_t dim = shape[axis], stride = strides[i];
    if (stride == 0) raise<ShapeError>("strided_slice: stride {} is 0: {}", i, strides);
    if (in(options.shrink_axis_mask, i)) {
      const std::int64_t at = begin[i] < 0 ? begin[i] + dim : begin[i];
      if (at < 0 || at >= dim) {
        raise<ShapeError>("strided_slice: index {} is out of range for axis {} of {}", begin[i],
                          axis, shape);
      }
      if (stride < 0) {
        raise<ShapeError>("strided_slice: entry {} takes one element, but its stride is {}", i,
                          stride);
      }
      add_axis(dense, at, 1, 1);
      continue;
    }
    const std::int64_t first = stride > 0 ? 0 : dim - 1, past = stride > 0 ? dim : -1;
    add_range(dense, in(options.begin_mask, i) ? first : clamped(begin[i], dim, stride),
              in(options.end_mask, i) ? past : clamped(end[i], dim, stride), stride);
  }
  if (ellipsis == entries) add_whole_axes();
  return dense;
}

Tensor reverse(Arg& x, const Axes* axes) {
  const detail::UserLine site(x.site());
  const CallScope call("reverse", site);
  Tensor tensor = live_operand("reverse", 0, std::move(x));
  const Shape size = tensor.shape();
  Shape begin = Shape::filled(size.rank(), 0), step = Shape::filled(size.rank(), 1);
  for (const std::int64_t axis :
       axes != nullptr ? ops::normal_axes("reverse", *axes, size) : ops::all_axes(size)) {
    const int i = static_cast<int>(axis);
    begin[i] = std::max<std::int64_t>(size[i] - 1, 0);
    step[i] = -1;
  }
  return slice(Arg(std::move(tensor), site), begin, size, step);
}

std::vector<Tensor> split(const Tensor& tensor, const Shape& sizes, int axis,
                          std::source_location site) {
  Shape begin = Shape::filled(tensor.rank(), 0), size = tensor.shape();
  std::vector<Tensor> parts;
  for (const std::int64_t part : sizes) {
    size[axis] = part;
    parts.push_back(slice(Arg(tensor, site), begin, size));
    begin[axis] += part;
  }
  return parts;
}

}  // namespace

Tensor strided_slice(Arg x, const Shape& begin, const Shape& end, const Shape& strides,
                     StridedSliceOptions options) {
  const detail::UserLine site(x.site());
  const CallScope call("strided_slice", site);
  Tensor tensor = live_operand("strided_slice", 0, std::move(x));
  if (begin.rank() != end.rank() || begin.rank() != strides.rank()) {
    raise<ShapeError>("strided_slice: begin {}, end {} and strides {} differ in length", begin, end,
                      strides);
  }
  const DenseSlice dense = dense_slice(tensor.shape(), begin, end, strides, options);
  Tensor cut = slice(Arg(std::move(tensor), site), dense.begin, dense.size, dense.step);
  return reshape(Arg(std::move(cut), site), dense.shape);
}

Tensor reverse(Arg x) { return reverse(x, nullptr); }
Tensor reverse(Arg x, const Axes& axes) { return reverse(x, &axes); }

std::vector<Tensor> split(Arg x, int parts, int axis) {
  const detail::UserLine site(x.site());
  const CallScope call("split", site);
  const Tensor tensor = live_operand("split", 0, std::move(x));
  const Shape& shape = tensor.shape();
  axis = normal_axis("split", axis, shape);
  if (parts < 1 || shape[axis] % parts != 0) {
    raise<ShapeError>("split: axis {} of {} does not split into {} equal parts", axis, shape,
                      parts);
  }
  return split(tensor, Shape::filled(parts, shape[axis] / parts), axis, site);
}

std::vector<Tensor> split(Arg x, const Shape& sizes, int axis) {
  const detail::UserLine site(x.site());
  const CallScope call("split", site);
  const Tensor tensor = live_operand("split", 0, std::move(x));
  const Shape& shape = tensor.shape();
  axis = normal_axis("split", axis, shape);
  Shape wanted = sizes;
  int rest = -1;
  std::int64_t total = 0;
  bool sound = true;
  for (int i = 0; i < sizes.rank(); ++i) {
    if (sizes[i] == -1 && rest < 0) {
      rest = i;
    } else {
      sound = sound && sizes[i] >= 0;
      total = count_sum(total, sizes[i]);
    }
  }
  if (rest >= 0) wanted[rest] = shape[axis] - total;
  if (!sound || (rest >= 0 ? total > shape[axis] : total != shape[axis])) {
    raise<ShapeError>("split: sizes {} do not add up to axis {} of {}", sizes, axis, shape);
  }
  return split(tensor, wanted, axis, site);
}

std::vector<Tensor> unstack(Arg x, int axis) {
  const detail::UserLine site(x.site());
  const CallScope call("unstack", site);
  const Tensor tensor = live_operand("unstack", 0, std::move(x));
  const Shape& shape = tensor.shape();
  axis = normal_axis("unstack", axis, shape);
  Shape kept;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != axis) kept.push_back(shape[i]);
  }
  if (shape[axis] > std::numeric_limits<int>::max()) {
    raise<ShapeError>("unstack: axis {} of {} makes more tensors than can be held", axis, shape);
  }
  std::vector<Tensor> parts =
      split(tensor, Shape::filled(static_cast<int>(shape[axis]), 1), axis, site);
  for (Tensor& part : parts) part = reshape(Arg(std::move(part), site), kept);
  return parts;
}

Tensor tile(Arg x, const Shape& repeats) {
  const detail::UserLine site(x.site());
  const CallScope call("tile", site);
  Tensor tensor = live_operand("tile", 0, std::move(x));
  const Shape shape = tensor.shape();
  if (repeats.rank() != shape.rank() ||
      std::any_of(repeats.begin(), repeats.end(), [](std::int64_t n) { return n < 0; })) {
    raise<ShapeError>("tile: {} does not say how often to repeat each axis of {}", repeats, shape);
  }
  Shape apart, repeated, wanted;  // every axis with one before it, over which it is repeated
  for (int axis = 0; axis < shape.rank(); ++axis) {
    apart.push_back(1);
    apart.push_back(shape[axis]);
    repeated.push_back(repeats[axis]);
    repeated.push_back(shape[axis]);
    wanted.push_back(count_product(repeats[axis], shape[axis]));
  }
  detail::check_shape("tile", wanted, tensor.dtype());
  Tensor spread = broadcast_to(Arg(reshape(Arg(std::move(tensor), site), apart), site), repeated);
  return reshape(Arg(std::move(spread), site), wanted);
}

std::vector<Tensor> meshgrid(std::vector<Tensor> vectors, GridIndexing indexing,
                             std::source_location site) {
  const CallScope call("meshgrid", site);
  const int rank = static_cast<int>(vectors.size());
  const auto axis_of = [&](int i) {
    return indexing == GridIndexing::xy && rank > 1 && i < 2 ? 1 - i : i;
  };
  Shape grid = Shape::filled(rank, 1);
  for (int i = 0; i < rank; ++i) {
    const Tensor& vector = vectors[static_cast<std::size_t>(i)];
    ops::check_alive("meshgrid", i, vector, site);
    if (vector.rank() > 1) {
      raise<ShapeError>("meshgrid: input {} is {}, not a vector", i, vector.shape());
    }
    grid[axis_of(i)] = vector.numel();
  }
  for (int i = 0; i < rank; ++i) {
    Tensor& vector = vectors[static_cast<std::size_t>(i)];
    Shape along_axis = Shape::filled(rank, 1);
    along_axis[axis_of(i)] = vector.numel();
    vector = broadcast_to(Arg(reshape(Arg(std::move(vector), site), along_axis), site), grid);
  }
  return vectors;
}

}  // namespace tenure
