#include <algorithm>
#include <cmath>

#include "ops/apply.h"
#include "ops/gather_attrs.h"
#include "reference_indexing.h"
#include "trials.h"

namespace tenure::testing {
namespace {

const DTypes kSummable{DType::float32, DType::float64, DType::int32,
                       DType::int64,   DType::uint8,   DType::int8};

struct GatherDraw {
  Shape x, indices, result;
  int axis, batch_dims;
};

GatherDraw gather_draw(Dice& dice) {
  GatherDraw draw;
  draw.x = dice.shape(1, 4, 4, 1);
  draw.axis = static_cast<int>(dice.in(0, draw.x.rank() - 1));
  draw.batch_dims = dice.chance(0.5) ? 0 : static_cast<int>(dice.in(0, draw.axis));
  for (int i = 0; i < draw.batch_dims; ++i) draw.indices.push_back(draw.x[i]);
  for (int i = 0; i < draw.axis; ++i) draw.result.push_back(draw.x[i]);
  for (const std::int64_t dim : dice.shape(0, 2, 4)) {
    draw.indices.push_back(dim);
    draw.result.push_back(dim);
  }
  for (int i = draw.axis + 1; i < draw.x.rank(); ++i) draw.result.push_back(draw.x[i]);
  return draw;
}

Trial gather_trial(Dice& dice) {
  const GatherDraw d = gather_draw(dice);
  const DType dtype = dice.pick(kAnything);
  const GatherOptions options{dice.chance(0.5) ? d.axis : d.axis - d.x.rank(), d.batch_dims};
  const auto run = [options](Tensors in) { return gather(OP_IN(0), OP_IN(1), options); };
  const Drawn x = drawn(dice, d.x, dtype);
  if (dice.chance(kInvalid)) {
    if (d.indices.numel() > 0 && dice.chance(0.6)) {
      std::int64_t bad = 0, place = 0;
      const Drawn indices = drawn_bad_indices(dice, d.indices, d.x[d.axis], bad, place);
      return unsound({x, indices}, run,
                     {"gather: index " + text(bad) + " at position " + text(place) +
                      " is out of range: the axis has " + text(d.x[d.axis]) + " elements"});
    }
    if (dice.chance(0.5)) {
      return unsound({x, drawn(dice, d.indices, DType::float32)}, run,
                     {"gather: indices must be int32 or int64, not float32"});
    }
    const int wrong = d.x.rank();
    return unsound({x, drawn_indices(dice, d.indices, 1)},
                   [wrong](Tensors in) { return gather(OP_IN(0), OP_IN(1), {.axis = wrong}); },
                   {"gather: axis " + text(wrong) + " out of range for " + text(d.x)});
  }
  return sound({x, drawn_indices(dice, d.indices, d.x[d.axis])}, dtype, run,
               [d](const Arrays& in) { return gathered(in[0], in[1], d.axis, d.batch_dims); });
}

Trial gather_grad_trial(Dice& dice) {
  const GatherDraw d = gather_draw(dice);
  const DType dtype = dice.pick(kSummable);
  const ops::GatherGradAttrs attrs{d.x, d.axis, d.batch_dims};
  const auto run = [attrs](Tensors in) {
    Tensor out;
    ops::apply_into(op_named("gather_grad"), in, ops::ref(attrs), std::source_location::current(),
                    {&out, 1});
    return out;
  };
  const Drawn dy = drawn(dice, d.result, dtype, kWholeNumbers);
  if (d.indices.numel() > 0 && dice.chance(kInvalid)) {
    std::int64_t bad = 0, place = 0;
    const Drawn indices = drawn_bad_indices(dice, d.indices, d.x[d.axis], bad, place);
    return unsound({dy, indices}, run,
                   {"gather_grad: index " + text(bad) + " at position " + text(place)});
  }
  return sound(
      {dy, drawn_indices(dice, d.indices, d.x[d.axis])}, dtype, run,
      [d](const Arrays& in) { return gathered_back(in[0], in[1], d.x, d.axis, d.batch_dims); });
}

struct CoordinateDraw {
  Shape x, indices, updates;
  std::int64_t limit = 1;  // of every coordinate
};

CoordinateDraw coordinate_draw(Dice& dice) {
  CoordinateDraw draw;
  draw.x = dice.shape(1, 4, 4, 1);
  const std::int64_t depth = dice.in(0, draw.x.rank());
  draw.indices = dice.shape(0, 2, 4);
  draw.updates = draw.indices;
  draw.limit = 4;
  for (int i = 0; i < draw.x.rank(); ++i) {
    if (i < depth) {
      draw.limit = std::min(draw.limit, draw.x[i]);
    } else {
      draw.updates.push_back(draw.x[i]);
    }
  }
  draw.indices.push_back(depth);
  return draw;
}

// Of a coordinate that is out of range for its own axis.
Drawn bad_coordinates(Dice& dice, const CoordinateDraw& d, std::string& complaint) {
  Drawn indices = drawn_indices(dice, d.indices, d.limit);
  indices.lay = Lay::contiguous;
  const std::int64_t place = dice.in(0, d.indices.numel() - 1);
  const std::int64_t dim = d.x[static_cast<int>(place % d.indices[-1])];
  const std::int64_t bad = dice.chance(0.5) ? dim : -1;
  indices.values.data[static_cast<std::size_t>(place)] = static_cast<double>(bad);
  complaint = "index " + text(bad) + " at position " + text(place) +
              " is out of range: its axis has " + text(dim) + " elements";
  return indices;
}

Trial gather_nd_trial(Dice& dice) {
  const CoordinateDraw d = coordinate_draw(dice);
  const DType dtype = dice.pick(kAnything);
  const auto run = [](Tensors in) { return gather_nd(OP_IN(0), OP_IN(1)); };
  const Drawn x = drawn(dice, d.x, dtype);
  if (dice.chance(kInvalid)) {
    if (d.indices.numel() > 0 && dice.chance(0.7)) {
      std::string complaint;
      const Drawn indices = bad_coordinates(dice, d, complaint);
      return unsound({x, indices}, run, {"gather_nd: " + complaint});
    }
    const Shape wrong{2, d.x.rank() + 1};
    return unsound({x, drawn_indices(dice, wrong, 1)}, run,
                   {"gather_nd: " + text(wrong[1]) + " coordinates", text(d.x), text(wrong)});
  }
  return sound({x, drawn_indices(dice, d.indices, d.limit)}, dtype, run,
               [](const Arrays& in) { return gathered_nd(in[0], in[1]); });
}

double last(double, double update) { return update; }
double total(double old, double update) { return old + update; }
double smaller(double old, double update) { return std::fmin(old, update); }
double greater_of(double old, double update) { return std::fmax(old, update); }

Trial scatter_nd_trial(Dice& dice) {
  const CoordinateDraw d = coordinate_draw(dice);
  const DType dtype = dice.pick(kSummable);
  const auto run = [shape = d.x](Tensors in) { return scatter_nd(OP_IN(0), OP_IN(1), shape); };
  if (dice.chance(kInvalid)) {
    if (d.indices.numel() > 0 && dice.chance(0.6)) {
      std::string complaint;
      const Drawn indices = bad_coordinates(dice, d, complaint);
      return unsound({indices, drawn(dice, d.updates, dtype)}, run, {"scatter_nd: " + complaint});
    }
    Shape wrong = d.updates;
    wrong.push_back(2);
    return unsound({drawn_indices(dice, d.indices, d.limit), drawn(dice, wrong, dtype)}, run,
                   {"scatter_nd: updates are " + text(wrong) + ", not " + text(d.updates),
                    text(d.indices), text(d.x)});
  }
  return sound(
      {drawn_indices(dice, d.indices, d.limit), drawn(dice, d.updates, dtype, kWholeNumbers)},
      dtype, run, [d](const Arrays& in) {
        return scattered(filled(d.x, [](const Index&) { return 0.0; }), in[0], in[1], total);
      });
}

Fuzz scatter_fuzz(const char* op, Tensor (*scatter)(Arg, Arg, Arg), Combine combine,
                  const DTypes& dtypes) {
  return {
      op, {op}, [=](Dice& dice) {
        const CoordinateDraw d = coordinate_draw(dice);
        const DType dtype = dice.pick(dtypes);
        const auto run = [scatter](Tensors in) { return scatter(OP_IN(0), OP_IN(1), OP_IN(2)); };
        const Drawn x = drawn(dice, d.x, dtype, kWholeNumbers);
        const Drawn updates = drawn(dice, d.updates, dtype, kWholeNumbers);
        if (dice.chance(kInvalid)) {
          if (d.indices.numel() > 0 && dice.chance(0.6)) {
            std::string complaint;
            const Drawn indices = bad_coordinates(dice, d, complaint);
            return unsound({x, indices, updates}, run, {op + (": " + complaint)});
          }
          Shape wrong = d.updates;
          wrong.push_back(2);
          return unsound({x, drawn_indices(dice, d.indices, d.limit), drawn(dice, wrong, dtype)},
                         run, {op + (": updates are " + text(wrong)) + ", not " + text(d.updates)});
        }
        return sound(
            {x, drawn_indices(dice, d.indices, d.limit), updates}, dtype, run,
            [combine](const Arrays& in) { return scattered(in[0], in[1], in[2], combine); });
      }};
}

Trial take_along_axis_trial(Dice& dice) {
  const Shape shape = dice.shape(1, 4, 4, 1);
  const DType dtype = dice.pick(kAnything);
  const int axis = dice.axis(shape.rank()), at = axis < 0 ? axis + shape.rank() : axis;
  Shape indices = shape;
  indices[at] = dice.in(0, 5);
  const auto run = [axis](Tensors in) { return take_along_axis(OP_IN(0), OP_IN(1), axis); };
  const Drawn x = drawn(dice, shape, dtype);
  if (dice.chance(kInvalid)) {
    indices.push_back(2);
    return unsound({x, drawn_indices(dice, indices, 1)}, run,
                   {"take_along_axis: x " + text(shape) + " and indices " + text(indices)});
  }
  return sound({x, drawn_indices(dice, indices, shape[at])}, dtype, run,
               [at](const Arrays& in) { return taken_along(in[0], in[1], at); });
}

Trial one_hot_trial(Dice& dice) {
  const Shape shape = dice.shape(0, 3);
  const std::int64_t depth = dice.in(0, 5);
  const int axis = dice.axis(shape.rank() + 1);
  const DType dtype = dice.pick(DTypes{DType::float32, DType::float64, DType::int32, DType::int64,
                                       DType::uint8, DType::bfloat16});
  const std::int64_t on = dice.in(1, 5), off = dice.in(0, 1);
  const Drawn indices =
      drawn(dice, shape, dice.chance(0.5) ? DType::int32 : DType::int64, {.least = -1, .most = 5});
  const auto run = [=](int along) {
    return [=](Tensors in) {
      return one_hot(OP_IN(0), depth, {.on = on, .off = off, .axis = along, .dtype = dtype});
    };
  };
  if (dice.chance(kInvalid)) {
    if (dice.chance(0.5)) {
      const int wrong = shape.rank() + 1;
      return unsound({indices}, run(wrong), {"one_hot: axis " + text(wrong), text(shape)});
    }
    return unsound({indices}, [](Tensors in) { return one_hot(OP_IN(0), -2); },
                   {"one_hot: a depth of -2"});
  }
  return sound({indices}, dtype, run(axis), [=](const Arrays& in) {
    const int at = axis < 0 ? axis + in[0].shape.rank() + 1 : axis;
    return one_hot_of(in[0], depth, at, static_cast<double>(on), static_cast<double>(off));
  });
}

const Input kFew{.low = -1, .high = 1, .whole = true, .least = -1, .most = 1};

// Takes everything: nothing about it can be wrong.
Trial where_indices_trial(Dice& dice) {
  return sound(
      {drawn(dice, dice.shape(), dice.pick(kAnything), kFew)}, DType::int32,
      [](Tensors in) { return where_indices(OP_IN(0)); },
      [](const Arrays& in) { return places_of_true(in[0]); });
}

Trial boolean_mask_trial(Dice& dice) {
  const Shape shape = dice.shape(1);
  const DType dtype = dice.pick(kAnything);
  const int axis = static_cast<int>(dice.in(0, shape.rank() - 1));
  const std::int64_t covered = dice.in(1, shape.rank() - axis);
  Shape mask;
  for (int i = 0; i < covered; ++i) mask.push_back(shape[axis + i]);
  const int asked = dice.chance(0.5) ? axis : axis - shape.rank();
  const auto run = [asked](Tensors in) { return boolean_mask(OP_IN(0), OP_IN(1), asked); };
  if (dice.chance(kInvalid)) {
    mask[0] += 1;
    return unsound({drawn(dice, shape, dtype), drawn(dice, mask, DType::boolean)}, run,
                   {"boolean_mask: mask " + text(mask), text(shape)});
  }
  return sound({drawn(dice, shape, dtype), drawn(dice, mask, DType::boolean)}, dtype, run,
               [axis](const Arrays& in) { return masked(in[0], in[1], axis); });
}

}  // namespace

std::vector<Fuzz> gather_fuzz() {
  return {{"gather", {"gather"}, gather_trial},
          {"gather_grad", {"gather_grad"}, gather_grad_trial},
          {"gather_nd", {"gather_nd"}, gather_nd_trial},
          {"scatter_nd", {"scatter_nd"}, scatter_nd_trial},
          scatter_fuzz("tensor_scatter_update", tensor_scatter_update, last, kAnything),
          scatter_fuzz("tensor_scatter_add", tensor_scatter_add, total, kSummable),
          scatter_fuzz("tensor_scatter_min", tensor_scatter_min, smaller, kSummable),
          scatter_fuzz("tensor_scatter_max", tensor_scatter_max, greater_of, kSummable),
          {"take_along_axis", {"take_along_axis"}, take_along_axis_trial},
          {"one_hot", {"one_hot"}, one_hot_trial},
          {"where_indices", {"where_indices"}, where_indices_trial},
          {"boolean_mask", {"boolean_mask"}, boolean_mask_trial}};
}

}  // namespace tenure::testing
