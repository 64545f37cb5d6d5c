// Mixed precision: float32 weights, layers that compute in halves.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>

#include "support/expect.h"

namespace tenure::testing {
namespace {

constexpr const char* kMixed[] = {"mixed_bfloat16", "mixed_float16"};
DType half_of(const std::string& precision) {
  return precision == "mixed_float16" ? DType::float16 : DType::bfloat16;
}

std::vector<Floats> mixed_weights(const nn::Layer& model) {
  std::vector<Floats> all;
  for (const Tensor& each : model.get_weights()) all.push_back(floats(each));
  return all;
}

// Tells what it and its weight are seen in.
struct Probe : nn::LayerBase {
  using LayerBase::LayerBase;
  void build(const Shape& input) override {
    gain = add_weight("gain", {input[-1]}, {.initializer = "ones"});
    count = add_weight("count", {input[-1]}, {.initializer = "ones", .autocast = false});
  }
  Tensor call(const Tensor& x, const nn::Call&) override {
    input = x.dtype();
    read = gain.read().dtype();
    kept = count.read().dtype();
    return x * gain;
  }
  Variable gain, count;
  DType input = DType::boolean, read = DType::boolean, kept = DType::boolean;
};

TEST(MixedPrecision, layers_compute_in_halves_with_float32_weights) {
  for (const char* precision : kMixed) {
    for (const bool eager : {false, true}) {
      const nn::Layer probe = nn::make_layer<Probe>();
      const nn::Layer told = nn::make_layer<Probe>(nn::LayerOptions{.dtype = DType::float32});
      const nn::Sequential model({nn::Dense({.units = 4, .input_shape = {3}}), probe, told});
      model.compile({.optimizer = "sgd", .loss = "mse", .precision = precision, .eager = eager});
      const Tensor x = ones({2, 3}, DType::float64);
      EXPECT_EQ(model.predict(x).dtype(), DType::float32);
      model.train_on_batch(x, ones({2, 4}));
      EXPECT_EQ(probe.as<Probe>()->input, half_of(precision));
      EXPECT_EQ(probe.as<Probe>()->read, half_of(precision));
      EXPECT_EQ(probe.as<Probe>()->kept, DType::float32);
      EXPECT_EQ(told.as<Probe>()->input, DType::float32);
      EXPECT_EQ(told.as<Probe>()->read, DType::float32);
      for (const Variable& each : model.weights()) EXPECT_EQ(each.dtype(), DType::float32);
      for (const Tensor& each : model.get_weights()) EXPECT_EQ(each.dtype(), DType::float32);
      EXPECT_EQ(probe.as<Probe>()->gain.read().dtype(), DType::float32);  // outside of a call

      model.compile({.optimizer = "sgd", .loss = "mse"});
      model.predict(x);
      EXPECT_EQ(probe.as<Probe>()->input, DType::float32);
    }
  }
}

TEST(MixedPrecision, norms_and_probabilities_stay_float32) {
  const auto in_half = [](nn::Layer layer, const Tensor& x, bool training = true) {
    return layer(x, {.training = training});
  };
  // 1 + 1/512 in bfloat16 is 1: statistics of halves would be those of other numbers.
  const Tensor x = 1.0 + random::normal({64, 2}) * 1e-3;
  const nn::BatchNormalization exact({.momentum = 0}),
      mixed({.momentum = 0, .dtype = "mixed_bfloat16"});
  EXPECT_EQ(in_half(exact, x).dtype(), DType::float32);
  EXPECT_EQ(in_half(mixed, x).dtype(), DType::bfloat16);
  EXPECT_EQ(floats(exact.weights()[2].read()), floats(mixed.weights()[2].read()));
  EXPECT_EQ(floats(exact.weights()[3].read()), floats(mixed.weights()[3].read()));
  for (const char* activation : {"softmax", "sigmoid", "log_softmax"}) {
    EXPECT_EQ(
        nn::Dense({.units = 2, .activation = activation, .dtype = "mixed_bfloat16"})(x).dtype(),
        DType::float32);
  }
  EXPECT_EQ(nn::Softmax({.dtype = "mixed_bfloat16"})(x).dtype(), DType::float32);
  EXPECT_EQ(nn::Dense({.units = 2, .activation = "relu", .dtype = "mixed_bfloat16"})(x).dtype(),
            DType::bfloat16);
}

TEST(MixedPrecision, recurrent_embedding_and_attention_layers) {
  for (const char* precision : kMixed) {
    for (const bool eager : {false, true}) {
      const nn::Sequential model(
          {nn::Embedding({.input_dim = 9, .output_dim = 4}),
           nn::Bidirectional(nn::LSTM({.units = 3, .return_sequences = true})),
           nn::GRU(
               {.units = 4, .dropout = 0.2, .recurrent_dropout = 0.2, .return_sequences = true}),
           nn::LayerNormalization(), nn::TimeDistributed(nn::Dense({.units = 3})),
           nn::SimpleRNN({.units = 2, .stateful = true}),
           nn::Dense({.units = 2, .activation = "softmax"})});
      model.build({2, 5});
      model.compile({.optimizer = nn::Adam({.learning_rate = 0.01}),
                     .loss = "sparse_categorical_crossentropy",
                     .precision = precision,
                     .eager = eager});
      const Tensor x = tensor({1, 2, 3, 4, 5, 8, 7, 6, 5, 4}, {2, 5}), y = tensor({0, 1});
      const double first = nn::value_of(model.train_on_batch(x, y), "loss");
      double last = first;
      for (int i = 0; i < 30; ++i) last = nn::value_of(model.train_on_batch(x, y), "loss");
      EXPECT_LT(last, first) << precision;
      for (const Variable& each : model.weights()) EXPECT_EQ(each.dtype(), DType::float32);
      for (const Tensor& each : model.get_states()) EXPECT_EQ(each.dtype(), DType::float32);
    }
  }
}

nn::Sequential classifier(const std::string& last = "softmax") {
  return nn::Sequential({nn::Dense({.units = 16,
                                    .activation = "relu",
                                    .kernel_initializer = nn::GlorotUniform({.seed = 1}),
                                    .input_shape = {4}}),
                         nn::BatchNormalization(),
                         nn::Dense({.units = 3,
                                    .activation = last.c_str(),
                                    .kernel_initializer = nn::GlorotUniform({.seed = 2})})});
}

TEST(MixedPrecision, trains_as_well_as_float32) {
  set_seed(11);
  const Tensor x = random::normal({256, 4});
  const Tensor y = arg_max(matmul(x, random::normal({4, 3})), -1);
  const auto trained = [&](const std::string& precision) {
    const nn::Sequential model = classifier();
    model.compile({.optimizer = nn::Adam({.learning_rate = 0.02}),
                   .loss = "sparse_categorical_crossentropy",
                   .metrics = {"accuracy"},
                   .precision = precision});
    model.fit(x, y, {.epochs = 15, .verbose = nn::Verbose::silent, .shuffle = false});
    return model.evaluate(x, y);
  };
  const nn::Logs exact = trained("float32");
  EXPECT_GT(nn::value_of(exact, "accuracy"), 0.9);
  for (const char* precision : kMixed) {
    const nn::Logs mixed = trained(precision);
    EXPECT_NEAR(nn::value_of(mixed, "loss"), nn::value_of(exact, "loss"), 0.05) << precision;
    EXPECT_NEAR(nn::value_of(mixed, "accuracy"), nn::value_of(exact, "accuracy"), 0.04);
  }
}

TEST(MixedPrecision, recomputed_layers_follow_the_models_precision) {
  const nn::Dense dense(
      {.units = 2, .kernel_initializer = nn::GlorotUniform({.seed = 1}), .input_shape = {3}});
  dense.set_recompute(true);
  const nn::Sequential model({dense});
  const Tensor x = random::normal({4, 3}), y = zeros({4, 2});
  const std::vector<Tensor> start = model.get_weights();
  const auto step = [&](const std::string& precision) {
    model.set_weights(start);
    model.compile({.optimizer = "sgd", .loss = "mse", .precision = precision});
    model.train_on_batch(x, y);
    return mixed_weights(model);
  };
  const std::vector<Floats> exact = step("float32"), mixed = step("mixed_bfloat16");
  dense.set_recompute(false);
  EXPECT_EQ(step("float32"), exact);
  EXPECT_EQ(step("mixed_bfloat16"), mixed);
  EXPECT_NE(exact, mixed);
}

// ---- Scaled losses

TEST(LossScale, a_power_of_two_changes_no_step) {
  for (const bool traced : {false, true}) {
    const nn::Adam plain;
    const nn::LossScaleOptimizer scaled(nn::Adam(), {.initial_scale = 1024});
    const Variable a(linspace(-1, 1, 5)), b(linspace(-1, 1, 5));
    const auto body = [](const nn::Optimizer& optimizer, const Variable& w) {
      GradientTape tape;
      const Tensor loss = optimizer.scale_loss(sum(square(w)));
      optimizer.apply(tape.gradient(loss, std::vector<Variable>{w}), {w});
    };
    const auto step = function("step", [&](Tensor x) {
      body(plain, a);
      body(scaled, b);
      return x.clone();
    });
    for (int i = 0; i < 5; ++i) {
      if (traced) {
        step(ones({1}));
      } else {
        body(plain, a);
        body(scaled, b);
      }
    }
    EXPECT_EQ(floats(a.read()), floats(b.read()));
    EXPECT_EQ(scaled.iterations(), 5);
    EXPECT_EQ(scaled.class_name(), "LossScaleOptimizer");
  }
}

TEST(LossScale, a_step_that_is_not_finite_is_left_out_and_halves_the_scale) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    const nn::LossScaleOptimizer scaled(nn::Adam({.use_ema = true}), {.dynamic_growth_steps = 3});
    const Variable w(ones({2})), other(ones({1}));
    scaled.apply({full({2}, 32768.0), ones({1})}, {w, other});
    const Floats before = floats(w.read()), slot = floats(scaled.variables()[2].read());
    scaled.apply({tensor({bad, 1.F}), ones({1})}, {w, other});
    EXPECT_EQ(floats(w.read()), before);
    EXPECT_EQ(floats(scaled.variables()[2].read()), slot);
    EXPECT_EQ(scaled.iterations(), 1);
    EXPECT_EQ(scaled.scale(), 16384);
    for (int i = 0; i < 3; ++i) scaled.apply({ones({2}), ones({1})}, {w, other});
    EXPECT_EQ(scaled.scale(), 32768);
    EXPECT_EQ(scaled.iterations(), 4);
  }
  EXPECT_EQ(nn::LossScaleOptimizer("adam").scale(), 32768);
}

