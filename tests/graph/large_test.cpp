// Functions of a hundred thousand operations: traced, optimised, planned and run, in a time that
// grows with their number and not with its square.
#include <gtest/gtest.h>

#include "support/expect.h"
#include "support/growth.h"

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

// ---- No square: of a first call, which traces, optimises, plans and runs

template <class F>
double first_call(F&& fn, const Tensor& x) {
  const Function f = function("f", fn);
  return cpu_seconds([&] { (void)f(x); });
}

TEST(LargeGraphGrowth, of_a_chain_and_its_gradient) {
  expect_near_linear(2'000, [](std::int64_t n) {
    return first_call(
        [=](Tensor x) {
          GradientTape tape;
          tape.watch(x);
          Tensor y = x;
          for (std::int64_t i = 0; i < n; ++i) y = tanh(y * 2.f - x) - y;
          return tape.gradient(sum(y), x);
        },
        zeros({4}));
  });
}

TEST(LargeGraphGrowth, of_a_recurrence) {
  expect_near_linear(500, [](std::int64_t n) {
    const Variable w(eye(4), {.name = "w"});
    return first_call(
        [&](Tensor x) {
          GradientTape tape;
          Tensor h = x;
          for (std::int64_t i = 0; i < n; ++i) h = tanh(matmul(h, w)) * 1.f + x;
          return tape.gradient(sum(h), w);
        },
        zeros({1, 4}));
  });
}

// All alive at once, and read in the order in which they were made, or the other way round: what
// the plan puts beside each other.
TEST(LargeGraphGrowth, of_values_that_live_side_by_side) {
  for (const bool backwards : {false, true}) {
    expect_near_linear(1'000, [=](std::int64_t n) {
      return first_call(
          [=](Tensor x) {
            std::vector<Tensor> parts;
            for (std::int64_t i = 0; i < n; ++i) {
              x = roll(x, 1);  // does not fuse
              parts.push_back(x);
            }
            if (backwards) std::ranges::reverse(parts);
            Tensor all = parts.front();
            for (const Tensor& part : parts) all = roll(all + part, 1);
            return all;
          },
          ones({16}));
    });
  }
}

TEST(LargeGraphGrowth, of_values_of_many_sizes) {
  expect_near_linear(1'000, [](std::int64_t n) {
    return first_call(
        [=](Tensor x) {
          Tensor total = sum(x);
          std::vector<Tensor> recent;
          for (std::int64_t i = 0; i < n; ++i) {
            recent.push_back(cumsum(slice(x, {0}, {1 + i * 37 % 501})));
            if (recent.size() < 20) continue;
            total = total + sum(recent.front());
            recent.erase(recent.begin());
          }
          return total;
        },
        ones({512}));
  });
}

TEST(LargeGraphGrowth, of_a_value_with_many_readers) {
  expect_near_linear(3'000, [](std::int64_t n) {
    return first_call(
        [=](Tensor x) {
          std::vector<Tensor> parts;
          const Tensor twice = x * 2.f;
          for (std::int64_t i = 0; i < n; ++i) {
            parts.push_back(twice + static_cast<float>(i % 16));
          }
          return sum(stack(parts, 0), {0});
        },
        ones({2}));
  });
}

TEST(LargeGraphGrowth, of_variables_and_constants) {
  expect_near_linear(500, [](std::int64_t n) {
    std::vector<Variable> variables;
    std::vector<Tensor> constants;
    for (std::int64_t i = 0; i < n; ++i) {
      variables.emplace_back(ones({2}));
      constants.push_back(full({2}, static_cast<float>(i)));
    }
    return first_call(
        [&](Tensor x) {
          GradientTape tape;
          Tensor y = x;
          for (std::size_t i = 0; i < variables.size(); ++i) y = y + variables[i] * constants[i];
          const std::vector<Tensor> gradients = tape.gradient(sum(y), variables);
          for (std::size_t i = 0; i < variables.size(); ++i) {
            variables[i].assign(variables[i] - gradients[i] * 0.5f);
          }
          return y;
        },
        ones({2}));
  });
}

TEST(LargeGraphGrowth, of_what_is_the_same_constant_or_unused) {
  expect_near_linear(2'000, [](std::int64_t n) {
    return first_call(
        [=](Tensor x) {
          Tensor total = x;
          const Tensor constant = ones({4});
          for (std::int64_t i = 0; i < n; ++i) {
            (void)tanh(x + static_cast<float>(i));  // unused
            const Tensor folded = exp(constant * static_cast<float>(i % 7));
            total = total + exp(x) * folded + transpose(reshape(x, {2, 2}))[0][0];  // the same
          }
          return total;
        },
        ones({4}));
  });
}

TEST(LargeGraphGrowth, of_loops_and_branches_side_by_side) {
  expect_near_linear(100, [](std::int64_t n) {
    return first_call(
        [=](Tensor x) {
          for (std::int64_t i = 0; i < n; ++i) {
            x = cond(sum(x) > 0.f, [&] { return x * 1.f; }, [&] { return x - 1.f; });
            x = for_loop(2, [](Tensor, Tensor s) { return s * 1.f; }, x);
          }
          return x;
        },
        ones({4}));
  });
}

}  // namespace
}  // namespace tenure::testing
