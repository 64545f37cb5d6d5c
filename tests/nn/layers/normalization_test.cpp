#include "tenure/nn/normalization_layers.h"

#include <cmath>

#include "nn/layers/checks.h"

namespace tenure::testing {
namespace {

// Variances are positive.
void fill(const nn::Layer& layer) {
  fill_weights(layer);
  for (Variable weight : layer.non_trainable_weights()) {
    if (weight.name().ends_with("variance")) weight.assign(abs(weight) + 0.5);
  }
}

TEST(NormalizationLayers, batch_normalization_uses_the_batch_in_training_and_averages_otherwise) {
  const nn::BatchNormalization layer({.momentum = 0.9, .dtype = kDouble});
  Grid x = numbers({4, 3});
  layer(x.tensor());
  fill(layer);
  const std::vector<Tensor> weights = layer.get_weights();
  Grid gamma = grid_of(weights[0]), beta = grid_of(weights[1]);
  Grid mean = grid_of(weights[2]), variance = grid_of(weights[3]);
  Grid inferred({4, 3}), trained({4, 3}), mean_after({3}), variance_after({3});
  for (int f = 0; f < 3; ++f) {
    double m = 0, v = 0;
    for (int b = 0; b < 4; ++b) m += x(b, f) / 4;
    for (int b = 0; b < 4; ++b) v += (x(b, f) - m) * (x(b, f) - m) / 4;
    for (int b = 0; b < 4; ++b) {
      trained(b, f) = (x(b, f) - m) / std::sqrt(v + 1e-3) * gamma(f) + beta(f);
      inferred(b, f) = (x(b, f) - mean(f)) / std::sqrt(variance(f) + 1e-3) * gamma(f) + beta(f);
    }
    mean_after(f) = 0.9 * mean(f) + 0.1 * m;
    variance_after(f) = 0.9 * variance(f) + 0.1 * v;
  }
  expect_near(layer(x.tensor()), inferred);
  expect_near(layer.get_weights()[2], mean, 0);
  expect_near(layer(x.tensor(), kTraining), trained);
  expect_near(layer.get_weights()[2], mean_after);
  expect_near(layer.get_weights()[3], variance_after);
}

TEST(NormalizationLayers, batch_normalization_takes_features_along_any_axis) {
  const nn::BatchNormalization last({.momentum = 0.5, .dtype = kDouble});
  const nn::BatchNormalization second({.axis = 1, .momentum = 0.5, .dtype = kDouble});
  const Tensor x = numbers({2, 3, 2, 4}).tensor(), turned = transpose(x, {0, 3, 1, 2});
  last(x);
  second(turned);
  fill(last);
  second.set_weights(last.get_weights());
  for (const nn::Call& call : {nn::Call{}, kTraining}) {
    expect_near(transpose(second(turned, call), {0, 2, 3, 1}), grid_of(last(x, call)));
  }
  for (std::size_t i = 0; i < 4; ++i) {
    expect_near(second.get_weights()[i], grid_of(last.get_weights()[i]));
  }
}

TEST(NormalizationLayers, batch_normalization_has_gradients_either_way) {
  for (const int axis : {-1, 1}) {
    const nn::BatchNormalization layer({.axis = axis, .dtype = kDouble});
    const Tensor x = numbers({3, 2, 2}).tensor();
    layer(x);
    fill(layer);
    check_layer(layer, {x});
    check_layer(layer, {x}, kTraining);
  }
}

TEST(NormalizationLayers, a_traced_function_moves_the_averages_too) {
  const nn::BatchNormalization eager({.momentum = 0.5}), traced({.momentum = 0.5});
  const Tensor x = numbers({4, 3}).tensor(DType::float32);
  const Function f = function("norm", [&](Tensor t) { return traced(t, kTraining); });
  for (int step = 0; step < 3; ++step) expect_near(f(x), grid_of(eager(x, kTraining)), 1e-6);
  expect_near(traced.get_weights()[2], grid_of(eager.get_weights()[2]), 1e-6);
  expect_near(traced.get_weights()[3], grid_of(eager.get_weights()[3]), 1e-6);
}

TEST(NormalizationLayers, averages_move_once_where_the_gradient_computes_the_layer_again) {
  const nn::BatchNormalization kept({.momentum = 0.5}), again({.momentum = 0.5});
  const Tensor x = numbers({4, 3}).tensor(DType::float32);
  again.set_recompute(true);
  std::vector<Tensor> gradients;
  for (const nn::BatchNormalization& layer : {kept, again}) {
    GradientTape tape;
    tape.watch(x);
    const Tensor loss = patterned_sum(layer(x, kTraining));
    gradients.push_back(tape.gradient(loss, x));
  }
  expect_near(gradients[1], grid_of(gradients[0]), 1e-6);
  for (std::size_t i = 2; i < 4; ++i) {
    expect_near(again.get_weights()[i], grid_of(kept.get_weights()[i]), 1e-6);
  }
}

TEST(NormalizationLayers, a_frozen_batch_normalization_keeps_its_averages) {
  const nn::BatchNormalization layer({.trainable = false});
  const Tensor x = numbers({4, 3}).tensor(DType::float32);
  expect_near(layer(x, kTraining), grid_of(layer(x)), 0);
  EXPECT_EQ(floats(layer.get_weights()[2]), (Floats{0, 0, 0}));
}

TEST(NormalizationLayers, batch_normalization_begins_with_ones_and_zeros) {
  const nn::BatchNormalization layer({.name = "bn"});
  layer.build({nn::kAny, 2});
  ASSERT_EQ(layer.weights().size(), 4u);
  const char* names[] = {"bn/gamma", "bn/beta", "bn/moving_mean", "bn/moving_variance"};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(layer.weights()[i].name(), names[i]);
    EXPECT_EQ(floats(layer.get_weights()[i]), Floats(2, i % 3 == 0 ? 1.f : 0.f));
  }
  EXPECT_EQ(layer.trainable_weights().size(), 2u);
  const nn::BatchNormalization bare({.center = false, .scale = false});
  bare.build({nn::kAny, 2});
  EXPECT_EQ(bare.weights().size(), 2u);
}

TEST(NormalizationLayers, layer_normalization_treats_each_example_by_itself) {
  Grid x = numbers({2, 3, 4});
  const nn::LayerNormalization layer({.axis = {2, 1}, .epsilon = 0.01, .dtype = kDouble});
  layer(x.tensor());
  fill_weights(layer);
  Grid gamma = grid_of(layer.get_weights()[0]), beta = grid_of(layer.get_weights()[1]);
  EXPECT_EQ(gamma.shape, (Shape{3, 4}));
  Grid want({2, 3, 4});
  for (int b = 0; b < 2; ++b) {
    double m = 0, v = 0;
    for (int i = 0; i < 12; ++i) m += x(b, i / 4, i % 4) / 12;
    for (int i = 0; i < 12; ++i) v += std::pow(x(b, i / 4, i % 4) - m, 2) / 12;
    for (int i = 0; i < 12; ++i) {
      want(b, i / 4, i % 4) =
          (x(b, i / 4, i % 4) - m) / std::sqrt(v + 0.01) * gamma(i / 4, i % 4) + beta(i / 4, i % 4);
    }
  }
  expect_near(layer(x.tensor()), want);
  check_layer(layer, {x.tensor()});
  const nn::LayerNormalization first({.axis = {1}, .center = false, .dtype = kDouble});
  first(x.tensor());
  fill_weights(first);
  check_layer(first, {x.tensor()});
}

TEST(NormalizationLayers, group_normalization_treats_groups_of_channels_by_themselves) {
  Grid x = numbers({2, 3, 4});
  for (const std::int64_t groups : {std::int64_t{2}, std::int64_t{1}, std::int64_t{-1}}) {
    const nn::GroupNormalization layer({.groups = groups, .dtype = kDouble});
    layer(x.tensor());
    fill_weights(layer);
    Grid gamma = grid_of(layer.get_weights()[0]), beta = grid_of(layer.get_weights()[1]);
    const int size = groups == -1 ? 1 : 4 / static_cast<int>(groups);
    Grid want({2, 3, 4});
    for (int b = 0; b < 2; ++b) {
      for (int c = 0; c < 4; ++c) {
        const int first = c / size * size;
        double m = 0, v = 0;
        for (int t = 0; t < 3; ++t) {
          for (int g = first; g < first + size; ++g) m += x(b, t, g) / (3 * size);
        }
        for (int t = 0; t < 3; ++t) {
          for (int g = first; g < first + size; ++g) v += std::pow(x(b, t, g) - m, 2) / (3 * size);
        }
        for (int t = 0; t < 3; ++t) {
          want(b, t, c) = (x(b, t, c) - m) / std::sqrt(v + 1e-3) * gamma(c) + beta(c);
        }
      }
    }
    expect_near(layer(x.tensor()), want);
    check_layer(layer, {x.tensor()});
  }
  const nn::GroupNormalization first({.groups = 3, .axis = 1, .dtype = kDouble});
  const Tensor image = numbers({2, 3, 2, 2}).tensor();
  first(image);
  fill_weights(first);
  check_layer(first, {image});
}

TEST(NormalizationLayers, what_does_not_fit_is_named) {
  EXPECT_HAS(message_of<ShapeError>([] { nn::GroupNormalization()(ones({2, 3, 20})); }),
             "cannot split the 20 channels of [2, 3, 20] into 32 groups");
  EXPECT_HAS(message_of<ShapeError>([] { nn::BatchNormalization({.axis = 3})(ones({2, 3})); }),
             "axis 3, which an input of [2, 3] lacks");
  EXPECT_THROW(nn::LayerNormalization({.axis = {1, -1}})(ones({2, 3})), ShapeError);
  EXPECT_THROW(nn::BatchNormalization({.momentum = 1.5}), ValueError);
  EXPECT_THROW(nn::BatchNormalization({.epsilon = 0}), ValueError);
  EXPECT_THROW(nn::GroupNormalization({.groups = 0}), ValueError);
  EXPECT_THROW(nn::LayerNormalization({.axis = {}}), ValueError);
  const nn::BatchNormalization layer;
  layer(ones({2, 3}));
  EXPECT_HAS(message_of<ShapeError>([&] { layer(ones({2, 4})); }), "BatchNormalization");
}

TEST(NormalizationLayers, they_pass_masks_on) {
  const Tensor x = ones({1, 2, 3}), mask = tensor(std::vector<bool>{true, false}, {1, 2});
  EXPECT_EQ(nn::BatchNormalization().compute_mask({x}, {mask}).id(), mask.id());
  EXPECT_EQ(nn::LayerNormalization().compute_mask({x}, {mask}).id(), mask.id());
}

TEST(NormalizationLayers, rms_normalization_divides_by_the_root_of_the_mean_square) {
  Grid x = numbers({2, 3, 4}), want(x.shape);
  const nn::RMSNormalization layer({.epsilon = 0.1, .dtype = kDouble});
  layer(x.tensor());
  fill_weights(layer);
  Grid scale = grid_of(layer.get_weights()[0]);
  for (int b = 0; b < 2; ++b) {
    for (int t = 0; t < 3; ++t) {
      double squares = 0;
      for (int f = 0; f < 4; ++f) squares += x(b, t, f) * x(b, t, f);
      for (int f = 0; f < 4; ++f) {
        want(b, t, f) = x(b, t, f) / std::sqrt(squares / 4 + 0.1) * scale(f);
      }
    }
  }
  expect_near(layer(x.tensor()), want);
  check_layer(layer, {x.tensor()});
  const nn::RMSNormalization both({.axis = {-1, 1}, .dtype = kDouble});
  check_layer(both, {x.tensor()});
  EXPECT_EQ(both.weights()[0].shape(), (Shape{3, 4}));
  EXPECT_EQ(both.weights()[0].name(), both.name() + "/scale");
  EXPECT_HAS(message_of<ValueError>([] { nn::RMSNormalization({.epsilon = 0}); }),
             "RMSNormalization: epsilon must be above 0: 0");
}

TEST(NormalizationLayers, unit_normalization_gives_length_1) {
  const nn::UnitNormalization layer;
  EXPECT_EQ(floats(layer(tensor({3.f, 4.f, 0.f, 2.f}, {2, 2}))), (Floats{0.6f, 0.8f, 0, 1}));
  EXPECT_EQ(floats(nn::UnitNormalization({.axis = {1, 2}})(full({1, 2, 2}, 3.f))),
            (Floats{0.5f, 0.5f, 0.5f, 0.5f}));
  check_layer(layer, {numbers({2, 3}).tensor()});
  EXPECT_THROW(nn::UnitNormalization({.axis = {}}), ValueError);
  EXPECT_THROW(nn::UnitNormalization({.axis = {5}})(ones({2, 2})), ShapeError);
}

TEST(NormalizationLayers, spectral_normalization_divides_the_kernel_by_its_largest_singular_value) {
  const nn::Dense dense({.units = 3, .use_bias = false, .dtype = kDouble});
  const nn::SpectralNormalization layer(dense, {.power_iterations = 200, .dtype = kDouble});
  const Tensor x = numbers({2, 4}).tensor();
  layer(x);
  fill_weights(layer);
  const Tensor kernel = dense.get_weights()[0];
  expect_near(layer(x), grid_of(matmul(x, kernel)));  // as it is outside of training
  const double largest = singular_values(kernel)[0].item<double>();
  const Tensor y = layer(x, kTraining);
  expect_near(dense.get_weights()[0], grid_of(kernel / largest), 1e-9);
  expect_near(y, grid_of(matmul(x, kernel / largest)), 1e-9);
  EXPECT_EQ(layer.trainable_weights().size(), 1u);
  EXPECT_EQ(layer.non_trainable_weights().size(), 1u);
  check_layer(layer, {x});
}

TEST(NormalizationLayers, spectral_normalization_estimates_better_from_step_to_step) {
  const nn::Conv2D conv({.filters = 2, .kernel_size = {2}});
  const nn::Sequential model({nn::SpectralNormalization(conv, {.input_shape = {4, 4, 1}}),
                              nn::Flatten(), nn::Dense({.units = 1})});
  for (const bool eager : {false, true}) {
    model.compile({.optimizer = nn::SGD({.learning_rate = 0}), .loss = "mse", .eager = eager});
    conv.set_weights({random::normal({2, 2, 1, 2}), zeros({2})});
    for (int step = 0; step < 60; ++step) model.train_on_batch(ones({2, 4, 4, 1}), ones({2, 1}));
    const Tensor matrix = reshape(conv.get_weights()[0], {4, 2});
    EXPECT_NEAR(singular_values(matrix)[0].item<float>(), 1, 1e-3);
  }
  model.compile({.optimizer = nn::SGD({.learning_rate = 0.01}), .loss = "mse"});
  const Floats before = floats(conv.get_weights()[0]);
  model.train_on_batch(ones({2, 4, 4, 1}), ones({2, 1}));
  EXPECT_NE(floats(conv.get_weights()[0]), before);
}

TEST(NormalizationLayers, spectral_normalization_leaves_a_kernel_of_zeros_and_refuses_none) {
  const nn::Embedding table({.input_dim = 3, .output_dim = 2, .embeddings_initializer = "zeros"});
  const nn::SpectralNormalization layer(table);
  EXPECT_EQ(floats(layer(tensor({0, 2}, {1, 2}), kTraining)), (Floats{0, 0, 0, 0}));
  EXPECT_HAS(message_of<ValueError>(
                 [] { nn::SpectralNormalization(nn::Flatten({.name = "f"}))(ones({2, 2})); }),
             "takes a layer with a kernel or embeddings, Flatten \"f\" has neither");
  EXPECT_HAS(
      message_of<ValueError>([&] { nn::SpectralNormalization(table, {.power_iterations = 0}); }),
      "SpectralNormalization: power_iterations must be at least 1: 0");
}

}  // namespace
}  // namespace tenure::testing
