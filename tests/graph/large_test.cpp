// Functions of a hundred thousand operations: traced, optimised, planned and run, in a time that
// grows with their number and not with its square.
#include <gtest/gtest.h>

#include "support/expect.h"

namespace tenure::testing {
namespace {

TEST(LargeGraph, a_long_chain_and_its_gradient) {
  constexpr int kSteps = 25000;
  Function f = function("chain", [](Tensor x) {
    GradientTape tape;
    tape.watch(x);
    Tensor y = x;
    for (int i = 0; i < kSteps; ++i) y = (y * 2.f - x) - y;  // stays what it was: 0
    return tape.gradient(sum(y), x);
  });
  // y(n+1) = y(n) - x, so dy(n)/dx = 1 - n.
  EXPECT_EQ(floats(f(zeros({4}))), Floats(4, 1.f - kSteps));
  EXPECT_GE(f.traces()[0].nodes, 100000U);
}

TEST(LargeGraph, a_long_recurrence_and_the_gradient_of_its_weight) {
  constexpr int kSteps = 10000;
  Variable w(eye(4), {.name = "w"});
  Function f = function("recurrence", [&](Tensor x) {
    GradientTape tape;
    Tensor h = x;
    for (int i = 0; i < kSteps; ++i) h = tanh(matmul(h, w)) * 1.f + x;
    return tape.gradient(sum(h), w);
  });
  // With x = 0 every state is 0: so is the gradient.
  EXPECT_EQ(floats(f(zeros({1, 4}))), Floats(16, 0.f));
  EXPECT_GE(f.traces()[0].nodes, 90000U);
}

TEST(LargeGraph, a_value_with_many_readers_and_a_step_with_many_inputs) {
  constexpr int kParts = 50000;
  Function f = function("parts", [](Tensor x) {
    std::vector<Tensor> parts;
    const Tensor twice = x * 2.f;
    for (int i = 0; i < kParts; ++i) parts.push_back(twice + static_cast<float>(i % 16));
    return sum(stack(parts, 0), {0});
  });
  EXPECT_EQ(floats(f(ones({2}))), Floats(2, 2.f * kParts + 7.5f * kParts));
  EXPECT_GE(f.traces()[0].nodes, 50000U);
}

TEST(LargeGraph, many_variables) {
  constexpr int kVariables = 10000;
  std::vector<Variable> variables;
  for (int i = 0; i < kVariables; ++i) variables.emplace_back(ones({2}));
  Function step = function("step", [&](Tensor x) {
    GradientTape tape;
    Tensor y = x;
    for (Variable& v : variables) y = y + v * x;
    const std::vector<Tensor> gradients = tape.gradient(sum(y), variables);
    for (std::size_t i = 0; i < variables.size(); ++i) {
      variables[i].assign(variables[i] - gradients[i] * 0.5f);
    }
    return y;
  });
  EXPECT_EQ(floats(step(ones({2}))), Floats(2, 1.f + kVariables));
  EXPECT_EQ(floats(step(ones({2}))), Floats(2, 1.f + kVariables / 2));
  EXPECT_EQ(floats(variables[kVariables - 1].read()), Floats(2, 0.f));
}

TEST(LargeGraph, a_sum_of_many_that_is_reduced) {
  Function f = function("sums", [](Tensor x) {
    std::vector<Tensor> parts;
    for (int i = 0; i < 1500; ++i) parts.push_back(x + static_cast<float>(i % 4));
    return sum(add_n(parts));
  });
  EXPECT_EQ(floats(f(ones({3}))), Floats{3 * 1500 * 2.5f});
}

}  // namespace
}  // namespace tenure::testing
