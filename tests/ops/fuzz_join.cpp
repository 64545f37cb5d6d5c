#include "reference_indexing.h"
#include "trials.h"

namespace tenure::testing {
namespace {

Trial concat_trial(Dice& dice) {
  Shape shape = dice.shape(1);
  const DType dtype = dice.pick(kAnything);
  const int axis = dice.axis(shape.rank()), at = axis < 0 ? axis + shape.rank() : axis;
  std::vector<Drawn> inputs;
  const std::int64_t count = dice.in(1, 4);
  for (std::int64_t i = 0; i < count; ++i) {
    shape[at] = dice.in(0, 4);
    inputs.push_back(drawn(dice, shape, dtype));
  }
  const auto run = [axis](Tensors in) { return concat(std::move(in), axis); };
  if (dice.chance(kInvalid)) {
    shape.push_back(2);
    inputs.push_back(drawn(dice, shape, dtype));
    return unsound(std::move(inputs), run,
                   {"concat: input " + text(count) + " is " + text(shape), "axis " + text(at)});
  }
  return sound(std::move(inputs), dtype, run, [at](const Arrays& in) { return joined(in, at); });
}

Trial stack_trial(Dice& dice) {
  Shape shape = dice.shape(0, 3);
  const DType dtype = dice.pick(kAnything);
  const int axis = dice.axis(shape.rank() + 1);
  std::vector<Drawn> inputs;
  const std::int64_t count = dice.in(1, 4);
  for (std::int64_t i = 0; i < count; ++i) inputs.push_back(drawn(dice, shape, dtype));
  if (dice.chance(kInvalid)) {
    if (dice.chance(0.5)) {
      const int wrong = shape.rank() + 1;
      return unsound(std::move(inputs), [wrong](Tensors in) { return stack(std::move(in), wrong); },
                     {"stack: axis " + text(wrong), text(shape)});
    }
    const Shape first = shape;
    shape.push_back(2);
    inputs.push_back(drawn(dice, shape, dtype));
    return unsound(
        std::move(inputs), [axis](Tensors in) { return stack(std::move(in), axis); },
        {"stack: input " + text(count) + " is " + text(shape) + ", input 0 is " + text(first)});
  }
  return sound(
      std::move(inputs), dtype, [axis](Tensors in) { return stack(std::move(in), axis); },
      [axis](const Arrays& in) {
        return stacked(in, axis < 0 ? axis + in[0].shape.rank() + 1 : axis);
      });
}

Trial roll_trial(Dice& dice) {
  const Shape shape = dice.shape(1);
  const DType dtype = dice.pick(kAnything);
  Axes axes = dice.axes(shape.rank());
  Shape shifts;
  for (int i = 0; i < axes.rank(); ++i) shifts.push_back(dice.in(-9, 9));
  if (dice.chance(kInvalid)) {
    axes.push_back(0);
    return unsound({drawn(dice, shape, dtype)},
                   [=](Tensors in) { return roll(OP_IN(0), shifts, axes); },
                   {"roll: " + text(shifts.rank()) + " shifts for " + text(axes.rank()) + " axes"});
  }
  if (dice.chance(0.3)) {
    const std::int64_t shift = dice.in(-9, 9);
    return sound(
        {drawn(dice, shape, dtype)}, dtype, [shift](Tensors in) { return roll(OP_IN(0), shift); },
        [shift](const Arrays& in) {
          const Array flat = reshaped(in[0], {static_cast<std::int64_t>(in[0].data.size())});
          return reshaped(rolled(flat, {shift}, {0}), in[0].shape);
        });
  }
  return sound(
      {drawn(dice, shape, dtype)}, dtype, [=](Tensors in) { return roll(OP_IN(0), shifts, axes); },
      [=](const Arrays& in) { return rolled(in[0], shifts, axes); });
}

}  // namespace

std::vector<Fuzz> join_fuzz() {
  return {{"concat", {"concat"}, concat_trial},
          {"stack", {"stack"}, stack_trial},
          {"roll", {"roll"}, roll_trial}};
}

}  // namespace tenure::testing
