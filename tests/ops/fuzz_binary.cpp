#include "fuzz.h"

namespace tenure::testing {
namespace {

// One to six tensors of one shape, or one that differs.
Trial add_n_trial(Dice& dice) {
  const DType dtype = dice.pick(kNumbers);
  const Shape shape = dice.shape(1);
  Trial trial{.inputs = {}, .run = [](Tensors in) { return add_n(std::move(in)); }};
  const std::int64_t count = dice.in(1, 6);
  for (std::int64_t i = 0; i < count; ++i) {
    trial.inputs.push_back(drawn(dice, shape, dtype, {.least = -99, .most = 99}));
  }
  if (dice.chance(0.15)) {
    Shape other = shape;
    other[-1] += 1;
    trial.inputs.push_back(drawn(dice, other, dtype));
    trial.complaint = {"add_n: input " + std::to_string(count) + " is " + to_string(other) +
                       ", input 0 is " + to_string(shape)};
  }
  trial.expect = elementwise([](const std::vector<double>& x) {
    double sum = 0;
    for (const double each : x) sum += each;
    return sum;
  });
  trial.result = number_dtype(dtype);
  trial.tolerance = {.epsilons = 16};
  return trial;
}

}  // namespace

std::vector<Fuzz> binary_fuzz() {
  std::vector<Fuzz> rows;
  for (const Case& row : binary_cases()) {
    if (row.name != "add_n") rows.push_back(fuzz_elementwise(row));
  }
  rows.push_back({"add_n", {"add_n"}, add_n_trial});
  return rows;
}

}  // namespace tenure::testing
