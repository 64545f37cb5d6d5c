#include "tenure/nn/merge_layers.h"

#include <cmath>

#include "nn/layers/checks.h"

namespace tenure::testing {
namespace {

Tensor truths(std::vector<bool> values, const Shape& shape) { return tensor(values, shape); }

TEST(MergeLayers, all_have_gradients_files_and_traces) {
  const Tensor a = numbers({2, 3}).tensor(), b = numbers({2, 3}, 2).tensor();
  const Tensor c = numbers({2, 3}, 3).tensor(), steps = numbers({2, 2, 3}, 4).tensor();
  const std::vector<nn::Layer> layers{nn::Add(), nn::Multiply(), nn::Average(), nn::Maximum(),
                                      nn::Minimum()};
  for (const nn::Layer& layer : layers) {
    check_layer(layer, {a, b, c});
    check_layer(layer, {steps, a});
  }
  check_layer(nn::Subtract(), {a, b});
  check_layer(nn::Concatenate(), {a, b, c});
  check_layer(nn::Concatenate({.axis = 1}), {steps, numbers({2, 1, 3}, 5).tensor()});
  check_layer(nn::Dot({.axes = {1}}), {a, b});
  check_layer(nn::Dot({.axes = {2, 1}, .normalize = true}), {steps, b});
}

TEST(MergeLayers, subtract_takes_the_second_from_the_first) {
  EXPECT_EQ(floats(nn::Subtract()({tensor({5.f}, {1, 1}), tensor({2.f}, {1, 1})})), Floats{3});
  EXPECT_HAS(message_of<ShapeError>([] { nn::Subtract()({ones({1}), ones({1}), ones({1})}); }),
             "takes 2 inputs, was given 3");
}

TEST(MergeLayers, dot_sums_over_an_axis_of_each) {
  Grid a = numbers({2, 3, 4}), b = numbers({2, 5, 3}, 2), want({2, 4, 5});
  for (int n = 0; n < 2; ++n) {
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 5; ++j) {
        for (int k = 0; k < 3; ++k) want(n, i, j) += a(n, k, i) * b(n, j, k);
      }
    }
  }
  expect_near(in_double(nn::Dot({.axes = {1, 2}}))({a.tensor(), b.tensor()}), want);
}

TEST(MergeLayers, a_normalized_dot_is_a_cosine) {
  const nn::Dot dot({.axes = {1}, .normalize = true});
  Grid a = numbers({2, 3}), b = numbers({2, 3}, 2), want({2, 1});
  for (int n = 0; n < 2; ++n) {
    double ab = 0, aa = 0, bb = 0;
    for (int i = 0; i < 3; ++i) {
      ab += a(n, i) * b(n, i);
      aa += a(n, i) * a(n, i);
      bb += b(n, i) * b(n, i);
    }
    want(n, 0) = ab / std::sqrt(aa * bb);
  }
  expect_near(in_double(dot)({a.tensor(), b.tensor()}), want);
}

TEST(MergeLayers, masks_are_joined) {
  const Tensor x = ones({1, 2, 3});
  const Tensor first = truths({true, true}, {1, 2}), second = truths({true, false}, {1, 2});
  EXPECT_EQ(nn::Add().compute_mask({x, x}, {first, second}).to_vector<bool>(),
            (std::vector<bool>{true, true}));
  EXPECT_EQ(nn::Add().compute_mask({x, x}, {second, second}).to_vector<bool>(),
            (std::vector<bool>{true, false}));
  EXPECT_FALSE(nn::Add().compute_mask({x, x}, {Tensor(), second}).defined());
  EXPECT_FALSE(nn::Add().compute_mask({x, x}, {Tensor(), Tensor()}).defined());
  EXPECT_FALSE(nn::Dot({.axes = {1}}).compute_mask({x, x}, {first, second}).defined());
}

TEST(MergeLayers, a_joined_step_is_left_out_where_any_of_its_features_is) {
  const Tensor x = ones({1, 2, 3});
  const Tensor mask = truths({true, false}, {1, 2});
  EXPECT_EQ(nn::Concatenate().compute_mask({x, x}, {mask, Tensor()}).to_vector<bool>(),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(nn::Concatenate({.axis = 1}).compute_mask({x, x}, {mask, Tensor()}).to_vector<bool>(),
            (std::vector<bool>{true, false, true, true}));
  EXPECT_FALSE(nn::Concatenate().compute_mask({x, x}, {Tensor(), Tensor()}).defined());
}

TEST(MergeLayers, what_does_not_fit_is_named) {
  EXPECT_HAS(message_of<ShapeError>([] { nn::Add()(std::vector<Tensor>{ones({2, 3})}); }),
             "takes 2 or more inputs");
  EXPECT_HAS(message_of<ShapeError>([] { nn::Add({.name = "sum"})({ones({2, 3}), ones({2, 4})}); }),
             "Add \"sum\"");
  EXPECT_THROW(nn::Concatenate()({ones({2, 3}), ones({3, 3})}), ShapeError);
  EXPECT_HAS(message_of<ShapeError>([] { nn::Dot({.axes = {1}})({ones({2, 3}), ones({2, 4})}); }),
             "sizes 3 and 4");
  EXPECT_HAS(message_of<ShapeError>([] { nn::Dot({.axes = {0}})({ones({2, 3}), ones({2, 3})}); }),
             "cannot sum over the batch");
  EXPECT_THROW(nn::Dot(), ValueError);
}

}  // namespace
}  // namespace tenure::testing