TEST(LossScale, mixed_float16_has_one) {
  for (const bool eager : {false, true}) {
    const nn::Sequential model(
        {nn::Dense({.units = 2, .kernel_initializer = "ones", .input_shape = {3}})});
    model.compile(
        {.optimizer = "adam", .loss = "mse", .precision = "mixed_float16", .eager = eager});
    ASSERT_EQ(model.optimizer().class_name(), "LossScaleOptimizer");
    const Tensor y = zeros({2, 2});
    model.train_on_batch(ones({2, 3}), y);
    const std::vector<Floats> before = mixed_weights(model);
    const std::int64_t steps = model.optimizer().iterations();
    const nn::Logs logs = model.train_on_batch(full({2, 3}, 1e5), y);  // is infinite in float16
    EXPECT_FALSE(std::isfinite(nn::value_of(logs, "loss")));
    EXPECT_EQ(mixed_weights(model), before);
    EXPECT_EQ(model.optimizer().iterations(), steps);
    EXPECT_TRUE(std::isfinite(nn::value_of(model.train_on_batch(ones({2, 3}), y), "loss")));
  }
}

TEST(LossScale, small_gradients_arrive) {
  const Tensor x = full({4, 1}, 1e-4), y = full({4, 1}, 1e-3);
  const auto trained = [&](const std::string& precision) {
    const nn::Sequential model({nn::Dense(
        {.units = 1, .use_bias = false, .kernel_initializer = "zeros", .input_shape = {1}})});
    model.compile(
        {.optimizer = nn::SGD({.learning_rate = 1e3}), .loss = "mse", .precision = precision});
    for (int i = 0; i < 4; ++i) model.train_on_batch(x, y);
    return static_cast<double>(model.get_weights()[0].item<float>());
  };
  const double exact = trained("float32");
  EXPECT_NEAR(trained("mixed_float16"), exact, 0.01 * exact);
}

