// A GAN as a model with a training step of its own: two networks, two optimizers, and fit around
// them. It learns where points of a curve lie. Keras's guide "Customizing what happens in fit".
#include "expect.h"

namespace tn = tenure;
namespace nn = tenure::nn;

static constexpr std::int64_t kLatent = 2;

static nn::Sequential make_generator() {
  return nn::Sequential({nn::Dense({.units = 32, .activation = "relu", .input_shape = {kLatent}}),
                         nn::Dense({.units = 32, .activation = "relu"}), nn::Dense({.units = 2})},
                        {.name = "generator"});
}
static nn::Sequential make_discriminator() {
  return nn::Sequential(
      {nn::Dense({.units = 32, .activation = "leaky_relu", .input_shape = {2}}),
       nn::Dense({.units = 32, .activation = "leaky_relu"}), nn::Dense({.units = 1})},
      {.name = "discriminator"});
}

struct Gan : nn::ModelBase {
  tn::Tensor call(const tn::Tensor& noise, const nn::Call& c) override {
    return generator(noise, c);
  }

  nn::StepLogs train_step(const nn::Batch& batch) override {
    const tn::Tensor real = batch.x[0];
    const tn::Shape column{real.dim(0), 1};
    const auto noise = [&] { return tn::random::normal({real.dim(0), kLatent}); };

    // The discriminator learns to tell made points (1) from real ones (0).
    tn::GradientTape judge_tape;
    const tn::Tensor made = tn::stop_gradient(generator(noise()));
    const tn::Tensor verdicts = discriminator(tn::concat({made, real}), {.training = true});
    const tn::Tensor labels = tn::concat({tn::ones(column), tn::zeros(column)}) +
                              tn::random::uniform({2 * real.dim(0), 1}, {.high = 0.05});
    const tn::Tensor judge_loss = loss(labels, verdicts);
    const std::vector<tn::Variable> judge = discriminator.trainable_weights();
    judge_optimizer.apply(judge_tape.gradient(judge_loss, judge), judge);

    // The generator learns to be taken for real.
    tn::GradientTape generator_tape;
    const tn::Tensor taken = discriminator(generator(noise(), {.training = true}));
    const tn::Tensor generator_loss = loss(tn::zeros(column), taken);
    const std::vector<tn::Variable> makers = generator.trainable_weights();
    generator_optimizer.apply(generator_tape.gradient(generator_loss, makers), makers);
    return {{"d_loss", judge_loss}, {"g_loss", generator_loss}};
  }

  nn::Layer generator = track(make_generator());
  nn::Layer discriminator = track(make_discriminator());
  nn::Loss loss = nn::BinaryCrossentropy({.from_logits = true});
  nn::Optimizer judge_optimizer = nn::Adam({.learning_rate = 2e-3, .beta_1 = 0.5});
  nn::Optimizer generator_optimizer = nn::Adam({.learning_rate = 1e-3, .beta_1 = 0.5});
};

static void program() {
  tn::set_seed(14);
  const tn::Tensor t = tn::random::uniform({2048, 1}, {.low = -1, .high = 1});
  const nn::Dataset curve = nn::Dataset::from_tensors(tn::concat({t, tn::square(t)}, 1));

  const nn::Model gan = nn::make_model<Gan>();
  gan.compile({});  // the step brings its own loss and optimizers
  const nn::History history =
      gan.fit(curve.shuffle().batch(64), {.epochs = 60, .verbose = nn::Verbose::silent});
  std::cout << "discriminator's loss: " << history["d_loss"].back()
            << ", generator's: " << history["g_loss"].back() << "\n";

  const std::vector<tn::Tensor> made =
      tn::split(gan.predict(tn::random::normal({1000, kLatent})), 2, 1);
  const double off = tn::mean(tn::abs(made[1] - tn::square(made[0]))).item<float>();
  const double spread = tn::standard_deviation(made[0]).item<float>();
  std::cout << "made points lie " << off << " off the curve, and spread by " << spread
            << " along it (real ones by 0.577)\n";
  expect_between("the distance from the curve", off, 0, 0.15);
  expect_between("the spread", spread, 0.3, 0.85);
  expect_between("the discriminator's loss (0.693: it cannot tell)", history["d_loss"].back(), 0.4,
                 0.8);
}

int main() { return status_of(program); }
