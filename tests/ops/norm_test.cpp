// What normalisations and dropout promise beyond their formulas.
#include <algorithm>
#include <cmath>

#include "case.h"

namespace tenure::testing {
namespace {

TEST(BatchNorm, finds_a_small_variance_about_a_large_mean) {
  std::vector<float> values;
  for (int i = 0; i < 4000; ++i) values.push_back(i % 2 == 0 ? 4096.5f : 4095.5f);
  for (const int axis : {0, 1}) {
    const Shape shape = axis == 1 ? Shape{2000, 2} : Shape{2, 2000};
    const BatchNormalized y = batch_norm_training(tensor(values, shape), {.axis = axis});
    const std::vector<float> mean = y.mean.to_vector<float>();
    const std::vector<float> variance = y.variance.to_vector<float>();
    for (std::size_t f = 0; f < 2; ++f) {
      EXPECT_EQ(mean[f], axis == 1 ? (f == 0 ? 4096.5f : 4095.5f) : 4096.0f);
      EXPECT_EQ(variance[f], axis == 1 ? 0 : 0.25f);
    }
  }
}

TEST(BatchNorm, a_nan_spoils_its_own_feature_and_no_other) {
  for (const int axis : {0, 1}) {
    std::vector<float> values(600, 1);
    values[7 * 2] = std::nanf("");  // of feature 0 either way
    const Shape shape = axis == 1 ? Shape{300, 2} : Shape{2, 300};
    const BatchNormalized y = batch_norm_training(tensor(values, shape), {.axis = axis});
    const std::vector<float> mean = y.mean.to_vector<float>();
    const std::vector<float> variance = y.variance.to_vector<float>();
    EXPECT_TRUE(std::isnan(mean[0]) && std::isnan(variance[0]));
    EXPECT_EQ(mean[1], 1);
    EXPECT_EQ(variance[1], 0);
  }
}

TEST(BatchNorm, of_no_samples_has_moments_that_are_nan) {
  const BatchNormalized y = batch_norm_training(zeros({0, 2}));
  EXPECT_EQ(y.output.shape(), (Shape{0, 2}));
  EXPECT_TRUE(std::isnan(y.mean.to_vector<float>()[0]));
  EXPECT_TRUE(std::isnan(y.variance.to_vector<float>()[1]));
}

TEST(BatchNorm, a_large_batch_gives_each_row_what_it_gets_alone) {
  set_seed(3);
  const std::int64_t rows = 36'000;  // past the size from which results bypass the caches
  const Tensor x = random::normal({rows, 64});
  const BatchNormOptions options{.scale = random::normal({64}), .offset = random::normal({64})};
  const BatchNormalized y = batch_norm_training(x, options);
  const Tensor all = batch_norm(x, y.mean, y.variance, options);
  for (const std::int64_t row : {std::int64_t{0}, rows / 3, rows - 1}) {
    const Tensor alone = batch_norm(x[row], y.mean, y.variance, options);
    EXPECT_EQ(bits_of(alone), bits_of(all[row])) << row;
    EXPECT_TRUE(close(y.output[row], to_array(alone), DType::float32, {.ulps = 4, .epsilons = 8}));
  }
}

TEST(BatchNorm, takes_moments_that_broadcast) {
  const Tensor x = random::normal({2, 3, 4}), mean = random::normal({4});
  const Tensor variance = random::uniform({4}, {.low = 0.5});
  const Tensor wide = batch_norm(x, reshape(mean, {1, 1, 4}), reshape(variance, {1, 1, 4}));
  EXPECT_TRUE(close(batch_norm(x, mean, variance), to_array(wide), DType::float32,
                    {.ulps = 4, .epsilons = 4}));
}

TEST(BatchNorm, takes_variables_and_integers) {
  const Variable scale(full({2}, 3.0)), offset(full({2}, 1.0));
  const Tensor y = batch_norm(tensor({5, 7}, {1, 2}), tensor({5.f, 5.f}), tensor({1.f, 1.f}),
                              {.scale = scale, .offset = offset, .epsilon = 0});
  EXPECT_EQ(floats(y), (Floats{1, 7}));
}

TEST(Norms, refuse_what_makes_no_sense) {
  const Tensor x = ones({2, 4}), v = ones({4}), other = ones({3});
  EXPECT_EQ(message_of<ValueError>([&] { batch_norm(x, v, v, {.epsilon = -1}); }),
            "batch_norm: an epsilon below zero: -1");
  EXPECT_EQ(message_of<ValueError>([&] { batch_norm_training(x, {.epsilon = -1}); }),
            "batch_norm_training: an epsilon below zero: -1");
  EXPECT_EQ(message_of<ValueError>([&] { layer_norm(x, {.epsilon = -1}); }),
            "layer_norm: an epsilon below zero: -1");
  EXPECT_EQ(message_of<ValueError>([&] { l2_normalize(x, {1}, -1); }),
            "l2_normalize: an epsilon below zero: -1");
  EXPECT_EQ(message_of<ShapeError>([&] { layer_norm(x, {.offset = other}); }),
            "layer_norm: the offset is [3], the normalised axes [4] of [2, 4]");
  EXPECT_EQ(message_of<ShapeError>([&] { group_norm(x, 2, {.scale = other}); }),
            "group_norm: the scale is [3], for 4 features of [2, 4]");
  EXPECT_EQ(message_of<ShapeError>([&] { batch_norm(x, other, v); }),
            "batch_norm: the mean is [3], for 4 features of [2, 4]");
}

TEST(Dropout, drops_its_rate_and_scales_the_rest) {
  set_seed(5);
  constexpr std::int64_t kCount = 100'000;
  for (const double rate : {0.0, 0.25, 0.5, 0.9}) {
    const std::vector<float> y = dropout(ones({kCount}), rate).to_vector<float>();
    const auto dropped = static_cast<double>(std::count(y.begin(), y.end(), 0.0f));
    EXPECT_NEAR(dropped / kCount, rate, 5 * std::sqrt(rate * (1 - rate) / kCount)) << rate;
    const auto kept = std::find_if(y.begin(), y.end(), [](float v) { return v != 0; });
    EXPECT_FLOAT_EQ(*kept, static_cast<float>(1 / (1 - rate)));
  }
}

TEST(Dropout, its_gradient_has_the_same_mask) {
  const Tensor x = ones({1000});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = dropout(x, 0.3);
  EXPECT_EQ(floats(tape.gradient(y, x)), floats(y));
}

TEST(Dropout, draws_anew_each_time_unless_it_has_a_seed) {
  set_seed(8);
  const Tensor x = ones({200});
  const Floats first = floats(dropout(x, 0.5)), second = floats(dropout(x, 0.5));
  EXPECT_NE(first, second);
  set_seed(8);
  EXPECT_EQ(floats(dropout(x, 0.5)), first);
  EXPECT_EQ(floats(dropout(x, 0.5, {.seed = 1})), floats(dropout(x, 0.5, {.seed = 1})));
  EXPECT_NE(floats(dropout(x, 0.5, {.seed = 1})), floats(dropout(x, 0.5, {.seed = 2})));
}

TEST(Dropout, drops_nan_and_infinities_too) {
  const Tensor y = dropout(full({1000}, std::nan("")), 0.5, {.seed = 4});
  const std::vector<float> values = y.to_vector<float>();
  EXPECT_GT(std::count(values.begin(), values.end(), 0.0f), 400);
}

}  // namespace
}  // namespace tenure::testing
