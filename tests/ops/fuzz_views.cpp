#include <algorithm>

#include "ops/apply.h"
#include "ops/attrs.h"
#include "reference_indexing.h"
#include "trials.h"

namespace tenure::testing {
namespace {

int normal(int axis, int rank) { return axis < 0 ? axis + rank : axis; }

// Some factors of `count`, in as many axes.
Shape factors(Dice& dice, std::int64_t count) {
  Shape shape;
  if (count == 0) return {dice.in(0, 3), 0, dice.in(0, 3)};
  while (count > 1) {
    std::vector<std::int64_t> divisors;
    for (std::int64_t d = 1; d <= count; ++d) {
      if (count % d == 0) divisors.push_back(d);
    }
    shape.push_back(dice.pick(divisors));
    count /= shape[-1];
  }
  if (dice.chance(0.3)) shape.push_back(1);
  return shape;
}

Trial reshape_trial(Dice& dice) {
  const Shape shape = dice.shape();
  const DType dtype = dice.pick(kAnything);
  const std::int64_t count = shape.numel();
  if (dice.chance(kInvalid)) {
    const Shape wrong = dice.chance(0.5) ? Shape{count + 1} : Shape{count + 2, -1, -1};
    return unsound({drawn(dice, shape, dtype)},
                   [wrong](Tensors in) { return reshape(OP_IN(0), wrong); },
                   {"reshape: ", text(wrong)});
  }
  const Shape to = factors(dice, count);
  Shape asked = to;
  if (count > 0 && to.rank() > 0 && dice.chance(0.5)) asked[dice.axis(to.rank())] = -1;
  return sound(
      {drawn(dice, shape, dtype)}, dtype, [asked](Tensors in) { return reshape(OP_IN(0), asked); },
      [to](const Arrays& in) { return reshaped(in[0], to); });
}

Trial expand_dims_trial(Dice& dice) {
  const Shape shape = dice.shape();
  const DType dtype = dice.pick(kAnything);
  const int rank = shape.rank();
  if (dice.chance(kInvalid)) {
    const int axis = dice.chance(0.5) ? rank + 1 : -rank - 2;
    return unsound({drawn(dice, shape, dtype)},
                   [axis](Tensors in) { return expand_dims(OP_IN(0), axis); },
                   {"expand_dims: axis " + text(axis), text(shape)});
  }
  const int axis = dice.axis(rank + 1);
  Shape to;
  for (int i = 0; i <= rank; ++i) {
    if (i == normal(axis, rank + 1)) to.push_back(1);
    if (i < rank) to.push_back(shape[i]);
  }
  return sound(
      {drawn(dice, shape, dtype)}, dtype,
      [axis](Tensors in) { return expand_dims(OP_IN(0), axis); },
      [to](const Arrays& in) { return reshaped(in[0], to); });
}

Trial squeeze_trial(Dice& dice) {
  Shape shape = dice.shape(1, 5, 3);
  const DType dtype = dice.pick(kAnything);
  const int rank = shape.rank();
  if (dice.chance(kInvalid)) {
    const int axis = dice.axis(rank);
    shape[axis] = dice.in(2, 4);
    return unsound({drawn(dice, shape, dtype)},
                   [axis](Tensors in) { return squeeze(OP_IN(0), {axis}); },
                   {"squeeze: axis " + text(normal(axis, rank)), text(shape)});
  }
  const bool all = dice.chance(0.4);
  const Axes axes = dice.axes(rank);
  std::vector<bool> drop(static_cast<std::size_t>(rank));
  for (const std::int64_t axis : axes) {
    const int at = normal(static_cast<int>(axis), rank);
    if (!all) shape[at] = 1;
    drop[static_cast<std::size_t>(at)] = true;
  }
  Shape to;
  for (int i = 0; i < rank; ++i) {
    if (all ? shape[i] != 1 : !drop[static_cast<std::size_t>(i)]) to.push_back(shape[i]);
  }
  return sound(
      {drawn(dice, shape, dtype)}, dtype,
      [=](Tensors in) { return all ? squeeze(OP_IN(0)) : squeeze(OP_IN(0), axes); },
      [to](const Arrays& in) { return reshaped(in[0], to); });
}

Trial transpose_trial(Dice& dice) {
  const Shape shape = dice.shape(1);
  const DType dtype = dice.pick(kAnything);
  Axes order = shape, asked;
  for (int i = 0; i < order.rank(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), dice.random);
  for (const std::int64_t axis : order) {
    asked.push_back(dice.chance(0.5) ? axis : axis - shape.rank());
  }
  if (dice.chance(kInvalid)) {
    asked[0] = dice.chance(0.5) ? shape.rank() : asked[0];
    if (asked[0] != shape.rank()) asked.push_back(0);
    return unsound({drawn(dice, shape, dtype)},
                   [asked](Tensors in) { return transpose(OP_IN(0), asked); },
                   {"transpose: ", text(shape)});
  }
  return sound(
      {drawn(dice, shape, dtype)}, dtype,
      [asked](Tensors in) { return transpose(OP_IN(0), asked); },
      [order](const Arrays& in) { return permuted(in[0], order); });
}

Trial slice_trial(Dice& dice) {
  const Shape shape = dice.shape(1);
  const DType dtype = dice.pick(kAnything);
  Shape begin, size, step, asked_begin, asked_size;
  for (const std::int64_t dim : shape) {
    const std::int64_t first = dim > 0 ? dice.in(0, dim - 1) : 0;
    const std::int64_t by = dice.chance(0.5)   ? 1
                            : dice.chance(0.5) ? dice.in(2, 3)
                                               : -dice.in(1, 3);
    std::int64_t room = 0;
    for (std::int64_t at = first; at >= 0 && at < dim; at += by) ++room;
    const bool rest = dice.chance(0.3);
    begin.push_back(first);
    asked_begin.push_back(dim > 0 && dice.chance(0.3) ? first - dim : first);
    size.push_back(rest ? room : dice.in(0, room));
    asked_size.push_back(rest ? -1 : size[-1]);
    step.push_back(by);
  }
  if (dice.chance(kInvalid)) {
    const int axis = static_cast<int>(dice.in(0, shape.rank() - 1));
    switch (dice.in(0, 2)) {
      case 0:
        step[axis] = 0;
        break;
      case 1:
        asked_begin[axis] = shape[axis] + 1;
        break;
      default:
        asked_size[axis] = shape[axis] + 1;
    }
    return unsound({drawn(dice, shape, dtype)},
                   [=](Tensors in) { return slice(OP_IN(0), asked_begin, asked_size, step); },
                   {"slice: begin " + text(asked_begin) + ", size " + text(asked_size) + ", step " +
                    text(step) + " do not fit " + text(shape)});
  }
  return sound(
      {drawn(dice, shape, dtype)}, dtype,
      [=](Tensors in) { return slice(OP_IN(0), asked_begin, asked_size, step); },
      [=](const Arrays& in) { return sliced(in[0], begin, size, step); });
}

ops::UnsliceAttrs drawn_place(Dice& dice, const Shape& size) {
  ops::UnsliceAttrs attrs;
  for (const std::int64_t dim : size) {
    const std::int64_t by = dice.in(1, 3) * (dice.chance(0.3) ? -1 : 1);
    const std::int64_t reach = dim > 0 ? (dim - 1) * (by < 0 ? -by : by) : 0;
    const std::int64_t before = dice.in(0, 2);
    attrs.step.push_back(by);
    attrs.begin.push_back(before + (by < 0 ? reach : 0));
    attrs.shape.push_back(before + reach + 1 + dice.in(0, 2));
  }
  return attrs;
}

// These two have no public function, and so no checks of their own.
Trial unslice_trial(Dice& dice) {
  const Shape size = dice.shape(0, 3, 4);
  const DType dtype = dice.pick(kAnything);
  const ops::UnsliceAttrs attrs = drawn_place(dice, size);
  return sound(
      {drawn(dice, size, dtype)}, dtype,
      [attrs](Tensors in) {
        Tensor out;
        ops::apply_into(op_named("unslice"), in, ops::ref(attrs), std::source_location::current(),
                        {&out, 1});
        return out;
      },
      [attrs](const Arrays& in) { return unsliced(in[0], attrs.shape, attrs.begin, attrs.step); });
}

Trial add_slice_trial(Dice& dice) {
  const Shape size = dice.shape(0, 3, 4);
  const DType dtype = dice.pick(kFloats);
  const ops::UnsliceAttrs attrs = drawn_place(dice, size);
  return sound(
      {drawn(dice, attrs.shape, dtype), drawn(dice, size, dtype)}, dtype,
      [attrs](Tensors in) {
        Tensor out;
        ops::apply_into(op_named("add_slice"), in, ops::ref(attrs), std::source_location::current(),
                        {&out, 1});
        return out;
      },
      [attrs](const Arrays& in) {
        Array sum = unsliced(in[1], attrs.shape, attrs.begin, attrs.step);
        for (std::size_t i = 0; i < sum.data.size(); ++i) sum.data[i] += in[0].data[i];
        return sum;
      });
}

Trial broadcast_to_trial(Dice& dice) {
  const Shape to = dice.shape(1);
  const DType dtype = dice.pick(kAnything);
  Shape from = dice.narrowed(to);
  const auto run = [to](Tensors in) { return broadcast_to(OP_IN(0), to); };
  if (dice.chance(kInvalid)) {
    from = to;
    from[dice.axis(to.rank())] += 2;
    return unsound({drawn(dice, from, dtype)}, run, {"broadcast_to: ", text(from), text(to)});
  }
  return sound({drawn(dice, from, dtype)}, dtype, run,
               [to](const Arrays& in) { return broadcasted(in[0], to); });
}

// The same values: every tensor will do.
Fuzz same_value(const char* name, std::function<Tensor(Tensors)> run) {
  return {name, {name}, [run](Dice& dice) {
            const DType dtype = dice.pick(kAnything);
            return sound({drawn(dice, dice.shape(), dtype)}, dtype, run,
                         [](const Arrays& in) { return in[0]; });
          }};
}

Trial index_trial(Dice& dice) {
  const Shape shape = dice.shape(1, 4, 5, 1);
  const DType dtype = dice.pick(kAnything);
  std::int64_t at = dice.in(-shape[0], shape[0] - 1);
  if (dice.chance(kInvalid)) {
    at = dice.chance(0.5) ? shape[0] : -shape[0] - 1;
    return unsound({drawn(dice, shape, dtype)}, [at](Tensors in) { return in[0][at]; },
                   {"index: " + text(at) + " out of range for " + text(shape)});
  }
  return sound(
      {drawn(dice, shape, dtype)}, dtype, [at](Tensors in) { return in[0][at]; },
      [at](const Arrays& in) {
        const Shape& dims = in[0].shape;
        Shape begin = Shape::filled(dims.rank(), 0), size = dims;
        begin[0] = at < 0 ? at + dims[0] : at;
        size[0] = 1;
        return reshaped(sliced(in[0], begin, size, Shape::filled(dims.rank(), 1)),
                        Shape(dims.dims().subspan(1)));
      });
}

// Draws the entries in order of the axes they are about.
Trial strided_slice_trial(Dice& dice) {
  const Shape shape = dice.shape(1, 4, 5, 1);
  const DType dtype = dice.pick(kAnything);
  Shape begin, end, strides, to;
  StridedSliceOptions options;
  std::vector<Index> places;
  const auto add_entry = [&](std::int64_t first, std::int64_t last, std::int64_t stride) {
    begin.push_back(first);
    end.push_back(last);
    strides.push_back(stride);
    return 1U << (begin.rank() - 1);
  };
  int ellipsis_from = -1, ellipsis_to = -1;
  if (dice.chance(0.4)) {
    ellipsis_from = static_cast<int>(dice.in(0, shape.rank()));
    ellipsis_to = static_cast<int>(dice.in(ellipsis_from, shape.rank()));
  }
  const int stop = dice.chance(0.3) && ellipsis_from < 0
                       ? static_cast<int>(dice.in(0, shape.rank()))
                       : shape.rank();
  const auto whole_axis = [&](int axis) {
    Index all;
    for (std::int64_t i = 0; i < shape[axis]; ++i) all.push_back(i);
    places.push_back(all);
    to.push_back(shape[axis]);
  };
  for (int axis = 0; axis <= shape.rank(); ++axis) {
    if (dice.chance(0.15) && axis <= stop) {
      options.new_axis_mask |= add_entry(dice.in(-9, 9), dice.in(-9, 9), 1);
      to.push_back(1);
    }
    if (axis == ellipsis_from) {
      options.ellipsis_mask |= add_entry(0, 0, 1);
      for (; axis < ellipsis_to; ++axis) whole_axis(axis);
    }
    if (axis == shape.rank()) break;
    if (axis >= stop) {
      whole_axis(axis);
      continue;
    }
    const std::int64_t dim = shape[axis];
    if (dice.chance(0.2)) {
      const std::int64_t at = dice.in(-dim, dim - 1);
      options.shrink_axis_mask |= add_entry(at, 0, 1);
      places.push_back({at < 0 ? at + dim : at});
      continue;
    }
    const std::int64_t stride = dice.in(1, 3) * (dice.chance(0.5) ? 1 : -1);
    std::int64_t first = dice.in(-dim - 2, dim + 2), last = dice.in(-dim - 2, dim + 2);
    const unsigned bit = add_entry(first, last, stride);
    const bool from_start = dice.chance(0.2), to_end = dice.chance(0.2);
    if (from_start) options.begin_mask |= bit;
    if (to_end) options.end_mask |= bit;
    if (first < 0) first += dim;
    if (last < 0) last += dim;
    Index along;
    for (std::int64_t i = stride > 0 ? 0 : dim - 1; i >= 0 && i < dim; i += stride > 0 ? 1 : -1) {
      const bool begun = from_start || (stride > 0 ? i >= first : i <= first);
      const bool ended = !to_end && (stride > 0 ? i >= last : i <= last);
      if (begun && !ended) along.push_back(i);
    }
    Index stepped;
    const auto by = static_cast<std::size_t>(stride > 0 ? stride : -stride);
    for (std::size_t i = 0; i < along.size(); i += by) stepped.push_back(along[i]);
    places.push_back(stepped);
    to.push_back(static_cast<std::int64_t>(stepped.size()));
  }
  if (dice.chance(kInvalid)) {
    std::vector<std::string> complaint{"strided_slice: "};
    if (dice.chance(0.4)) {
      strides.push_back(1);
      complaint.push_back(text(strides));
    } else if (dice.chance(0.5)) {
      begin = end = strides = Shape::filled(shape.rank() + 1, 1);
      options = {};
      complaint.push_back(text(shape.rank() + 1) + " entries");
      complaint.push_back(text(shape));
    } else {
      begin = end = strides = {shape[0]};
      options = {.shrink_axis_mask = 1};
      complaint.push_back("index " + text(shape[0]) + " is out of range for axis 0 of " +
                          text(shape));
    }
    return unsound(
        {drawn(dice, shape, dtype)},
        [=](Tensors in) { return strided_slice(OP_IN(0), begin, end, strides, options); },
        complaint);
  }
  return sound(
      {drawn(dice, shape, dtype)}, dtype,
      [=](Tensors in) { return strided_slice(OP_IN(0), begin, end, strides, options); },
      [=](const Arrays& in) { return reshaped(picked(in[0], places), to); });
}

Trial reverse_trial(Dice& dice) {
  const Shape shape = dice.shape(1);
  const DType dtype = dice.pick(kAnything);
  if (dice.chance(kInvalid)) {
    const int axis = shape.rank();
    return unsound({drawn(dice, shape, dtype)},
                   [axis](Tensors in) { return reverse(OP_IN(0), {axis}); },
                   {"reverse: axis " + text(axis) + " out of range for " + text(shape)});
  }
  const Axes axes = dice.axes(shape.rank());
  return sound(
      {drawn(dice, shape, dtype)}, dtype, [axes](Tensors in) { return reverse(OP_IN(0), axes); },
      [axes](const Arrays& in) { return reversed(in[0], axes); });
}

Trial split_trial(Dice& dice) {
  Shape shape = dice.shape(1);
  const DType dtype = dice.pick(kAnything);
  const int axis = dice.axis(shape.rank()), at = normal(axis, shape.rank());
  Shape sizes;
  const bool equal = dice.chance(0.4);
  const std::int64_t parts = dice.in(1, 4), each = dice.in(0, 2);
  for (std::int64_t i = 0; i < parts; ++i) sizes.push_back(equal ? each : dice.in(0, 3));
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) total += size;
  shape[at] = total;
  if (dice.chance(kInvalid)) {
    if (equal) {
      shape[at] = parts * each + 1;
      const int too_many = static_cast<int>(parts) + 1;
      shape[at] = too_many * each + 1;
      return unsound({drawn(dice, shape, dtype)},
                     [=](Tensors in) { return split(OP_IN(0), too_many, axis)[0]; },
                     {"split: axis " + text(at) + " of " + text(shape) + " does not split into " +
                      text(too_many)});
    }
    sizes.push_back(1);
    return unsound({drawn(dice, shape, dtype)},
                   [=](Tensors in) { return split(OP_IN(0), sizes, axis)[0]; },
                   {"split: sizes " + text(sizes) + " do not add up to axis " + text(at) + " of " +
                    text(shape)});
  }
  const auto which = static_cast<std::size_t>(dice.in(0, parts - 1));
  Shape asked = sizes;
  if (dice.chance(0.4)) asked[static_cast<int>(dice.in(0, parts - 1))] = -1;
  return sound(
      {drawn(dice, shape, dtype)}, dtype,
      [=](Tensors in) {
        return equal ? split(OP_IN(0), static_cast<int>(parts), axis)[which]
                     : split(OP_IN(0), asked, axis)[which];
      },
      [=](const Arrays& in) {
        Shape begin = Shape::filled(shape.rank(), 0), size = shape;
        for (std::size_t i = 0; i < which; ++i) begin[at] += sizes[static_cast<int>(i)];
        size[at] = sizes[static_cast<int>(which)];
        return sliced(in[0], begin, size, Shape::filled(shape.rank(), 1));
      });
}

Trial unstack_trial(Dice& dice) {
  const Shape shape = dice.shape(1, 4, 4, 1);
  const DType dtype = dice.pick(kAnything);
  const int axis = dice.axis(shape.rank()), at = normal(axis, shape.rank());
  if (dice.chance(kInvalid)) {
    const int wrong = -shape.rank() - 1;
    return unsound({drawn(dice, shape, dtype)},
                   [wrong](Tensors in) { return unstack(OP_IN(0), wrong)[0]; },
                   {"unstack: axis " + text(wrong) + " out of range for " + text(shape)});
  }
  const std::int64_t which = dice.in(0, shape[at] - 1);
  return sound(
      {drawn(dice, shape, dtype)}, dtype,
      [=](Tensors in) { return unstack(OP_IN(0), axis)[static_cast<std::size_t>(which)]; },
      [=](const Arrays& in) {
        const Array place{{}, {static_cast<double>(which)}};
        return gathered(in[0], place, at, 0);
      });
}

Trial tile_trial(Dice& dice) {
  const Shape shape = dice.shape(0, 4, 4);
  const DType dtype = dice.pick(kAnything);
  Shape repeats;
  for (int i = 0; i < shape.rank(); ++i) repeats.push_back(dice.chance(0.05) ? 0 : dice.in(1, 3));
  if (dice.chance(kInvalid)) repeats.push_back(2);
  const auto run = [repeats](Tensors in) { return tile(OP_IN(0), repeats); };
  if (repeats.rank() != shape.rank()) {
    return unsound({drawn(dice, shape, dtype)}, run,
                   {"tile: " + text(repeats), "axis of " + text(shape)});
  }
  return sound({drawn(dice, shape, dtype)}, dtype, run,
               [repeats](const Arrays& in) { return tiled(in[0], repeats); });
}

Trial meshgrid_trial(Dice& dice) {
  const DType dtype = dice.pick(kAnything);
  const bool xy = dice.chance(0.5);
  const std::int64_t count = dice.in(1, 4);
  std::vector<Drawn> inputs;
  Shape grid;
  for (std::int64_t i = 0; i < count; ++i) {
    inputs.push_back(drawn(dice, {dice.in(1, 4)}, dtype));
    grid.push_back(inputs.back().values.shape[0]);
  }
  const auto which = static_cast<std::size_t>(dice.in(0, count - 1));
  const auto run = [=](Tensors in) {
    return meshgrid(std::move(in), xy ? GridIndexing::xy : GridIndexing::ij)[which];
  };
  if (dice.chance(kInvalid)) {
    inputs.back() = drawn(dice, {2, 3}, dtype);
    return unsound(std::move(inputs), run,
                   {"meshgrid: input " + text(count - 1) + " is [2, 3], not a vector"});
  }
  const bool swap = xy && count > 1;
  if (swap) std::swap(grid[0], grid[1]);
  const std::size_t axis = swap && which < 2 ? 1 - which : which;
  return sound(std::move(inputs), dtype, run, [=](const Arrays& in) {
    return filled(grid, [&](const Index& index) {
      return in[which].data[static_cast<std::size_t>(index[axis])];
    });
  });
}

Tensor copied(Tensors in) {
  Tensor out;
  ops::apply_into(op_named("copy"), in, {}, std::source_location::current(), {&out, 1});
  return out;
}

}  // namespace

