#include "tenure/nn/activation_layers.h"

#include <cmath>

#include "nn/layers/checks.h"

namespace tenure::testing {
namespace {

template <class F>
Grid mapped(Grid grid, F fn) {
  for (double& value : grid.values) value = fn(value);
  return grid;
}

TEST(ActivationLayers, relu_has_a_limit_a_slope_and_a_threshold) {
  const Grid x = mapped(numbers({3, 4}), [](double v) { return 4 * v; });
  const nn::ReLU relu({.max_value = 2.5, .negative_slope = 0.25, .threshold = 0.5});
  const Grid want = mapped(x, [](double v) {
    return v >= 2.5 ? 2.5 : v > 0.5 ? v : 0.25 * (v - 0.5);
  });
  expect_near(relu(x.tensor()), want);
  check_layer(relu, {x.tensor()});
  check_layer(nn::ReLU(), {x.tensor()});
  check_layer(nn::ReLU({.threshold = 1}), {x.tensor()});
}

TEST(ActivationLayers, elu_takes_any_alpha) {
  const Grid x = numbers({2, 5});
  const nn::ELU elu({.alpha = 0.7});
  expect_near(elu(x.tensor()), mapped(x, [](double v) { return v > 0 ? v : 0.7 * std::expm1(v); }));
  check_layer(elu, {x.tensor()});
}

TEST(ActivationLayers, the_others_have_gradients) {
  const Tensor x = numbers({2, 3, 4}).tensor();
  check_layer(nn::LeakyReLU(), {x});
  check_layer(nn::ThresholdedReLU({.theta = 0.2}), {x});
  check_layer(nn::Softmax(), {x});
  check_layer(nn::Softmax({.axis = {1}}), {x});
  check_layer(nn::Softmax({.axis = {1, 2}}), {x});
  for (const Axes& shared : {Axes{}, Axes{1}, Axes{1, 2}}) {
    const nn::PReLU prelu({.shared_axes = shared, .dtype = kDouble});
    prelu(x);
    fill_weights(prelu);
    check_layer(prelu, {x});
  }
}

TEST(ActivationLayers, prelu_begins_as_relu_and_shares_along_axes) {
  const nn::PReLU prelu({.shared_axes = {1}});
  EXPECT_EQ(floats(prelu(tensor({-1.f, 2.f, -3.f, 4.f}, {1, 2, 2}))), (Floats{0, 2, 0, 4}));
  EXPECT_EQ(prelu.weights()[0].shape(), (Shape{1, 2}));
  EXPECT_EQ(prelu.count_params(), 2);
  EXPECT_HAS(message_of<ShapeError>([] { nn::PReLU({.shared_axes = {0}})(ones({2, 2})); }),
             "that is the batch");
  EXPECT_HAS(message_of<ShapeError>([] { nn::PReLU({.shared_axes = {4}})(ones({2, 2})); }),
             "[2, 2]");
}

TEST(ActivationLayers, softmax_gives_nothing_to_what_a_mask_leaves_out) {
  Grid x = numbers({2, 3});
  const Tensor mask = tensor(std::vector<bool>{true, false, true, true, true, false}, {2, 3});
  Grid want({2, 3});
  const bool kept[2][3] = {{true, false, true}, {true, true, false}};
  for (int b = 0; b < 2; ++b) {
    double sum = 0;
    for (int i = 0; i < 3; ++i) sum += kept[b][i] ? std::exp(x(b, i)) : 0;
    for (int i = 0; i < 3; ++i) want(b, i) = kept[b][i] ? std::exp(x(b, i)) / sum : 0;
  }
  const nn::Softmax softmax;
  expect_near(softmax(x.tensor(), {.masks = {mask}}), want, 1e-6);
  check_layer(softmax, {x.tensor()}, {.masks = {mask}});
}

TEST(ActivationLayers, they_pass_masks_on) {
  const Tensor x = ones({1, 2}), mask = tensor(std::vector<bool>{true, false}, {1, 2});
  const std::vector<nn::Layer> layers{nn::ReLU(), nn::LeakyReLU(),       nn::PReLU(),
                                      nn::ELU(),  nn::ThresholdedReLU(), nn::Softmax()};
  for (const nn::Layer& layer : layers) {
    EXPECT_EQ(layer.compute_mask({x}, {mask}).id(), mask.id()) << layer.class_name();
  }
}

TEST(ActivationLayers, settings_that_make_no_sense_are_refused) {
  EXPECT_THROW(nn::ReLU({.max_value = -1}), ValueError);
  EXPECT_THROW(nn::ReLU({.negative_slope = -0.5}), ValueError);
  EXPECT_THROW(nn::ThresholdedReLU({.theta = -1}), ValueError);
  EXPECT_THROW(nn::Softmax({.axis = {}}), ValueError);
  EXPECT_HAS(message_of<ShapeError>([] { nn::Softmax({.axis = {3}})(ones({2, 2})); }), "axis 3");
}

}  // namespace
}  // namespace tenure::testing
