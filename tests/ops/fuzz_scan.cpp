#include "fuzz.h"
#include "ops/apply.h"
#include "ops/scan_attrs.h"
#include "reference_lines.h"

namespace tenure::testing {
namespace {

std::string out_of_range(int axis, const Shape& shape) {
  return "axis " + std::to_string(axis) + " out of range for " + to_string(shape);
}

Trial scan_trial(bool product, Dice& dice) {
  const DType dtype = dice.pick(kNumbers);
  const Shape shape = dice.shape(1, 4, 7);
  int axis = dice.axis(shape.rank());
  const ScanOptions options{.exclusive = dice.chance(0.5), .reverse = dice.chance(0.5)};
  Trial trial;
  if (dice.chance(0.15)) {
    axis = dice.chance(0.5) ? shape.rank() : -shape.rank() - 1;
    trial.complaint = {product ? "cumprod" : "cumsum", out_of_range(axis, shape)};
  }
  trial.inputs = {drawn(dice, shape, dtype, {.least = product ? -2 : -9, .most = product ? 2 : 9})};
  trial.run = [product, axis, options](Tensors in) {
    return product ? cumprod(OP_IN(0), axis, options) : cumsum(OP_IN(0), axis, options);
  };
  trial.expect = [product, axis, options](const Arrays& in) {
    return running(in[0], axis, product, options);
  };
  trial.result = total_dtype(dtype);
  trial.tolerance = {.ulps = 16, .epsilons = 16};
  return trial;
}

Trial recurrence_trial(Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  const Shape shape = dice.shape(1, 4, 7);
  const auto axis = static_cast<int>(dice.in(0, shape.rank() - 1));
  const ops::RecurrenceAttrs attrs{axis, dice.chance(0.5), dice.chance(0.5)};
  Trial trial;
  Shape terms = shape;
  if (dice.chance(0.15)) {
    terms.push_back(2);
    trial.complaint = {"recurrence: factors are " + to_string(shape) + ", terms " +
                       to_string(terms)};
  }
  trial.inputs = {drawn(dice, shape, dtype), drawn(dice, terms, dtype)};
  trial.run = [attrs](Tensors in) {
    return ops::apply(op_named("recurrence"), ops::ref(attrs), std::source_location::current(),
                      OP_IN(0), OP_IN(1));
  };
  trial.expect = [attrs](const Arrays& in) {
    return recurred(in, attrs.axis, attrs.reverse, attrs.lagged);
  };
  trial.result = dtype;
  trial.tolerance = {.ulps = 4, .epsilons = 512};
  return trial;
}

}  // namespace

std::vector<Fuzz> scan_fuzz() {
  return {{"cumsum", {"cumsum"}, [](Dice& dice) { return scan_trial(false, dice); }},
          {"cumprod", {"cumprod"}, [](Dice& dice) { return scan_trial(true, dice); }},
          {"recurrence", {"recurrence"}, recurrence_trial}};
}

}  // namespace tenure::testing