// ---- Files, and what is refused

TEST(MixedPrecision, is_saved_with_the_model) {
  const std::string path = ::testing::TempDir() + "mixed.safetensors";
  set_seed(3);
  const Tensor x = random::normal({8, 4}), y = tensor({0, 1, 2, 0, 1, 2, 0, 1});
  for (const char* precision : kMixed) {
    const nn::Sequential model(
        {nn::Dense({.units = 5, .activation = "relu", .input_shape = {4}}),
         nn::Dense({.units = 4, .dtype = DType::float32}),
         nn::Dense({.units = 4, .dtype = "mixed_bfloat16"}),
         nn::Dense({.units = 3, .activation = "softmax", .dtype = "bfloat16"})});
    model.compile(
        {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .precision = precision});
    for (int i = 0; i < 3; ++i) model.train_on_batch(x, y);
    model.save(path);
    const nn::Model again = nn::load_model(path);
    std::remove(path.c_str());
    EXPECT_EQ(again.config(), model.config());
    EXPECT_EQ(again.optimizer().config(), model.optimizer().config());
    EXPECT_EQ(floats(again.predict(x)), floats(model.predict(x)));
    EXPECT_EQ(again.train_on_batch(x, y), model.train_on_batch(x, y));
    EXPECT_EQ(floats(again.predict(x)), floats(model.predict(x)));
  }
}

TEST(MixedPrecision, what_makes_no_sense_is_refused) {
  const nn::Sequential model = classifier();
  EXPECT_HAS(
      message_of<ValueError>([&] { model.compile({.loss = "mse", .precision = "bfloat16"}); }),
      "compile: precision is float32, mixed_bfloat16 or mixed_float16: \"bfloat16\" is for "
      "the .dtype of each layer");
  EXPECT_HAS(message_of<ValueError>([&] { model.compile({.loss = "mse", .precision = "mixed"}); }),
             "no such one: \"mixed\"");
  EXPECT_HAS(message_of<ValueError>(
                 [] { nn::LossScaleOptimizer(nn::Optimizer(nn::LossScaleOptimizer("adam"))); }),
             "LossScaleOptimizer: the optimizer in it scales the loss already");
  EXPECT_HAS(message_of<ValueError>([] { nn::LossScaleOptimizer("adam", {.initial_scale = 0}); }),
             "initial_scale must be above 0");
}

}  // namespace
}  // namespace tenure::testing
