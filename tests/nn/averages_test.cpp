// Averages that optimizers keep of variables, and what becomes of them.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "support/expect.h"

namespace tenure::testing {
namespace {

double value_in(const Variable& v) { return v.read().item<double>(); }
Variable number_variable(double value) {
  return Variable(full({}, value, DType::float64), {.name = "w"});
}
Tensor number_gradient(double value) { return full({}, value, DType::float64); }

TEST(Averages, are_those_of_the_formula) {
  for (const bool traced : {false, true}) {
    const nn::SGD sgd({.learning_rate = 0.1, .use_ema = true, .ema_momentum = 0.9});
    const Variable w = number_variable(2);
    const auto step = function("step", [&](Tensor g) { sgd.apply({g}, {w}); });
    double value = 2, average = 0;
    for (int i = 0; i < 20; ++i) {
      const double g = std::sin(i);
      traced ? step(number_gradient(g)) : sgd.apply({number_gradient(g)}, {w});
      value -= 0.1 * g;
      average = i == 0 ? value : 0.9 * average + 0.1 * value;
      ASSERT_NEAR(value_in(w), value, 1e-12);
    }
    ASSERT_NEAR(value_in(sgd.variables().back()), average, 1e-12);
    sgd.finalize_variable_values({w});
    EXPECT_NEAR(value_in(w), average, 1e-12);
  }
}

TEST(Averages, overwrite_the_variables_every_few_steps) {
  for (const bool traced : {false, true}) {
    const nn::SGD sgd(
        {.learning_rate = 0.1, .use_ema = true, .ema_momentum = 0.5, .ema_overwrite_frequency = 3});
    const Variable w = number_variable(1);
    const auto step = function("step", [&](Tensor g) { sgd.apply({g}, {w}); });
    double value = 1, average = 0;
    for (int i = 0; i < 10; ++i) {
      traced ? step(number_gradient(i)) : sgd.apply({number_gradient(i)}, {w});
      value -= 0.1 * i;
      average = i == 0 ? value : 0.5 * average + 0.5 * value;
      if ((i + 1) % 3 == 0) value = average;
      ASSERT_NEAR(value_in(w), value, 1e-12) << i;
    }
  }
}

TEST(Averages, of_halves_are_kept_in_float32) {
  const nn::Adam adam({.learning_rate = 0.01, .use_ema = true});
  const Variable w(ones({3}, DType::bfloat16));
  for (int i = 0; i < 5; ++i) adam.apply({ones({3}, DType::bfloat16)}, {w});
  EXPECT_EQ(adam.variables().back().dtype(), DType::float32);
  adam.finalize_variable_values({w});
  EXPECT_EQ(w.dtype(), DType::bfloat16);
}

nn::Sequential through_zero() {
  return nn::Sequential({nn::Dense(
      {.units = 1, .use_bias = false, .kernel_initializer = "ones", .input_shape = {1}})});
}

TEST(Averages, are_what_a_fit_ends_with) {
  const Tensor x = ones({4, 1}), y = zeros({4, 1});
  const nn::Sequential model = through_zero();
  model.compile({.optimizer = nn::SGD({.learning_rate = 0.1, .use_ema = true, .ema_momentum = 0.8}),
                 .loss = "mse"});
  model.fit(x, y, {.batch_size = 2, .epochs = 3, .verbose = nn::Verbose::silent});
  double value = 1, average = 0;
  for (int i = 0; i < 6; ++i) {
    value -= 0.1 * 2 * value;  // of the mean of (w x)^2
    average = i == 0 ? value : 0.8 * average + 0.2 * value;
  }
  EXPECT_NEAR(static_cast<double>(model.get_weights()[0].item<float>()), average, 1e-6);

  // A fit of no step has nothing to average; and without use_ema nothing is done.
  const nn::Sequential idle = through_zero();
  idle.compile({.optimizer = nn::SGD({.use_ema = true}), .loss = "mse"});
  idle.fit(x, y, {.epochs = 0, .verbose = nn::Verbose::silent});
  EXPECT_EQ(floats(idle.get_weights()[0]), Floats{1});
  const nn::SGD plain;
  const Variable w = number_variable(1);
  plain.apply({number_gradient(0)}, {w});
  plain.finalize_variable_values({w});
  EXPECT_EQ(value_in(w), 1);
}

TEST(Averages, are_saved_with_the_optimizer) {
  const Tensor x = ones({4, 1}), y = zeros({4, 1});
  const std::string path = ::testing::TempDir() + "averages.safetensors";
  const nn::Sequential model = through_zero();
  model.compile({.optimizer = nn::SGD({.learning_rate = 0.1, .use_ema = true, .ema_momentum = 0.7}),
                 .loss = "mse"});
  for (int i = 0; i < 3; ++i) model.train_on_batch(x, y);
  model.save(path);
  const nn::Model again = nn::load_model(path);
  std::remove(path.c_str());
  EXPECT_EQ(again.optimizer().config(), model.optimizer().config());
  for (const nn::Model& each : {nn::Model(model), again}) {
    each.train_on_batch(x, y);
    each.optimizer().finalize_variable_values(each.trainable_weights());
  }
  EXPECT_EQ(floats(again.get_weights()[0]), floats(model.get_weights()[0]));
}

TEST(Averages, settings_that_make_no_sense_are_refused) {
  EXPECT_HAS(message_of<ValueError>([] { nn::SGD({.use_ema = true, .ema_momentum = 1.5}); }),
             "ema_momentum must be at least 0 and below 1: 1.5");
  EXPECT_HAS(
      message_of<ValueError>([] { nn::SGD({.use_ema = true, .ema_overwrite_frequency = 0}); }),
      "ema_overwrite_frequency must be at least 1: 0");
}

}  // namespace
}  // namespace tenure::testing
