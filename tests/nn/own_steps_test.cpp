// Models with steps of their own: the numbers are those of the same loop written by hand.
#include <gtest/gtest.h>

#include "support/expect.h"

namespace tenure::testing {
namespace {

const nn::FitOptions kThreeEpochs{
    .batch_size = 4, .epochs = 3, .verbose = nn::Verbose::silent, .shuffle = false};

std::vector<Floats> weights_after(const nn::Layer& model) {
  std::vector<Floats> all;
  for (const Tensor& each : model.get_weights()) all.push_back(floats(each));
  return all;
}

Tensor normal_data(std::int64_t rows, std::int64_t columns, int seed) {
  set_seed(static_cast<std::uint64_t>(seed));
  return random::normal({rows, columns});
}

struct SmallNet : nn::ModelBase {
  Tensor call(const Tensor& x, const nn::Call& c) override { return out(hidden(x, c), c); }
  nn::Layer hidden = track(nn::Dense({.units = 5,
                                      .activation = "tanh",
                                      .kernel_initializer = nn::GlorotUniform({.seed = 3}),
                                      .kernel_regularizer = nn::L2(0.01),
                                      .activity_regularizer = nn::L1(0.02)}));
  nn::Layer out = track(nn::Dense({.units = 1,
                                   .kernel_initializer = nn::GlorotUniform({.seed = 4}),
                                   .kernel_constraint = nn::NonNeg()}));
};

struct OwnSmallNet : SmallNet {
  nn::StepLogs train_step(const nn::Batch& batch) override {
    GradientTape tape;
    const std::vector<Tensor> y = {(*this)(batch.x[0], {.training = true})};
    const Tensor loss = compute_loss(batch, y);
    optimizer().apply(tape.gradient(loss, trainable_weights()), trainable_weights());
    compute_metrics(batch, y);
    return {{"loss", loss}};
  }
};

TEST(OwnSteps, keras_own_step_is_the_built_in_one) {
  const Tensor x = normal_data(12, 3, 1), y = sum(x, {1}, {.keep_dims = true});
  for (const bool eager : {false, true}) {
    const nn::Model built_in = nn::make_model<SmallNet>(), own = nn::make_model<OwnSmallNet>();
    for (const nn::Model& model : {built_in, own}) {
      model.compile({.optimizer = nn::Adam({.learning_rate = 0.05}),
                     .loss = "mse",
                     .metrics = {"mae"},
                     .eager = eager});
    }
    const nn::History wanted = built_in.fit(x, y, kThreeEpochs),
                      history = own.fit(x, y, kThreeEpochs);
    EXPECT_EQ(history["loss"], wanted["loss"]);
    EXPECT_EQ(history["mae"], wanted["mae"]);
    EXPECT_EQ(weights_after(own), weights_after(built_in));
    EXPECT_EQ(own.evaluate(x, y), built_in.evaluate(x, y));
  }
}

// ---- A GAN: two optimizers, two tapes

nn::Sequential generator() {
  return nn::Sequential(
      {nn::Dense({.units = 4,
                  .activation = "tanh",
                  .kernel_initializer = nn::GlorotUniform({.seed = 1}),
                  .input_shape = {2}}),
       nn::Dense({.units = 3, .kernel_initializer = nn::GlorotUniform({.seed = 2})})});
}
nn::Sequential discriminator() {
  return nn::Sequential(
      {nn::Dense({.units = 4,
                  .activation = "leaky_relu",
                  .kernel_initializer = nn::GlorotUniform({.seed = 5}),
                  .input_shape = {3}}),
       nn::Dense({.units = 1, .kernel_initializer = nn::GlorotUniform({.seed = 6})})});
}

struct GanParts {
  nn::Layer generate, judge;
  nn::Optimizer generator_optimizer = nn::Adam({.learning_rate = 0.01});
  nn::Optimizer judge_optimizer = nn::Adam({.learning_rate = 0.02});

