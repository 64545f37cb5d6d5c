#include "tenure/nn/regularization_layers.h"

#include <cmath>
#include <set>

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
    expect_near(in_double(layer)(x), grid_of(x), 0);
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

std::vector<nn::Layer> seeded_layers() {
  return {nn::Dropout({.rate = 0.5, .seed = 11}),
          nn::Dropout({.rate = 0.5, .noise_shape = Shape{nn::kAny, 1, 4}, .seed = 11}),
          nn::AlphaDropout({.rate = 0.5, .seed = 11}),
          nn::SpatialDropout1D({.rate = 0.5, .seed = 11}),
          nn::GaussianDropout({.rate = 0.5, .seed = 11}),
          nn::GaussianNoise({.stddev = 0.5, .seed = 11})};
}

// What the first calls give.
std::vector<Floats> first_calls(const nn::Layer& layer, int count = 4) {
  std::vector<Floats> all;
  for (int call = 0; call < count; ++call) {
    all.push_back(floats(layer(ones({6, 3, 4}), kTraining)));
  }
  return all;
}

TEST(RegularizationLayers, a_seed_begins_a_sequence_of_the_layers_own) {
  for (std::size_t i = 0; i < seeded_layers().size(); ++i) {
    const nn::Layer layer = seeded_layers()[i], alike = seeded_layers()[i];
    SCOPED_TRACE(layer.config());
    const std::vector<Floats> first = first_calls(layer);
    EXPECT_EQ(std::set<Floats>(first.begin(), first.end()).size(), first.size());
    set_seed(99);
    random::normal({100});  // has nothing to do with it
    EXPECT_EQ(first_calls(alike), first);
    EXPECT_EQ(layer.weights().size(), 0u);
    EXPECT_EQ(layer.get_states().size(), 0u);
    alike.reset_states();
    EXPECT_NE(first_calls(alike), first);
  }
}

TEST(RegularizationLayers, a_sequence_goes_on_in_traced_functions_and_in_trained_models) {
  for (std::size_t i = 0; i < seeded_layers().size(); ++i) {
    const nn::Layer layer = seeded_layers()[i], alike = seeded_layers()[i];
    SCOPED_TRACE(layer.config());
    const Function f = function("f", [&](Tensor x) { return alike(x, kTraining); });
    for (const Floats& want : first_calls(layer)) {
      const Floats got = floats(f(ones({6, 3, 4})));
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t j = 0; j < want.size(); ++j) ASSERT_NEAR(got[j], want[j], 1e-6);
    }
  }
  const auto losses = [](bool eager) {
    const nn::Sequential model({nn::Dropout({.rate = 0.5, .seed = 3, .input_shape = {8}}),
                                nn::Dense({.units = 1, .kernel_initializer = "ones"})});
    model.compile({.optimizer = nn::SGD({.learning_rate = 0}), .loss = "mse", .eager = eager});
    std::vector<double> all;
    for (int step = 0; step < 4; ++step) {
      all.push_back(nn::value_of(model.train_on_batch(ones({4, 8}), zeros({4, 1})), "loss"));
    }
    return all;
  };
  const std::vector<double> first = losses(false);
  EXPECT_EQ(losses(false), first);  // from run to run
  EXPECT_EQ(losses(true), first);
  EXPECT_EQ(std::set<double>(first.begin(), first.end()).size(), first.size());
}

TEST(RegularizationLayers, the_first_noise_of_a_seed_is_that_of_set_seed) {
  const Tensor x = numbers({40, 5}).tensor();
  expect_near(in_double(nn::Dropout({.rate = 0.5, .seed = 11}))(x, kTraining),
              grid_of(dropout(x, 0.5, {.seed = 11})), 0);
}

TEST(RegularizationLayers, a_gradient_has_the_noise_of_its_call) {
  const Tensor x = ones({5, 4});
  for (const bool recompute : {false, true}) {
    const nn::Dropout layer({.rate = 0.5, .seed = 11});
    layer.set_recompute(recompute);
    for (int call = 0; call < 3; ++call) {
      GradientTape tape;
      tape.watch(x);
      const Tensor y = layer(x, kTraining);
      expect_near(tape.gradient(sum(y), x), grid_of(y), 0);
    }
  }
}

TEST(RegularizationLayers, a_call_that_fails_has_drawn_nothing) {
  const nn::Dropout layer({.rate = 0.5, .seed = 11}), alike({.rate = 0.5, .seed = 11});
  const nn::Sequential model({layer, nn::Lambda({.function = [](Tensor x) {
                                return x.dim(0) == 2 ? matmul(x, x) : x * 1.0;
                              }})});
  model(ones({4, 6}));
  EXPECT_THROW(model(ones({2, 6}), kTraining), ShapeError);
  EXPECT_EQ(floats(model(ones({4, 6}), kTraining)), floats(alike(ones({4, 6}), kTraining)));
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
