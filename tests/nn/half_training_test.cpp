// Models of float16 and bfloat16: what they are trained on, and how exactly.
#include <cmath>

#include "support/expect.h"

namespace tenure::testing {
namespace {

constexpr DType kHalves[] = {DType::float16, DType::bfloat16};
constexpr const char* kOptimizers[] = {"sgd",     "adam",     "adamw",     "rmsprop",
                                       "adagrad", "adadelta", "adamax",    "nadam",
                                       "lion",    "ftrl",     "adafactor", "lamb"};
const nn::FitOptions kSilent{.verbose = nn::Verbose::silent};

Tensor one_hot_labels(DType dtype) {
  return one_hot(tensor({0, 1, 1, 0, 1, 0, 0, 1}), 2, {.dtype = dtype});
}

nn::Sequential half_classifier(DType dtype) {
  return nn::Sequential(
      {nn::Dense({.units = 2, .activation = "softmax", .input_shape = {4}, .dtype = dtype})});
}

std::vector<Floats> float_weights(const nn::Layer& model) {
  std::vector<Floats> all;
  for (const Tensor& each : model.get_weights()) all.push_back(floats(cast(each, DType::float32)));
  return all;
}

TEST(HalfTraining, every_loss_and_metric_takes_halves) {
  for (const DType dtype : kHalves) {
    const Tensor x = cast(random::normal({8, 4}), dtype);
    for (const DType targets : {dtype, DType::float32}) {
      const Tensor labels = one_hot_labels(targets), numbers = arg_max(labels, -1);
      for (const char* loss : {"mse",
                               "mae",
                               "mape",
                               "msle",
                               "binary_crossentropy",
                               "categorical_crossentropy",
                               "sparse_categorical_crossentropy",
                               "binary_focal_crossentropy",
                               "categorical_focal_crossentropy",
                               "kld",
                               "poisson",
                               "hinge",
                               "squared_hinge",
                               "categorical_hinge",
                               "huber",
                               "log_cosh",
                               "cosine_similarity",
                               "dice",
                               "tversky",
                               "categorical_generalized_cross_entropy"}) {
        for (const bool eager : {false, true}) {
          SCOPED_TRACE(::testing::Message() << name(dtype) << " " << loss << " eager: " << eager);
          const nn::Sequential model = half_classifier(dtype);
          const std::string kind = loss;
          const bool sparse = kind.starts_with("sparse") || kind.ends_with("cross_entropy");
          std::vector<nn::Metric> metrics{"accuracy"};
          if (!sparse)
            metrics = {"mae",     "precision", "auc", "f1_score", "root_mean_squared_error",
                       "r2_score"};
          if (!sparse) metrics.emplace_back(nn::TopKCategoricalAccuracy({.k = 1}));
          model.compile({.optimizer = "sgd", .loss = loss, .metrics = metrics, .eager = eager});
          const Tensor& y = sparse ? cast(numbers, targets) : labels;
          const double first = nn::value_of(model.test_on_batch(x, y), "loss");
          EXPECT_TRUE(std::isfinite(first));
          EXPECT_EQ(nn::value_of(model.evaluate(x, y), "loss"), first);
          EXPECT_EQ(nn::value_of(model.train_on_batch(x, y), "loss"), first);
          EXPECT_EQ(model.fit(x, y, kSilent)["loss"].size(), 1u);
        }
      }
    }
  }
}

TEST(HalfTraining, every_kind_of_layer_is_trained_in_bfloat16) {
  const DType half = DType::bfloat16;
  struct Kind {
    const char* name;
    std::vector<nn::Layer> layers;
    Shape input;
  };
  const std::vector<Kind> kinds{
      {"Dense", {nn::Dense({.units = 2, .dtype = half})}, {4, 3}},
      {"Conv2D",
       {nn::Conv2D({.filters = 2, .kernel_size = 2, .dtype = half}), nn::Flatten()},
       {4, 5, 5, 2}},
      {"LSTM", {nn::LSTM({.units = 2, .dtype = half})}, {4, 5, 3}},
      {"BatchNormalization", {nn::BatchNormalization({.dtype = half})}, {4, 3}},
      {"Embedding",
       {nn::Embedding({.input_dim = 3, .output_dim = 2, .dtype = half}), nn::Flatten()},
       {4, 5}}};
  for (const Kind& kind : kinds) {
    SCOPED_TRACE(kind.name);
    std::vector<nn::Layer> layers = kind.layers;
    layers.push_back(nn::Dense({.units = 1}));
    const nn::Sequential model(std::move(layers));
    model.compile({.optimizer = "sgd", .loss = "mse"});
    const nn::History history =
        model.fit(ones(kind.input), ones({4, 1}), {.epochs = 3, .verbose = nn::Verbose::silent});
    EXPECT_TRUE(std::isfinite(history["loss"].back()));
    EXPECT_EQ(kind.layers[0].weights()[0].dtype(), half);
  }
  const nn::Node x = nn::Input({.shape = {5, 3}});
  const nn::MultiHeadAttention attention({.num_heads = 1, .key_dim = 2, .dtype = half});
  const nn::Model model({x}, {nn::Dense({.units = 1})(attention({x, x}))});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_TRUE(std::isfinite(
      model.fit(ones({4, 5, 3}), ones({4, 5, 1}), {.verbose = nn::Verbose::silent})["loss"][0]));
}

TEST(HalfTraining, a_loss_is_that_of_the_same_values_in_float32) {
  for (const DType dtype : kHalves) {
    const Tensor far = full({8, 1}, 300, dtype), none = zeros({8, 1}, dtype);
    const Tensor loss = nn::MeanSquaredError()(far, none);  // more than float16 can hold
    EXPECT_EQ(loss.dtype(), DType::float32);
    EXPECT_EQ(loss.item<float>(), floats(nn::MeanSquaredError()(cast(far, DType::float32),
                                                                cast(none, DType::float32)))[0]);
    const nn::Loss own([](const Tensor& t, const Tensor& p) { return square(t - p); });
    EXPECT_EQ(own.per_example(far, none).dtype(), DType::float32);
    const nn::Metric mean = nn::Mean(), error = "mse";
    mean.add(full({5000}, 100, dtype));
    EXPECT_EQ(mean.result(), 100);
    error.update(far, none);
    EXPECT_EQ(error.result(), static_cast<double>(loss.item<float>()));
  }
}

TEST(HalfTraining, penalties_and_constraints_are_computed_in_float32) {
  for (const DType dtype : kHalves) {
    const Tensor w = full({4, 1}, 300, dtype);
    EXPECT_EQ(nn::L2(1)(w).item<float>(), nn::L2(1)(cast(w, DType::float32)).item<float>());
    const Tensor unit = nn::UnitNorm()(w);
    EXPECT_EQ(unit.dtype(), dtype);
    EXPECT_EQ(floats(cast(unit, DType::float32)), Floats(4, 0.5F));
  }
}

TEST(HalfTraining, a_step_whose_loss_cannot_be_read_changes_nothing) {
  const Tensor x = ones({8, 4}), y = one_hot_labels(DType::float32);
  struct Adds : nn::LayerBase {
    Tensor call(const Tensor& in, const nn::Call& call) override {
      call.add_loss(sum(in, {-1}));
      return in.clone();
    }
  };
  const nn::Loss one_each = nn::MeanSquaredError({.reduction = nn::Reduction::none});
  for (const bool eager : {false, true}) {
    for (const bool adds : {false, true}) {
      const nn::Sequential model = half_classifier(DType::float32);
      if (adds) model.add(nn::make_layer<Adds>());
      model.compile({.loss = adds ? nn::Loss("mse") : one_each, .eager = eager});
      const std::vector<Floats> before = float_weights(model);
      EXPECT_HAS(message_of<ShapeError>([&] { model.train_on_batch(x, y); }),
                 adds ? "the loss with what its layers add is to be one number, and has shape [8]"
                      : "loss \"mean_squared_error\" is to be one number, and has shape [8]");
      EXPECT_EQ(float_weights(model), before);
      EXPECT_EQ(model.optimizer().iterations(), 0);
    }
  }
}

TEST(HalfTraining, an_optimizer_remembers_in_float32) {
  for (const DType dtype : kHalves) {
    for (const char* name : kOptimizers) {
      const nn::Optimizer optimizer(name);
      const Variable w(ones({3}, dtype));
      optimizer.apply({full({3}, 1e-4, dtype)}, {w});  // whose square is below float16's least
      optimizer.apply({full({3}, 1e-4)}, {w});         // unscaled, or summed up
      EXPECT_EQ(w.dtype(), dtype);
      for (const Variable& each : optimizer.variables()) {
        if (each.shape().rank() != 1) continue;
        EXPECT_EQ(each.dtype(), DType::float32) << each.name();
      }
    }
  }
}

TEST(HalfTraining, a_step_is_the_float32_one_rounded_once) {
  for (const DType dtype : kHalves) {
    for (const char* name : kOptimizers) {
      for (const bool traced : {false, true}) {
        SCOPED_TRACE(::testing::Message() << tenure::name(dtype) << " " << name << " " << traced);
        const Tensor start = cast(linspace(-2, 2, 64), dtype);
        const Tensor gradient = cast(linspace(1e-4, 3e-3, 64), dtype);
        const Variable half(start), full(cast(start, DType::float32));
        const nn::Optimizer of_half(name), of_full(name);
        of_half.set_learning_rate(0.1);
        of_full.set_learning_rate(0.1);
        const auto steps = function("steps", [&](Tensor g) {
          of_half.apply({g}, {half});
          of_full.apply({cast(g, DType::float32)}, {full});
        });
        if (traced) {
          steps(gradient);
        } else {
          of_half.apply({gradient}, {half});
          of_full.apply({cast(gradient, DType::float32)}, {full});
        }
        EXPECT_EQ(floats(cast(half.read(), DType::float32)),
                  floats(cast(cast(full.read(), dtype), DType::float32)));
      }
    }
  }
}

TEST(HalfTraining, float16_weights_learn_small_targets) {
  set_seed(1);
  const Tensor x = random::normal({64, 4}), y = sum(x, {1}, {.keep_dims = true}) * 0.003;
  for (const char* name : {"sgd", "adam", "adamw", "rmsprop", "nadam"}) {
    const nn::Sequential model(
        {nn::Dense({.units = 8,
                    .activation = "tanh",
                    .kernel_initializer = nn::GlorotUniform({.seed = 1}),
                    .input_shape = {4},
                    .dtype = DType::float16}),
         nn::Dense({.units = 1,
                    .kernel_initializer = nn::RandomNormal({.stddev = 0.003, .seed = 2}),
                    .dtype = DType::float16})});
    model.compile({.optimizer = name, .loss = "mse"});
    const nn::History run =
        model.fit(x, y, {.epochs = 20, .verbose = nn::Verbose::silent, .shuffle = false});
    EXPECT_LT(run["loss"].back(), run["loss"].front()) << name;
  }
}

TEST(HalfTraining, gradients_of_several_batches_are_summed_in_float32) {
  for (const DType dtype : kHalves) {
    const Tensor x = cast(random::normal({32, 4}), dtype), y = ones({32, 2});
    const nn::Sequential model = half_classifier(dtype);
    model.compile({.optimizer = "adam", .loss = "mse", .accumulate = 4});
    model.fit(x, y, {.batch_size = 8, .verbose = nn::Verbose::silent});
    EXPECT_EQ(model.optimizer().iterations(), 1);
  }
}

}  // namespace
}  // namespace tenure::testing
