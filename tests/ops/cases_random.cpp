// Random ops, reseeded at each call so that they are functions like any other; what they draw is
// the business of random_test.cpp.
#include "case.h"
#include "ops/noise.h"

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

Tensor draw_number(std::int64_t number) { return tensor({number}, Shape{}); }

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
      drawn(
          "random_uniform_at",
          [](const Tensors&, DType d) {
            return ops::uniform_at(draw_number(3), 5, {3, 5}, {.dtype = d});
          },
          kFloats),
      drawn(
          "random_normal_at",
          [](const Tensors&, DType d) {
            return ops::normal_at(draw_number(3), 5, {3, 5}, {.dtype = d});
          },
          kFloats),
  };
  Case dropped =
      drawn("dropout_at", OP_CALL(ops::dropout_at(OP_IN(0), draw_number(2), 17, 0.4)), kFloats);
  dropped.inputs = {{}};
  dropped.shapes = {{{5, 3}}, {{7}}, {{}}, {{0}}};
  dropped.value_shapes = {{{300, 333}}};
  dropped.differentiable = true;
  cases.push_back(std::move(dropped));
  Case shuffle = drawn("shuffle", OP_CALL(random::shuffle(OP_IN(0))), kAnything);
  shuffle.inputs = {{}};
  shuffle.shapes = {{{5, 3}}, {{7}}, {{1, 2}}, {{0}}, {{3, 0}}};
  shuffle.differentiable = true;
  cases.push_back(std::move(shuffle));
  return cases;
}

}  // namespace tenure::testing
