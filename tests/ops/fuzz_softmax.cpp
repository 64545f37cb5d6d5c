#include "fuzz.h"
#include "ops/apply.h"
#include "reference_lines.h"

namespace tenure::testing {
namespace {

Trial softmax_trial(bool logarithm, Dice& dice) {
  const DType dtype = dice.pick(kNumbers);
  const Shape shape = dice.shape(1, 4, dice.chance(0.3) ? 40 : 5);
  int axis = dice.axis(shape.rank());
  Trial trial;
  if (dice.chance(0.15)) {
    axis = dice.chance(0.5) ? shape.rank() + 1 : -shape.rank() - 2;
    trial.complaint = {logarithm ? "log_softmax" : "softmax",
                       "axis " + std::to_string(axis) + " out of range for " + to_string(shape)};
  }
  trial.inputs = {drawn(dice, shape, dtype, {.low = -20, .high = 20})};
  trial.run = [logarithm, axis](Tensors in) {
    return logarithm ? log_softmax(OP_IN(0), axis) : softmax(OP_IN(0), axis);
  };
  trial.expect = [logarithm, axis](const Arrays& in) { return softmax_of(in[0], axis, logarithm); };
  trial.result = float_dtype(dtype);
  // The difference from the largest element is rounded, at up to 40.
  trial.tolerance = {.ulps = 64, .epsilons = 64};
  return trial;
}

Trial gradient_trial(bool logarithm, Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  const char* name = logarithm ? "log_softmax_grad" : "softmax_grad";
  const Shape shape = dice.shape(1, 4, dice.chance(0.3) ? 40 : 5);
  Trial trial;
  Shape other = shape;
  if (dice.chance(0.15)) {
    other[0] += 1;
    trial.complaint = {std::string(name) + ": the result is " + to_string(shape) +
                       ", its gradient " + to_string(other)};
  }
  const ops::AxisAttrs attrs{static_cast<int>(dice.in(0, shape.rank() - 1))};
  trial.inputs = {drawn(dice, shape, dtype), drawn(dice, other, dtype)};
  trial.run = [name, attrs](Tensors in) {
    return ops::apply(op_named(name), ops::ref(attrs), std::source_location::current(), OP_IN(0),
                      OP_IN(1));
  };
  trial.expect = [logarithm, attrs](const Arrays& in) {
    return softmax_gradient_of(in, attrs.axis, logarithm);
  };
  trial.result = dtype;
  trial.tolerance = {.ulps = 8, .epsilons = 1024};
  return trial;
}

}  // namespace

std::vector<Fuzz> softmax_fuzz() {
  std::vector<Fuzz> rows;
  for (const bool logarithm : {false, true}) {
    const char* name = logarithm ? "log_softmax" : "softmax";
    const char* grad = logarithm ? "log_softmax_grad" : "softmax_grad";
    rows.push_back(
        {name, {name}, [logarithm](Dice& dice) { return softmax_trial(logarithm, dice); }});
    rows.push_back(
        {grad, {grad}, [logarithm](Dice& dice) { return gradient_trial(logarithm, dice); }});
  }
  return rows;
}

}  // namespace tenure::testing
