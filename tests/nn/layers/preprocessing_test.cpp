#include "tenure/nn/preprocessing_layers.h"

#include <cmath>

#include "nn/config.h"
#include "nn/layers/checks.h"

namespace tenure::testing {
namespace {

// The mean and the variance of each feature of [rows, features], in double precision.
std::pair<std::vector<double>, std::vector<double>> moments_of(Grid& x) {
  const std::int64_t rows = x.shape[0], features = x.shape[1];
  std::vector<double> means, variances;
  for (std::int64_t f = 0; f < features; ++f) {
    double sum = 0, squares = 0;
    for (std::int64_t r = 0; r < rows; ++r) sum += x(r, f);
    const double mean = sum / static_cast<double>(rows);
    for (std::int64_t r = 0; r < rows; ++r) squares += (x(r, f) - mean) * (x(r, f) - mean);
    means.push_back(mean);
    variances.push_back(squares / static_cast<double>(rows));
  }
  return {means, variances};
}

TEST(PreprocessingLayers, normalization_learns_mean_and_variance_of_each_feature) {
  Grid x = numbers({50, 3});
  for (std::int64_t r = 0; r < 50; ++r) x(r, 1) = 1000 + x(r, 1);
  const auto [means, variances] = moments_of(x);
  Grid want(x.shape);
  for (std::int64_t r = 0; r < 50; ++r) {
    for (std::size_t f = 0; f < 3; ++f) {
      want(r, f) = (x(r, f) - means[f]) / std::sqrt(variances[f]);
    }
  }
  const nn::Normalization layer({.dtype = kDouble});
  layer.adapt(x.tensor());
  expect_near(layer(x.tensor()), want, 1e-9);
  EXPECT_EQ(layer.trainable_weights().size(), 0u);
  EXPECT_EQ(layer.weights().size(), 3u);
  check_layer(layer, {numbers({2, 3}).tensor()});

  // By batches of any sizes it learns the same.
  const nn::Normalization by_batches({.dtype = kDouble});
  by_batches.adapt(nn::Dataset::from_tensors(x.tensor()).batch(7));
  for (int i = 0; i < 2; ++i) {
    expect_near(by_batches.get_weights()[i], grid_of(layer.get_weights()[i]), 1e-12);
  }
  const nn::Normalization back({.invert = true, .dtype = kDouble});
  back.build({nn::kAny, 3});
  back.set_weights(layer.get_weights());
  expect_near(back(layer(x.tensor())), x, 1e-9);
}

TEST(PreprocessingLayers, normalization_adapts_anew_each_time_and_takes_integers) {
  const nn::Normalization layer;
  layer.adapt(tensor({0, 10, 20}, {3, 1}));
  layer.adapt(tensor({1, 3}, {2, 1}));  // mean 2, variance 1
  EXPECT_EQ(floats(layer(tensor({1, 2, 5}, {3, 1}))), (Floats{-1, 0, 3}));
}

TEST(PreprocessingLayers, normalization_by_one_mean_or_along_several_axes) {
  const Tensor x = tensor({1.f, 2.f, 3.f, 4.f}, {2, 2});  // mean 2.5, variance 1.25
  const nn::Normalization one({.axis = {}});
  one.adapt(x);
  const auto far = static_cast<float>(1.5 / std::sqrt(1.25));
  const Floats y = floats(one(x));
  EXPECT_NEAR(y.front(), -far, 1e-6);
  EXPECT_NEAR(y.back(), far, 1e-6);
  const nn::Normalization both({.axis = {1, 2}});
  both.adapt(reshape(arange(24), {2, 3, 4}));
  EXPECT_EQ(both.weights()[0].shape(), (Shape{3, 4}));
  EXPECT_EQ(both.get_weights()[0].to_vector<float>()[0], 6.f);  // of 0 and 12
  check_config(one, {x});
}

TEST(PreprocessingLayers, normalization_by_numbers_that_were_given) {
  const nn::Normalization layer({.mean = {3}, .variance = {4}});
  EXPECT_EQ(floats(layer(tensor({1.f, 5.f}, {1, 2}))), (Floats{-1, 1}));
  EXPECT_EQ(layer.weights().size(), 0u);
  const nn::Normalization each({.mean = {1, 2}, .variance = {1, 0}});
  EXPECT_EQ(floats(each(tensor({2.f, 2.f}, {1, 2}))), (Floats{1, 0}));
  check_config(each, {ones({2, 2})});
  check_trace(each, {ones({2, 2})});
  EXPECT_HAS(message_of<ValueError>([&] { layer.adapt(ones({2, 2})); }),
             "was given its mean and variance");
  EXPECT_HAS(message_of<ValueError>([] { nn::Normalization({.mean = {1}}); }),
             "mean and variance must be given both, or neither");
  EXPECT_HAS(message_of<ShapeError>([&] { each(ones({2, 3})); }), "2 numbers as mean, for [3]");
}

TEST(PreprocessingLayers, normalization_in_a_model_follows_what_it_adapts_to) {
  const nn::Normalization layer({.input_shape = {1}});
  const nn::Sequential model({layer, nn::Activation("linear")});
  const Tensor x = tensor({1.f, 3.f}, {2, 1});
  EXPECT_EQ(floats(model.predict(x)), (Floats{1, 3}));
  layer.adapt(x);
  EXPECT_EQ(floats(model.predict(x)), (Floats{-1, 1}));
  layer.adapt(x + 1.f);
  EXPECT_EQ(floats(model.predict(x)), (Floats{-2, 0}));
}

TEST(PreprocessingLayers, normalization_names_what_does_not_fit_and_learns_nothing_then) {
  const nn::Normalization layer({.name = "n"});
  layer.adapt(tensor({1.f, 3.f}, {2, 1}));
  const Floats before = floats(layer.get_weights()[0]);
  EXPECT_HAS(
      message_of<ShapeError>([&] { layer(ones({2, 2})); }),
      "Normalization \"n\": has a mean for each of [1] along the axes [-1], was given [2, 2]");
  EXPECT_HAS(message_of<ShapeError>([&] { layer.adapt(ones({2, 2})); }),
             "adapt: Normalization \"n\" is for inputs of rank 2 with [1] places");
  EXPECT_HAS(message_of<ValueError>([&] { layer.adapt(zeros({0, 1})); }), "there is nothing in");
  EXPECT_HAS(message_of<ValueError>([&] {
               layer.adapt(nn::Dataset::from_tensors({ones({2, 1}), ones({2, 1})}).batch(2));
             }),
             "takes one input, the batches of the dataset have 2");
  EXPECT_EQ(floats(layer.get_weights()[0]), before);
  EXPECT_HAS(message_of<ShapeError>([] { nn::Normalization({.axis = {0}})(ones({2, 2})); }),
             "works along axis 0: that is the batch");
  layer.dispose();
  EXPECT_THROW(layer.adapt(ones({2, 1})), DisposedError);
}

TEST(PreprocessingLayers, discretization_by_boundaries) {
  const nn::Discretization layer({.bin_boundaries = {0, 1, 2}});
  EXPECT_EQ(layer(tensor({NAN, -1.f, 9.f})).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{3, 0, 3}))
      << "as NumPy sorts NaN";
  const Tensor x = tensor({-1.5f, 1.f, 3.4f, 0.5f}, {2, 2});
  const Tensor bins = layer(x);
  EXPECT_EQ(bins.dtype(), DType::int32);
  EXPECT_EQ(bins.to_vector<std::int32_t>(), (std::vector<std::int32_t>{0, 2, 3, 1}));
  const auto rows = [&](const char* mode) {
    return floats(nn::Discretization({.bin_boundaries = {0, 1, 2}, .output_mode = mode})(x));
  };
  EXPECT_EQ(rows("one_hot"), (Floats{1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(rows("multi_hot"), (Floats{1, 0, 1, 0, 0, 1, 0, 1}));
  EXPECT_EQ(floats(nn::Discretization({.bin_boundaries = {0}, .output_mode = "count"})(
                tensor({1.f, 2.f, -1.f, 1.f}, {2, 2}))),
            (Floats{0, 2, 1, 1}));
  check_config(layer, {x});
  check_trace(layer, {x});
  check_spec(layer, {x});
}

TEST(PreprocessingLayers, discretization_learns_bins_that_are_as_full) {
  const Tensor x = tensor({-1.5f, 1.0f, 3.4f, 0.5f, 0.0f, 3.0f, 1.3f, 0.0f}, {2, 4});
  const nn::Discretization layer({.num_bins = 4});
  layer.adapt(x);
  // In order: -1.5 0 0 0.5 1 1.3 3 3.4; a quarter of them is reached at 0, a half at 0.5, ...
  ASSERT_EQ(layer.bin_boundaries().size(), 3u);
  EXPECT_NEAR(layer.bin_boundaries()[0], 0, 1e-6);
  EXPECT_NEAR(layer.bin_boundaries()[1], 0.5, 1e-6);
  EXPECT_NEAR(layer.bin_boundaries()[2], 1.3, 1e-6);
  EXPECT_EQ(layer(x).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{0, 2, 3, 2, 1, 3, 3, 1}));
  check_config(layer, {x});
  check_trace(layer, {x});

  const nn::Discretization by_batches({.num_bins = 4});
  by_batches.adapt(nn::Dataset::from_tensors(x).batch(1));
  EXPECT_EQ(by_batches.bin_boundaries(), layer.bin_boundaries());
}

TEST(PreprocessingLayers, discretization_of_much_data_is_as_exact_as_epsilon) {
  const Tensor x = reshape(cast(arange(100'000), DType::float32), {1000, 100});
  const nn::Discretization layer({.num_bins = 10, .epsilon = 0.001});
  layer.adapt(nn::Dataset::from_tensors(x).shuffle().batch(64));
  const std::vector<double> boundaries = layer.bin_boundaries();
  ASSERT_EQ(boundaries.size(), 9u);
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_NEAR(boundaries[i], 10'000.0 * static_cast<double>(i + 1), 1500);
  }
}

TEST(PreprocessingLayers, what_discretization_cannot_do_is_refused) {
  EXPECT_HAS(message_of<ValueError>([] { nn::Discretization({}); }),
             "Discretization: give it bin_boundaries, or num_bins to adapt");
  EXPECT_HAS(message_of<ValueError>([] { nn::Discretization({.bin_boundaries = {2, 1}}); }),
             "bin_boundaries must ascend: 2, 1");
  EXPECT_HAS(message_of<ValueError>([] { nn::Discretization({.num_bins = 1}); }),
             "num_bins must be at least 2: 1");
  EXPECT_HAS(message_of<ValueError>([] { nn::Discretization({.num_bins = 2, .epsilon = 0}); }),
             "epsilon must be above 0 and below 1: 0");
  EXPECT_HAS(message_of<ValueError>(
                 [] { nn::Discretization({.bin_boundaries = {1}, .output_mode = "float"}); }),
             "no such output_mode: \"float\" (int, multi_hot, one_hot, count)");
  EXPECT_HAS(
      message_of<ValueError>([] { nn::Discretization({.num_bins = 2, .name = "d"})(ones({1})); }),
      "Discretization \"d\" has no boundaries yet: adapt it first");
  EXPECT_HAS(
      message_of<ValueError>([] { nn::Discretization({.bin_boundaries = {1}}).adapt(ones({1})); }),
      "was given its bin_boundaries");
}

}  // namespace
}  // namespace tenure::testing
