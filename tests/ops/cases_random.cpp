// Random ops, reseeded at each call so that they are functions like any other; what they draw is
// the business of random_test.cpp.
#include "case.h"

namespace tenure::testing {
namespace {

Case drawn(const char* op, std::function<Tensor(Tensors, DType)> run, DTypes dtypes) {
  return {.name = op,
          .ops = {op},
          .run =
              [run = std::move(run)](Tensors in, DType dtype) {
                set_seed(11);
                return run(std::move(in), dtype);
              },
          .dtypes = std::move(dtypes),
          .differentiable = false};
}

}  // namespace

std::vector<Case> random_cases() {
  std::vector<Case> cases{
      drawn(
          "random_normal",
          [](const Tensors&, DType d) { return random::normal({3, 5}, {.dtype = d}); }, kFloats),
      drawn(
          "random_uniform",
          [](const Tensors&, DType d) { return random::uniform({3, 5}, {.dtype = d}); }, kFloats),
      drawn(
          "random_truncated_normal",
          [](const Tensors&, DType d) { return random::truncated_normal({3, 5}, {.dtype = d}); },
          kFloats),
      drawn(
          "random_bernoulli",
          [](const Tensors&, DType d) { return random::bernoulli({3, 5}, 0.5, d); }, kFloats),
      drawn(
          "random_randint",
          [](const Tensors&, DType d) { return random::randint({3, 5}, 0, 9, d); }, kIntegers),
  };
  Case shuffle = drawn("shuffle", OP_CALL(random::shuffle(OP_IN(0))), kAnything);
  shuffle.inputs = {{}};
  shuffle.shapes = {{{5, 3}}, {{7}}, {{1, 2}}, {{0}}, {{3, 0}}};
  shuffle.differentiable = true;
  cases.push_back(std::move(shuffle));
  return cases;
}

}  // namespace tenure::testing
