#include "tenure/nn/activation_layers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "nn/config.h"
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
  expect_near(in_double(relu)(x.tensor()), want);
  check_layer(relu, {x.tensor()});
  check_layer(nn::ReLU(), {x.tensor()});
  check_layer(nn::ReLU({.threshold = 1}), {x.tensor()});
}

TEST(ActivationLayers, elu_takes_any_alpha) {
  const Grid x = numbers({2, 5});
  const nn::ELU elu({.alpha = 0.7});
  expect_near(in_double(elu)(x.tensor()),
              mapped(x, [](double v) { return v > 0 ? v : 0.7 * std::expm1(v); }));
  check_layer(elu, {x.tensor()});
}

TEST(ActivationLayers, leaky_relu_reads_both_names_of_its_slope) {
  const Tensor x = tensor({-2.f, 3.f});
  EXPECT_EQ(floats(nn::LeakyReLU({.negative_slope = 0.5})(x)), (Floats{-1, 3}));
  for (const char* name : {"alpha", "negative_slope"}) {
    const nn::Layer read = nn::detail::layer_from_json("LeakyReLU", {{name, 0.25}});
    EXPECT_EQ(floats(read(x)), (Floats{-0.5, 3})) << name;
    EXPECT_HAS(read.config(), "\"negative_slope\":0.25");
  }
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

// By the definitions of Keras 3, in double precision.
TEST(ActivationLayers, activations_by_name_follow_their_definitions) {
  const auto hard = [](double v) { return std::clamp((v + 3) / 6, 0.0, 1.0); };
  struct Row {
    const char* name;
    std::function<double(double)> value;
  };
  const std::vector<Row> rows{
      {"celu", [](double v) { return v > 0 ? v : std::expm1(v); }},
      {"hard_sigmoid", hard},
      {"hard_sigmoid_keras2", [](double v) { return std::clamp(0.2 * v + 0.5, 0.0, 1.0); }},
      {"hard_silu", [&](double v) { return v * hard(v); }},
      {"hard_swish", [&](double v) { return v * hard(v); }},
      {"hard_tanh", [](double v) { return std::clamp(v, -1.0, 1.0); }},
      {"hard_shrink", [](double v) { return std::abs(v) > 0.5 ? v : 0; }},
      {"soft_shrink", [](double v) { return v > 0.5    ? v - 0.5
                                            : v < -0.5 ? v + 0.5
                                                       : 0; }},
      {"tanh_shrink", [](double v) { return v - std::tanh(v); }},
      {"sparse_sigmoid", [](double v) { return std::clamp(0.5 * (v + 1), 0.0, 1.0); }},
      {"sparse_plus", [](double v) { return v <= -1 ? 0
                                            : v < 1 ? (v + 1) * (v + 1) / 4
                                                    : v; }},
      {"squareplus", [](double v) { return (v + std::sqrt(v * v + 4)) / 2; }},
  };
  const Grid x = mapped(numbers({5, 8}), [](double v) { return 5 * v; });
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const auto layer = in_double(nn::Activation(row.name));
    expect_near(layer(x.tensor()), mapped(x, row.value), 1e-12);
    check_layer(layer, {x.tensor()});
  }
}

TEST(ActivationLayers, glu_gates_one_half_by_the_other) {
  Grid x = numbers({3, 4}), want({3, 2});
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 2; ++j) want(i, j) = x(i, j) / (1 + std::exp(-x(i, j + 2)));
  }
  const auto layer = in_double(nn::Activation("glu"));
  expect_near(layer(x.tensor()), want);
  check_layer(layer, {x.tensor()});
  EXPECT_HAS(message_of<ShapeError>([&] { layer(ones({2, 3})); }),
             "splits the last axis in two halves: [2, 3]");
}

TEST(ActivationLayers, sparsemax_is_the_nearest_point_whose_parts_add_up_to_1) {
  const auto layer = in_double(nn::Activation("sparsemax"));
  // 3 is more than 1 above the rest; two alike share; of 1, 0.8 and -1 the first two take part:
  // less (1.8 - 1) / 2.
  expect_near(layer(tensor(std::vector<double>{3, 1, 0.2, 0.5, 0.5, -2, 1, 0.8, -1}, {3, 3})),
              grid_of(tensor(std::vector<double>{1, 0, 0, 0.5, 0.5, 0, 0.6, 0.4, 0}, {3, 3})),
              1e-12);
  check_layer(layer, {numbers({3, 5}).tensor()});
}

TEST(ActivationLayers, the_orthogonal_regularizer_adds_up_the_cosines) {
  // Rows (3, 4), (4, -3) and (1, 0): cosines 0, 0.6, 0.8.
  const Tensor w = tensor({3.f, 4.f, 4.f, -3.f, 1.f, 0.f}, {3, 2});
  EXPECT_NEAR(nn::OrthogonalRegularizer({.factor = 0.3})(w).item<float>(), 0.3 * 1.4 / 3, 1e-6);
  EXPECT_NEAR(nn::OrthogonalRegularizer({.factor = 0.3, .mode = "columns"})(matrix_transpose(w))
                  .item<float>(),
              0.3 * 1.4 / 3, 1e-6);
  const nn::Dense dense({.units = 2, .kernel_regularizer = nn::OrthogonalRegularizer()});
  dense(ones({1, 2}));
  check_config(dense, {ones({1, 2})});
  EXPECT_HAS(message_of<ValueError>([] { nn::OrthogonalRegularizer({.mode = "both"}); }),
             "OrthogonalRegularizer: no such mode: \"both\"");
  EXPECT_HAS(message_of<ShapeError>([] { nn::OrthogonalRegularizer()(ones({2})); }),
             "a weight of rank 2: [2]");
}

}  // namespace
}  // namespace tenure::testing