std::vector<Fuzz> views_fuzz() {
  return {{"reshape", {"reshape"}, reshape_trial},
          {"expand_dims", {"expand_dims"}, expand_dims_trial},
          {"squeeze", {"squeeze"}, squeeze_trial},
          {"transpose", {"transpose"}, transpose_trial},
          {"slice", {"slice"}, slice_trial},
          {"unslice", {"unslice"}, unslice_trial},
          {"add_slice", {"add_slice"}, add_slice_trial},
          {"broadcast_to", {"broadcast_to"}, broadcast_to_trial},
          same_value("clone", [](Tensors in) { return in[0].clone(); }),
          same_value("copy", copied),
          same_value("contiguous", [](Tensors in) { return contiguous(OP_IN(0)); }),
          same_value("stop_gradient", [](Tensors in) { return stop_gradient(OP_IN(0)); }),
          {"index", {"index"}, index_trial},
          {"strided_slice", {"strided_slice"}, strided_slice_trial},
          {"reverse", {"reverse"}, reverse_trial},
          {"split", {"split"}, split_trial},
          {"unstack", {"unstack"}, unstack_trial},
          {"tile", {"tile"}, tile_trial},
          {"meshgrid", {"meshgrid"}, meshgrid_trial}};
}

}  // namespace tenure::testing
