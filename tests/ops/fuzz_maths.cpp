#include "fuzz.h"

namespace tenure::testing {
namespace {

// Any bounds, a third of them in the wrong order.
Trial clip_trial(Dice& dice) {
  const double low = static_cast<double>(dice.in(-8, 8)) / 4;
  const double high = static_cast<double>(dice.in(-8, 8)) / 4;
  Trial trial{.inputs = {drawn(dice, dice.shape(), dice.pick(kFloats))}, .run = {}};
  trial.run = [=](Tensors in) { return clip(OP_IN(0), low, high); };
  trial.result = trial.inputs[0].dtype;
  trial.expect = elementwise([=](const std::vector<double>& x) {
    return x[0] > high ? high : x[0] < low ? low : x[0];
  });
  if (low > high) {
    trial.complaint = {"clip: the bounds are not in order: " + to_string(Scalar(low)) + " and " +
                       to_string(Scalar(high))};
  }
  return trial;
}

}  // namespace

std::vector<Fuzz> maths_fuzz() {
  std::vector<Fuzz> rows;
  for (const Case& row : maths_cases()) rows.push_back(fuzz_elementwise(row));
  rows.push_back({"clip_to_any_bounds", {"clip"}, clip_trial});
  return rows;
}

}  // namespace tenure::testing
