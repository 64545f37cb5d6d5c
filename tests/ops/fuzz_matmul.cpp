#include "fuzz.h"

namespace tenure::testing {
namespace {

Shape with(Shape stack, std::int64_t rows, std::int64_t columns, bool transposed) {
  stack.push_back(transposed ? columns : rows);
  stack.push_back(transposed ? rows : columns);
  return stack;
}

std::int64_t size(Dice& dice) { return dice.chance(0.05) ? 0 : dice.in(1, 20); }

Trial matmul_trial(Dice& dice) {
  const std::vector<DType> dtypes{DType::float32, DType::float64, DType::int32, DType::int64};
  const DType dtype = dice.pick(dtypes);
  const MatmulOptions options{dice.chance(0.5), dice.chance(0.5)};
  const std::int64_t m = size(dice), k = size(dice), n = size(dice);
  const Shape stack = dice.shape(0, 3, 3);
  Shape a = with(dice.narrowed(stack), m, k, options.transpose_a);
  Shape b = with(dice.narrowed(stack), k, n, options.transpose_b);
  Trial trial;
  if (dice.chance(0.15)) {
    switch (dice.in(0, 2)) {
      case 0:
        b = with(stack, k + 1, n, options.transpose_b);
        trial.complaint = {"matmul: inner dimensions differ"};
        break;
      case 1:
        (dice.chance(0.5) ? a : b) = Shape{k};
        trial.complaint = {"matmul: operands need two axes or more"};
        break;
      default:
        a = with({2, 3}, m, k, options.transpose_a);
        b = with({4}, k, n, options.transpose_b);
        trial.complaint = {"matmul: shapes do not broadcast", "[2, 3]", "[4]"};
        break;
    }
    if (trial.complaint.size() == 1) {
      trial.complaint.push_back(to_string(a));
      trial.complaint.push_back(to_string(b));
    }
  }
  const Input small{.low = -1, .high = 1};
  trial.inputs = {drawn(dice, a, dtype, small), drawn(dice, b, dtype, small)};
  trial.run = [options](Tensors in) { return matmul(OP_IN(0), OP_IN(1), options); };
  trial.expect = [options](const Arrays& in) {
    return multiplied(in[0], in[1], options.transpose_a, options.transpose_b);
  };
  trial.result = dtype;
  trial.tolerance = {.ulps = 20, .epsilons = 40};
  return trial;
}

}  // namespace

std::vector<Fuzz> matmul_fuzz() { return {{"matmul", {"matmul"}, matmul_trial}}; }

}  // namespace tenure::testing