  nn::StepLogs step(const Tensor& real, const Tensor& noise) const {
    const nn::Loss loss = nn::BinaryCrossentropy({.from_logits = true});
    const Tensor yes = ones({real.dim(0), 1}), no = zeros({real.dim(0), 1});
    Tensor judge_loss, generator_loss;
    {
      GradientTape tape;
      const Tensor fake = stop_gradient(generate(noise, {.training = true}));
      judge_loss =
          loss(yes, judge(real, {.training = true})) + loss(no, judge(fake, {.training = true}));
      const std::vector<Variable> weights = judge.trainable_weights();
      judge_optimizer.apply(tape.gradient(judge_loss, weights), weights);
    }
    GradientTape tape;
    generator_loss = loss(yes, judge(generate(noise, {.training = true}), {.training = true}));
    const std::vector<Variable> weights = generate.trainable_weights();
    generator_optimizer.apply(tape.gradient(generator_loss, weights), weights);
    return {{"d_loss", judge_loss}, {"g_loss", generator_loss}};
  }
};

struct Gan : nn::ModelBase {
  nn::StepLogs train_step(const nn::Batch& batch) override {
    return parts.step(batch.x[0], batch.x[1]);
  }
  std::vector<Tensor> predict_step(const std::vector<Tensor>& x) override {
    return {parts.generate(x[0])};
  }
  GanParts parts{track(nn::Layer(generator())), track(nn::Layer(discriminator()))};
};

struct Unmeasured : OwnSmallNet {
  nn::StepLogs train_step(const nn::Batch& batch) override {
    return {{"loss", compute_loss(batch, {(*this)(batch.x[0], {.training = true})})}};
  }
};

TEST(OwnSteps, metrics_that_a_step_does_not_update_are_not_told) {
  const Tensor x = normal_data(12, 3, 1), y = sum(x, {1}, {.keep_dims = true});
  for (const bool eager : {false, true}) {
    const nn::Model model = nn::make_model<Unmeasured>();
    model.compile({.loss = "mse", .metrics = {"mae"}, .eager = eager});
    EXPECT_EQ(model.train_on_batch(x, y).size(), 1u) << "the loss";
    const nn::History history =
        model.fit(x, y, {.verbose = nn::Verbose::silent, .validation_split = 0.5});
    EXPECT_THROW(history["mae"], ValueError);
    EXPECT_EQ(history["val_mae"].size(), 1u) << "test_step is the built-in one";
  }
}

TEST(OwnSteps, a_gan_trains_with_two_optimizers) {
  const Tensor real = normal_data(8, 3, 7), noise = normal_data(8, 2, 8);
  const nn::Dataset batches = nn::Dataset::from_tensors({real, noise}, {}).batch(4);
  for (const bool eager : {false, true}) {
    const nn::Model gan = nn::make_model<Gan>();
    gan.compile({.eager = eager});  // neither a loss nor an optimizer is asked of it
    const nn::History history = gan.fit(batches, {.epochs = 3, .verbose = nn::Verbose::silent});

    const GanParts by_hand{generator(), discriminator()};
    std::vector<double> judge_losses, generator_losses;
    for (int epoch = 0; epoch < 3; ++epoch) {
      double judged = 0, generated = 0;
      for (nn::Batch& batch : batches) {
        const nn::StepLogs logs = by_hand.step(batch.x[0], batch.x[1]);
        judged += static_cast<double>(logs[0].second.item<float>()) * 4;
        generated += static_cast<double>(logs[1].second.item<float>()) * 4;
      }
      judge_losses.push_back(judged / 8);
      generator_losses.push_back(generated / 8);
    }
    EXPECT_EQ(history["d_loss"], judge_losses);
    EXPECT_EQ(history["g_loss"], generator_losses);
    EXPECT_EQ(weights_after(gan.as<Gan>()->parts.generate), weights_after(by_hand.generate));
    EXPECT_EQ(weights_after(gan.as<Gan>()->parts.judge), weights_after(by_hand.judge));
    EXPECT_EQ(floats(gan.predict(noise)), floats(by_hand.generate(noise)));
  }
}

// ---- A VAE: what a batch is made of goes into the loss

struct VaeParts {
  nn::Layer encode, decode;

