// What a mask leaves out counts for nothing, in layers, losses and metrics alike.
#include <gtest/gtest.h>

#include "support/expect.h"
#include "tenure/tenure.h"

namespace tenure::masking {
namespace {

using testing::floats;
using testing::Floats;

// The second and the fourth step of the first series are masked, of the second the last two.
Tensor two_series() { return tensor({1.f, 0.f, 3.f, 0.f, 2.f, 2.f, 0.f, 0.f}, {2, 4, 1}); }

TEST(Masks, batch_normalization_takes_the_steps_that_are_left) {
  const nn::BatchNormalization norm({.momentum = 0});
  const nn::Sequential model({nn::Masking({.input_shape = {4, 1}}), norm});
  model.compile({.optimizer = nn::SGD({.learning_rate = 0}), .loss = "mse"});
  model.train_on_batch(tensor({1.f, 0.f, 3.f, 0.f}, {1, 4, 1}), zeros({1, 4, 1}));
  const std::vector<Variable> moving = norm.non_trainable_weights();
  EXPECT_NEAR(moving[0].read().item<float>(), 2, 1e-5);
  EXPECT_NEAR(moving[1].read().item<float>(), 1, 1e-5);

  // The mean is 2, the variance 1/2: of 1, 3, 2 and 2.
  const Tensor mask = not_equal(squeeze(two_series(), {-1}), 0);
  const Tensor y =
      nn::BatchNormalization({.epsilon = 1e-9})(two_series(), {.training = true, .masks = {mask}});
  const float root = std::sqrt(0.5f);
  const Floats values = floats(y);
  EXPECT_NEAR(values[0], -1 / root, 1e-4);
  EXPECT_NEAR(values[2], 1 / root, 1e-4);
  EXPECT_NEAR(values[4], 0, 1e-4);
  EXPECT_HAS(testing::message_of<ShapeError>([&] {
               nn::BatchNormalization()(two_series(), {.training = true, .masks = {two_series()}});
             }),
             "takes a mask of every axis but the last");
}

TEST(Masks, batch_normalization_of_a_mask_has_the_gradient_of_finite_differences) {
  const Tensor mask = not_equal(squeeze(two_series(), {-1}), 0);
  const nn::BatchNormalization norm({.dtype = DType::float64});
  const Tensor ramp = reshape(cast(arange(8), DType::float64), {2, 4, 1});
  const auto loss = [&](const Tensor& x) {
    const Tensor y = norm(x, {.training = true, .masks = {mask}});
    return sum(square(y) * ramp + y * ramp);
  };
  std::vector<double> at{1, 0.5, 3, -1, 2, 2.5, 4, 0.25};
  const auto loss_at = [&](const std::vector<double>& x) {
    return loss(tensor(x, {2, 4, 1})).item<double>();
  };
  GradientTape tape;
  const Tensor x = tensor(at, {2, 4, 1});
  tape.watch(x);
  const std::vector<double> gradient = tape.gradient(loss(x), x).to_vector<double>();
  for (std::size_t i = 0; i < at.size(); ++i) {
    constexpr double kStep = 1e-5;
    std::vector<double> above = at, below = at;
    above[i] += kStep;
    below[i] -= kStep;
    EXPECT_NEAR(gradient[i], (loss_at(above) - loss_at(below)) / (2 * kStep), 1e-5) << i;
  }
}

TEST(Masks, a_mask_of_nothing_gives_numbers) {
  const nn::BatchNormalization norm({.momentum = 0});
  const Tensor y = norm(two_series(), {.training = true, .masks = {full({2, 4}, false)}});
  for (const float value : floats(y)) EXPECT_TRUE(std::isfinite(value));
}

// Each is the mean of the squares of 1, 3, 2 and 2, or of those of one series.
TEST(Masks, metrics_that_are_means_go_by_them_as_the_loss_does) {
  const nn::Sequential model(
      {nn::Masking({.input_shape = {4, 1}}),
       nn::Dense({.units = 1, .use_bias = false, .kernel_initializer = "ones"})});
  for (const bool eager : {false, true}) {
    model.compile({.optimizer = "sgd",
                   .loss = "mse",
                   .metrics = {"mae"},
                   .weighted_metrics = {"mse"},
                   .eager = eager});
    const nn::Logs even =
        model.evaluate(two_series(), zeros({2, 4, 1}), {.sample_weight = ones({2})});
    EXPECT_NEAR(nn::value_of(even, "loss"), 4.5, 1e-5);
    EXPECT_NEAR(nn::value_of(even, "mse"), 4.5, 1e-5);
    EXPECT_NEAR(nn::value_of(even, "mae"), 2, 1e-5);
    const nn::Logs first =
        model.evaluate(two_series(), zeros({2, 4, 1}), {.sample_weight = tensor({1.f, 0.f})});
    EXPECT_NEAR(nn::value_of(first, "mse"), 5, 1e-5);
  }
}

TEST(Masks, what_weighs_nothing_may_be_infinite) {
  const nn::Metric mse("mse");
  mse.update(zeros({2, 1}), tensor({INFINITY, 3.f}, {2, 1}), tensor({0.f, 1.f}));
  EXPECT_EQ(mse.result(), 9);
}

TEST(Masks, merged_inputs_count_where_any_does) {
  const nn::Embedding embed({.input_dim = 5, .output_dim = 2, .mask_zero = true});
  const nn::Node a = nn::Input({.shape = {3}}), b = nn::Input({.shape = {3}});
  const Tensor x = tensor({1.f, 0.f, 0.f}, {1, 3}), y = tensor({1.f, 2.f, 0.f}, {1, 3});
  const auto mask_of = [&](const nn::Model& model) {
    std::vector<Tensor> masks;
    model.apply(std::vector<Tensor>{x, y}, {.output_masks = &masks});
    return masks.at(0);
  };
  for (const nn::Layer& merge :
       {nn::Layer(nn::Add()), nn::Layer(nn::Multiply()), nn::Layer(nn::Maximum())}) {
    EXPECT_EQ(mask_of(nn::Model({a, b}, {merge({embed(a), embed(b)})})).to_vector<bool>(),
              (std::vector<bool>{true, true, false}));
  }
  const nn::Dense plain({.units = 2});
  const nn::Node no_mask = nn::RepeatVector({.n = 3})(plain(b));  // nor has its sum with another
  EXPECT_FALSE(mask_of(nn::Model({a, b}, {nn::Add()({embed(a), no_mask})})).defined());
}

// A layer of one's own is given its mask from the first, where its sizes are found out.
struct SumOfWords final : nn::LayerBase {
  Tensor call(const Tensor& x, const nn::Call& how) override {
    ++calls;
    return sum(x * expand_dims(cast(how.mask(), x.dtype()), -1), {1});
  }
  int calls = 0;
};

TEST(Masks, a_layer_of_ones_own_sees_its_mask_in_any_model) {
  const nn::Embedding embed({.input_dim = 3,
                             .output_dim = 2,
                             .embeddings_initializer = "ones",
                             .mask_zero = true,
                             .input_length = 3});
  const Tensor words = tensor({1.f, 0.f, 2.f}, {1, 3});
  const nn::Sequential chain({embed, nn::make_layer<SumOfWords>()});
  EXPECT_EQ(floats(chain.predict(words)), Floats(2, 2.f));
  const nn::Node in = nn::Input({.shape = {3}});
  const nn::Layer sums = nn::make_layer<SumOfWords>();
  const nn::Node between = nn::Dropout({.rate = 0.5})(embed(in));  // passes it on
  const nn::Model graph({in}, {sums(between)});
  EXPECT_EQ(graph.outputs()[0].shape(), Shape({nn::kAny, 2}));
  EXPECT_EQ(floats(graph.predict(words)), Floats(2, 2.f));
  const nn::Sequential outer({graph});
  EXPECT_EQ(floats(outer.predict(words)), Floats(2, 2.f));
}

}  // namespace
}  // namespace tenure::masking
