#include "tenure/nn/regularization_layers.h"

#include <cmath>

#include "nn/layers/checks.h"

namespace tenure::testing {
namespace {

struct Spread {
  double mean, deviation;
};
Spread spread_of(const Tensor& x) {
  const Grid grid = grid_of(x);
  double sum = 0, squares = 0;
  for (const double value : grid.values) sum += value;
  const double count = static_cast<double>(grid.values.size()), mean = sum / count;
  for (const double value : grid.values) squares += (value - mean) * (value - mean);
  return {mean, std::sqrt(squares / count)};
}

TEST(RegularizationLayers, only_training_changes_anything) {
  const Tensor x = numbers({2, 3, 4}).tensor();
  const std::vector<nn::Layer> layers{
      nn::Dropout({.rate = 0.5}),          nn::AlphaDropout({.rate = 0.5}),
      nn::SpatialDropout1D({.rate = 0.5}), nn::GaussianDropout({.rate = 0.5}),
      nn::GaussianNoise({.stddev = 1}),    nn::ActivityRegularization({.l1 = 1, .l2 = 1})};
  for (const nn::Layer& layer : layers) {
    expect_near(layer(x), grid_of(x), 0);
    EXPECT_NE(layer(x).id(), x.id());
    check_layer(layer, {x});
    const Tensor mask = tensor(std::vector<bool>(6, true), {2, 3});
    EXPECT_EQ(layer.compute_mask({x}, {mask}).id(), mask.id());
  }
}

TEST(RegularizationLayers, dropout_zeroes_a_share_and_makes_up_for_it) {
  set_seed(3);
  const nn::Dropout dropout({.rate = 0.25});
  const std::vector<float> y = floats(dropout(ones({100, 100}), kTraining));
  int zeros = 0;
  for (const float value : y) {
    if (value == 0) {
      ++zeros;
    } else {
      ASSERT_FLOAT_EQ(value, 1 / 0.75f);
    }
  }
  EXPECT_NEAR(zeros, 2500, 200);
  EXPECT_NE(floats(dropout(ones({100, 100}), kTraining)), y);
}

TEST(RegularizationLayers, a_seed_of_its_own_gives_the_same_noise_each_time) {
  const nn::Dropout dropout({.rate = 0.5, .seed = 11});
  const Tensor x = numbers({8, 8}).tensor();
  expect_near(dropout(x, kTraining), grid_of(dropout(x, kTraining)), 0);
  check_layer(dropout, {x}, kTraining);
  check_layer(nn::AlphaDropout({.rate = 0.3, .seed = 4}), {x}, kTraining);
}

TEST(RegularizationLayers, dropout_shares_noise_along_axes_of_size_1_in_noise_shape) {
  const nn::Dropout dropout({.rate = 0.5, .noise_shape = Shape{nn::kAny, 1, 3}, .seed = 5});
  Grid y = grid_of(dropout(ones({4, 5, 3}), kTraining));
  for (int b = 0; b < 4; ++b) {
    for (int t = 1; t < 5; ++t) {
      for (int f = 0; f < 3; ++f) EXPECT_EQ(y(b, t, f), y(b, 0, f));
    }
  }
  EXPECT_HAS(message_of<ShapeError>([&] { dropout(ones({4, 3}), kTraining); }), "rank 3");
}

TEST(RegularizationLayers, spatial_dropout_takes_whole_channels) {
  set_seed(8);
  Grid last = grid_of(nn::SpatialDropout2D({.rate = 0.5})(ones({3, 4, 5, 6}), kTraining));
  Grid first = grid_of(nn::SpatialDropout2D({.rate = 0.5, .data_format = "channels_first"})(
      ones({3, 6, 4, 5}), kTraining));
  int kept = 0;
  for (int b = 0; b < 3; ++b) {
    for (int c = 0; c < 6; ++c) {
      kept += last(b, 0, 0, c) != 0;
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 5; ++j) {
          EXPECT_EQ(last(b, i, j, c), last(b, 0, 0, c));
          EXPECT_EQ(first(b, c, i, j), first(b, c, 0, 0));
        }
      }
    }
  }
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, 18);
  check_layer(nn::SpatialDropout1D({.rate = 0.5, .seed = 2}), {numbers({2, 3, 4}).tensor()},
              kTraining);
  check_layer(nn::SpatialDropout3D({.rate = 0.5, .seed = 2}), {numbers({2, 2, 2, 2, 3}).tensor()},
              kTraining);
  EXPECT_THROW(nn::SpatialDropout2D({.rate = 0.5})(ones({2, 3, 4})), ShapeError);
}

TEST(RegularizationLayers, gaussian_noise_has_the_deviation_it_was_given) {
  set_seed(5);
  const Spread added = spread_of(nn::GaussianNoise({.stddev = 0.5})(zeros({200, 100}), kTraining));
  EXPECT_NEAR(added.mean, 0, 0.02);
  EXPECT_NEAR(added.deviation, 0.5, 0.02);
  const Spread times = spread_of(nn::GaussianDropout({.rate = 0.2})(ones({200, 100}), kTraining));
  EXPECT_NEAR(times.mean, 1, 0.02);
  EXPECT_NEAR(times.deviation, std::sqrt(0.2 / 0.8), 0.02);
}

TEST(RegularizationLayers, alpha_dropout_keeps_mean_and_variance) {
  set_seed(6);
  const Tensor x = random::normal({300, 100});
  const Spread kept = spread_of(nn::AlphaDropout({.rate = 0.3})(x, kTraining));
  EXPECT_NEAR(kept.mean, 0, 0.03);
  EXPECT_NEAR(kept.deviation, 1, 0.03);
}

TEST(RegularizationLayers, noise_differs_from_call_to_call_in_a_traced_function) {
  const nn::Dropout dropout({.rate = 0.5});
  const nn::GaussianNoise noise({.stddev = 1});
  const Function f =
      function("noisy", [&](Tensor x) { return noise(dropout(x, kTraining), kTraining); });
  const Tensor x = ones({10, 10});
  EXPECT_NE(floats(f(x)), floats(f(x)));
}

TEST(RegularizationLayers, activity_regularization_adds_to_the_loss) {
  std::vector<Tensor> losses;
  const nn::ActivityRegularization layer({.l1 = 0.1, .l2 = 0.01});
  const Tensor x = tensor({1.f, -2.f, 3.f, -4.f}, {2, 2});
  EXPECT_EQ(floats(layer(x, {.training = true, .masks = {}, .losses = &losses})), floats(x));
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_NEAR(losses[0].item<float>(), (0.1 * 10 + 0.01 * 30) / 2, 1e-6);
}

TEST(RegularizationLayers, rates_are_from_0_to_less_than_1) {
  EXPECT_HAS(message_of<ValueError>([] { nn::Dropout({.rate = 1}); }), "Dropout: rate");
  EXPECT_THROW(nn::Dropout({.rate = -0.1}), ValueError);
  EXPECT_THROW(nn::AlphaDropout({.rate = 1.5}), ValueError);
  EXPECT_THROW(nn::SpatialDropout1D({.rate = 2}), ValueError);
  EXPECT_THROW(nn::GaussianDropout({.rate = 1}), ValueError);
  EXPECT_THROW(nn::GaussianNoise({.stddev = -1}), ValueError);
}

}  // namespace
}  // namespace tenure::testing
