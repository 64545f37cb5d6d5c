#include "fuzz.h"

#include <algorithm>

namespace tenure::testing {

std::int64_t Dice::in(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

bool Dice::chance(double probability) { return std::bernoulli_distribution(probability)(random); }

Shape Dice::shape(int least_rank, int most_rank, std::int64_t most, std::int64_t least) {
  Shape shape;
  const std::int64_t rank = in(least_rank, most_rank);
  for (std::int64_t i = 0; i < rank; ++i) {
    shape.push_back(least == 0 && chance(0.03) ? 0 : in(std::max<std::int64_t>(1, least), most));
  }
  return shape;
}

int Dice::axis(int rank) {
  const auto axis = static_cast<int>(in(0, rank - 1));
  return chance(0.5) ? axis : axis - rank;
}

Axes Dice::axes(int rank) {
  std::vector<std::int64_t> all;
  for (int axis = 0; axis < rank; ++axis) {
    if (chance(0.5)) all.push_back(chance(0.5) ? axis : axis - rank);
  }
  std::shuffle(all.begin(), all.end(), random);
  Axes axes;
  for (const std::int64_t axis : all) axes.push_back(axis);
  return axes;
}

Lay Dice::lay() { return chance(0.5) ? Lay::contiguous : static_cast<Lay>(in(1, kLays - 1)); }

Shape Dice::narrowed(const Shape& shape) {
  Shape narrow;
  const std::int64_t dropped = chance(0.3) ? in(0, shape.rank()) : 0;
  for (int i = static_cast<int>(dropped); i < shape.rank(); ++i) {
    narrow.push_back(chance(0.25) ? 1 : shape[i]);
  }
  return narrow;
}

Drawn drawn(Dice& dice, const Shape& shape, DType dtype, const Input& input) {
  const DType own = input.dtype.value_or(dtype);
  const Lay lay = dice.lay();
  return {fitted(draw(shape, input, own, dice.random), lay), own, lay};
}

namespace {

Trial elementwise_trial(const Case& row, Dice& dice) {
  const DType dtype = dice.pick(row.dtypes);
  Trial trial;
  const Shape shape = dice.shape(0);
  for (const Input& input : row.inputs) {
    const Shape own = row.inputs.size() == 1 ? shape : dice.narrowed(shape);
    trial.inputs.push_back(drawn(dice, own, dtype, input));
  }
  if (row.inputs.size() == 2 && dice.chance(0.15)) {
    const std::int64_t n = dice.in(2, 5);
    const Shape a{3, n}, b{dice.chance(0.5) ? n + 1 : 0};
    trial.inputs = {drawn(dice, a, dtype, row.inputs[0]), drawn(dice, b, dtype, row.inputs[1])};
    trial.complaint = {row.error_name + ": shapes do not broadcast", to_string(a), to_string(b)};
  }
  trial.run = [run = row.run, dtype](Tensors in) { return run(std::move(in), dtype); };
  trial.expect = row.reference;
  trial.result = row.result(dtype);
  trial.tolerance = row.tolerance;
  return trial;
}

}  // namespace

Fuzz fuzz_elementwise(const Case& row) {
  return {row.name, row.ops, [row](Dice& dice) { return elementwise_trial(row, dice); }};
}

const std::vector<Fuzz>& all_fuzz() {
  static const std::vector<Fuzz> rows = [] {
    std::vector<Fuzz> all;
#define TENURE_LIST(name) name##_fuzz,
    for (const auto family :
         {TENURE_FAMILIES(TENURE_NOT_HERE, TENURE_NOT_HERE, TENURE_NOT_HERE, TENURE_LIST)}) {
#undef TENURE_LIST
      for (Fuzz& row : family()) all.push_back(std::move(row));
    }
    return all;
  }();
  return rows;
}

}  // namespace tenure::testing
