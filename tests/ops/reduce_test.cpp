// Reductions, scans and softmax at the edges: zeros, ties, infinities, NaN and nothing at all.
#include <cmath>
#include <limits>

#include "case.h"

namespace tenure::testing {
namespace {

float item(const Tensor& x) { return x.item<float>(); }

Tensor gradient_at(const Tensor& x, Tensor (*fn)(Arg)) {
  GradientTape tape;
  tape.watch(x);
  const Tensor y = fn(x);
  return tape.gradient(y, x);
}

TEST(Min, is_nan_wherever_one_is) {
  for (const std::size_t count : {1, 5, 33, 70001}) {
    for (const std::size_t at : {std::size_t{0}, count / 2, count - 1}) {
      std::vector<float> values(count, 1);
      values[at] = kNaN;
      EXPECT_TRUE(std::isnan(item(min(tensor(values))))) << at << " of " << count;
    }
  }
}

TEST(Min, of_nothing_is_the_highest_value) {
  EXPECT_EQ(item(min(zeros({0}))), kInf);
  EXPECT_EQ(min(zeros({0}, DType::uint8)).item<std::uint8_t>(), 255);
}

TEST(Min, every_smallest_element_gets_the_gradient) {
  EXPECT_EQ(floats(gradient_at(tensor({2.f, 1.f, 1.f}), min)), (Floats{0, 1, 1}));
}

TEST(Prod, of_float32_does_not_overflow_on_the_way) {
  EXPECT_FLOAT_EQ(item(prod(tensor({1e30f, 1e30f, 1e-30f, 1e-30f}))), 1);
}

TEST(Prod, its_gradient_with_one_zero_is_the_others_product) {
  EXPECT_EQ(floats(gradient_at(tensor({2.f, 0.f, 3.f}), prod)), (Floats{0, 6, 0}));
}

TEST(Prod, its_gradient_with_two_zeros_is_zero) {
  EXPECT_EQ(floats(gradient_at(tensor({2.f, 0.f, 0.f}), prod)), (Floats{0, 0, 0}));
}

TEST(AnyAndAll, of_nothing_are_false_and_true) {
  EXPECT_FALSE(any(zeros({0}, DType::boolean)).item<bool>());
  EXPECT_TRUE(all(zeros({0}, DType::boolean)).item<bool>());
}

TEST(ArgMin, takes_the_first_of_equals_and_nan_only_if_it_comes_first) {
  EXPECT_EQ(arg_min(tensor({3.f, 1.f, 1.f})).item<std::int32_t>(), 1);
  EXPECT_EQ(arg_min(tensor({3.f, kNaN, 1.f})).item<std::int32_t>(), 2);
  EXPECT_EQ(arg_min(tensor({kNaN, 3.f, 1.f})).item<std::int32_t>(), 0);
}

TEST(Logsumexp, neither_overflows_nor_loses_infinities) {
  EXPECT_FLOAT_EQ(item(logsumexp(tensor({1000.f, 1000.f}))), 1000 + std::log(2.f));
  EXPECT_FLOAT_EQ(item(logsumexp(tensor({-1000.f, -1000.f}))), -1000 + std::log(2.f));
  EXPECT_EQ(item(logsumexp(tensor({-kInf, -kInf}))), -kInf);
  EXPECT_EQ(item(logsumexp(tensor({-kInf, kInf}))), kInf);
  EXPECT_EQ(item(logsumexp(zeros({0}))), -kInf);
  EXPECT_TRUE(std::isnan(item(logsumexp(tensor({1.f, kNaN})))));
}

TEST(Logsumexp, its_gradient_is_softmax_and_zero_where_all_is_minus_infinity) {
  EXPECT_EQ(floats(gradient_at(tensor({-kInf, -kInf}), logsumexp)), (Floats{0, 0}));
  EXPECT_EQ(floats(gradient_at(tensor({-kInf, 3.f}), logsumexp)), (Floats{0, 1}));
}

TEST(Norm, has_a_gradient_where_some_elements_are_zero) {
  const Tensor x = tensor({0.f, -2.f});
  EXPECT_EQ(floats(gradient_at(x, [](Arg v) { return norm(std::move(v), {.order = 1}); })),
            (Floats{0, -1}));
  EXPECT_EQ(floats(gradient_at(x, [](Arg v) { return norm(std::move(v), {.order = 3}); })),
            (Floats{0, -1}));
}

TEST(Norm, of_zeros_is_zero_for_every_order_above_it) {
  for (const double order : {0.5, 1.0, 2.0, 3.0}) {
    EXPECT_EQ(item(norm(zeros({4}), {.order = order})), 0) << order;
  }
}

TEST(Cumprod, its_gradient_passes_zeros) {
  const Tensor x = tensor({2.f, 0.f, 3.f});
  EXPECT_EQ(floats(gradient_at(x, [](Arg v) { return cumprod(std::move(v)); })),
            (Floats{1, 2 + 2 * 3, 0}));
}

TEST(Cumsum, of_float32_runs_in_double) {
  std::vector<float> values(20000, 0.1f);
  const std::vector<float> sums = cumsum(tensor(values)).to_vector<float>();
  EXPECT_FLOAT_EQ(sums.back(), static_cast<float>(20000 * static_cast<double>(0.1f)));
}

TEST(Softmax, takes_any_finite_logits) {
  EXPECT_EQ(floats(softmax(tensor({1e30f, -1e30f}))), (Floats{1, 0}));
  EXPECT_EQ(floats(softmax(tensor({-1e30f, -1e30f}))), (Floats{0.5, 0.5}));
  EXPECT_EQ(floats(log_softmax(tensor({1000.f, 0.f}))), (Floats{0, -1000}));
}

TEST(Softmax, of_minus_infinity_is_zero_beside_others) {
  EXPECT_EQ(floats(softmax(tensor({-kInf, 2.f, 2.f}))), (Floats{0, 0.5, 0.5}));
  EXPECT_EQ(floats(log_softmax(tensor({-kInf, 2.f}))), (Floats{-kInf, 0}));
}

TEST(Softmax, is_nan_where_a_line_holds_nan_and_only_there) {
  for (const int axis : {0, 1}) {
    Tensor x = tensor({kNaN, 1.f, 2.f, 2.f}, {2, 2});
    if (axis == 0) x = transpose(x);
    const Tensor y = axis == 0 ? transpose(softmax(x, 0)) : softmax(x, 1);
    const Floats values = floats(y);
    EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1]));
    EXPECT_EQ(values[2], 0.5);
    EXPECT_EQ(values[3], 0.5);
  }
}

}  // namespace
}  // namespace tenure::testing