  std::pair<Tensor, Tensor> losses(const Tensor& x, const Tensor& noise) const {
    const Tensor code = encode(x, {.training = true});
    const Tensor mean_of = slice(code, {0, 0}, {-1, 2}),
                 log_variance = slice(code, {0, 2}, {-1, 2});
    const Tensor z = mean_of + exp(log_variance * 0.5) * noise;
    const Tensor again = decode(z, {.training = true});
    const Tensor rebuilt = mean(sum(square(x - again), {1}));
    const Tensor spread =
        mean(sum((1.0 + log_variance - square(mean_of) - exp(log_variance)) * -0.5, {1}));
    return {rebuilt, spread};
  }
};

VaeParts vae_parts() {
  return {
      nn::Sequential({nn::Dense(
          {.units = 4, .kernel_initializer = nn::GlorotUniform({.seed = 1}), .input_shape = {3}})}),
      nn::Sequential({nn::Dense({.units = 3,
                                 .kernel_initializer = nn::GlorotUniform({.seed = 2}),
                                 .input_shape = {2}})})};
}

struct Vae : nn::ModelBase {
  nn::StepLogs train_step(const nn::Batch& batch) override {
    GradientTape tape;
    const auto [rebuilt, spread] = parts.losses(batch.x[0], batch.x[1]);
    const Tensor loss = rebuilt + spread;
    optimizer().apply(tape.gradient(loss, trainable_weights()), trainable_weights());
    return {{"loss", loss}, {"reconstruction_loss", rebuilt}, {"kl_loss", spread}};
  }
  nn::StepLogs test_step(const nn::Batch& batch) override {
    const auto [rebuilt, spread] = parts.losses(batch.x[0], batch.x[1]);
    return {{"reconstruction_loss", rebuilt}};
  }
  VaeParts parts = [this] {
    const VaeParts made = vae_parts();
    return VaeParts{track(made.encode), track(made.decode)};
  }();
};

TEST(OwnSteps, a_vae_trains_on_a_loss_of_its_own) {
  const Tensor x = normal_data(8, 3, 2), noise = normal_data(8, 2, 3);
  const nn::Dataset batches = nn::Dataset::from_tensors({x, noise}, {}).batch(4);
  const nn::Model vae = nn::make_model<Vae>();
  vae.compile({.optimizer = nn::SGD({.learning_rate = 0.05})});
  const nn::History history =
      vae.fit(batches, {.epochs = 3, .verbose = nn::Verbose::silent, .validation = batches});

  const VaeParts by_hand = vae_parts();
  const nn::SGD sgd({.learning_rate = 0.05});
  std::vector<Variable> weights = by_hand.encode.trainable_weights();
  for (const Variable& each : by_hand.decode.trainable_weights()) weights.push_back(each);
  for (int epoch = 0; epoch < 3; ++epoch) {
    double total = 0, tested = 0;
    for (nn::Batch& batch : batches) {
      GradientTape tape;
      const auto [rebuilt, spread] = by_hand.losses(batch.x[0], batch.x[1]);
      const Tensor loss = rebuilt + spread;
      sgd.apply(tape.gradient(loss, weights), weights);
      total += static_cast<double>(loss.item<float>()) * 4;
    }
    for (nn::Batch& batch : batches) {
      const Tensor rebuilt = by_hand.losses(batch.x[0], batch.x[1]).first;
      tested += static_cast<double>(rebuilt.item<float>()) * 4;
    }
    const auto at = static_cast<std::size_t>(epoch);
    EXPECT_NEAR(history["loss"][at], total / 8, 1e-5);
    EXPECT_NEAR(history["val_reconstruction_loss"][at], tested / 8, 1e-5);
  }
  EXPECT_EQ(vae.evaluate(batches).size(), 1u);
}

// ---- What is refused

struct Asks : SmallNet {
  nn::StepLogs train_step(const nn::Batch& batch) override {
    const Tensor loss = mean(call(batch.x[0], {}));
    ++runs;
    switch (kind) {
      case 0:
        return {};
      case 1:
        return {{"loss", batch.x[0]}};
      case 2:
        return {{runs > 1 ? "other" : "loss", loss}};
      default:
        return {{"loss", loss}};
    }
  }
  Tensor early(const nn::Batch& batch) { return compute_loss(batch, {batch.y[0]}); }
  int kind = 3, runs = 0;
};

TEST(OwnSteps, what_makes_no_sense_is_refused) {
  const Tensor x = ones({4, 3}), y = ones({4, 1});
  const auto message = [&](int kind, int accumulate) {
    const nn::Model model = nn::make_model<Asks>();
    model.as<Asks>()->kind = kind;
    model.compile({.optimizer = "sgd", .loss = "mse", .accumulate = accumulate, .eager = true});
    try {
      model.train_on_batch(x, y);
      model.train_on_batch(x, y);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_HAS(message(0, 1), "its train_step gives nothing: give {{\"loss\", loss}} at least");
  EXPECT_HAS(message(1, 1), "\"loss\" of its train_step is to be one number, and has shape [4, 3]");
  EXPECT_HAS(message(2, 1), "its train_step gave loss before, and gives other now");
  EXPECT_HAS(message(3, 2), "accumulate = 2 is for the built-in train_step");
  EXPECT_EQ(message(3, 1), "");

  const nn::Model idle = nn::make_model<Asks>();
  EXPECT_HAS(message_of<ValueError>([&] { idle.as<Asks>()->early({{x}, {y}, {}}); }),
             "compute_loss: Model \"");
}

// What a step tells beside its loss may be a count.
TEST(OwnSteps, numbers_of_any_dtype_are_told) {
  struct Counts : SmallNet {
    nn::StepLogs train_step(const nn::Batch& batch) override {
      nn::StepLogs logs = ModelBase::train_step(batch);
      logs.emplace_back("examples", full({}, batch.x[0].dim(0), DType::int64));
      logs.emplace_back("any", tensor(true));
      if (twice) logs.emplace_back("any", tensor(true));
      return logs;
    }
    bool twice = false;
  };
  const Tensor x = normal_data(4, 3, 1), y = ones({4, 1});
  for (const bool eager : {false, true}) {
    const nn::Model model = nn::make_model<Counts>();
    model.compile({.optimizer = "sgd", .loss = "mse", .eager = eager});
    const nn::Logs logs = model.train_on_batch(x, y);
    EXPECT_EQ(nn::value_of(logs, "examples"), 4);
    EXPECT_EQ(nn::value_of(logs, "any"), 1);
    model.as<Counts>()->twice = true;
    const Tensor more = normal_data(5, 3, 1);  // of another size: a new trace
    EXPECT_HAS(message_of<ValueError>([&] { model.train_on_batch(more, ones({5, 1})); }),
               "its train_step gives two numbers named \"any\"");
  }
}

// By what layers add alone, as Keras does.
TEST(OwnSteps, a_model_without_a_loss_trains_by_what_its_layers_add) {
  struct Small final : nn::LayerBase {
    Tensor call(const Tensor& x, const nn::Call& how) override {
      how.add_loss(mean(square(x)));
      return x;
    }
  };
  const Tensor x = normal_data(8, 3, 1);
  for (const bool eager : {false, true}) {
    const nn::Sequential model(
        {nn::Dense({.units = 1, .input_shape = {3}}), nn::make_layer<Small>()});
    model.compile({.optimizer = nn::SGD({.learning_rate = 0.1}), .eager = eager});
    const nn::History history = model.fit(nn::Dataset::from_tensors(x).batch(4),
                                          {.epochs = 8, .verbose = nn::Verbose::silent});
    EXPECT_LT(history["loss"].back(), 0.5 * history["loss"].front());
  }
  const nn::Sequential none({nn::Dense({.units = 1, .input_shape = {3}})});
  none.compile({.optimizer = "sgd"});
  const std::string text =
      testing::whole_message_of<ValueError>([&] { none.fit(x, ones({8, 1})); });
  EXPECT_HAS(text, "there is no loss to train by");
  EXPECT_HAS(text, "own_steps_test.cpp");
  EXPECT_HAS(text, "add_loss()");
}

// A state that is no sequence's is not of each example.
TEST(OwnSteps, a_layer_that_counts_leaves_batches_and_their_order_alone) {
  struct Counter final : nn::LayerBase {
    void build(const Shape&) override { count = add_state("count", {}); }
    Tensor call(const Tensor& x, const nn::Call&) override {
      count.assign(count.read() + 1.f);
      return x;
    }
    Variable count;
  };
  const nn::Layer counter = nn::make_layer<Counter>();
  const nn::Sequential declared({nn::Input({.shape = {3}}), counter, nn::Dense({.units = 1})});
  const nn::Sequential of_data({nn::make_layer<Counter>(), nn::Dense({.units = 1})});
  for (const nn::Sequential& model : {declared, of_data}) {
    model.compile({.optimizer = "sgd", .loss = "mse"});
    model.fit(ones({20, 3}), ones({20, 1}), {.verbose = nn::Verbose::silent, .shuffle = true});
    EXPECT_EQ(model.predict(ones({5, 3})).shape(), Shape({5, 1}));
  }
  EXPECT_GE(counter.as<Counter>()->count.read().item<float>(), 1);
}

TEST(OwnSteps, a_step_that_fails_changes_nothing) {
  struct Fails : SmallNet {
    nn::StepLogs train_step(const nn::Batch& batch) override {
      nn::StepLogs logs = ModelBase::train_step(batch);
      if (fails) throw std::runtime_error("no");
      return logs;
    }
    bool fails = false;
  };
  const Tensor x = normal_data(4, 3, 1), y = ones({4, 1});
  for (const bool eager : {false, true}) {
    const nn::Model model = nn::make_model<Fails>();
    model.compile({.optimizer = "adam", .loss = "mse", .eager = eager});
    model.train_on_batch(x, y);
    const std::vector<Floats> before = weights_after(model);
    model.as<Fails>()->fails = true;
    const Tensor more = normal_data(5, 3, 1);  // of another size: a new trace
    EXPECT_THROW(model.train_on_batch(more, ones({5, 1})), std::runtime_error);
    EXPECT_EQ(weights_after(model), before);
    EXPECT_EQ(model.optimizer().iterations(), 1);
  }
}

}  // namespace
}  // namespace tenure::testing
