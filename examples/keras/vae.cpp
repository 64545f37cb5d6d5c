// A variational autoencoder: images of a spot become two numbers each, and numbers drawn at random
// become new images. Its training step has a loss of its own, in two parts that the history tells
// apart. Keras's example "Variational AutoEncoder".
#include "expect.h"

namespace tn = tenure;
namespace nn = tenure::nn;

static constexpr std::int64_t kSize = 10, kPixels = kSize * kSize, kLatent = 2;

// Images [count, pixels] of a spot somewhere.
static tn::Tensor make_spots(std::int64_t count) {
  const auto distance = [&](const tn::Shape& axis) {
    const tn::Tensor place =
        tn::random::uniform({count, 1, 1}, {.low = 1, .high = static_cast<double>(kSize) - 2});
    return tn::square(tn::reshape(tn::arange(0.f, static_cast<float>(kSize)), axis) - place);
  };
  const tn::Tensor rows = distance({kSize, 1}), columns = distance({1, kSize});
  return tn::reshape(tn::exp((rows + columns) * -0.3), {count, kPixels});
}

struct Losses {
  tn::Tensor rebuilt, divergence;
};

struct Vae : nn::ModelBase {
  tn::Tensor call(const tn::Tensor& x, const nn::Call& c) override {
    return decoder(tn::slice(encoder(x, c), {0, 0}, {-1, kLatent}), c);
  }

  // How badly an image is rebuilt from its code, and how far codes are from a normal distribution.
  Losses losses_of(const tn::Tensor& x) {
    const tn::Tensor code = encoder(x, {.training = true});
    const tn::Tensor mean = tn::slice(code, {0, 0}, {-1, kLatent});
    const tn::Tensor log_variance = tn::slice(code, {0, kLatent}, {-1, kLatent});
    const tn::Tensor drawn =
        mean + tn::exp(log_variance * 0.5) * tn::random::normal({x.dim(0), kLatent});
    const tn::Tensor again = decoder(drawn, {.training = true});
    const tn::Tensor terms = 1 + log_variance - tn::square(mean) - tn::exp(log_variance);
    return {crossentropy(x, again) * static_cast<double>(kPixels),
            tn::mean(tn::sum(terms, {1})) * -0.5};
  }

  nn::StepLogs train_step(const nn::Batch& batch) override {
    tn::GradientTape tape;
    const Losses losses = losses_of(batch.x[0]);
    const tn::Tensor loss = losses.rebuilt + losses.divergence;
    optimizer().apply(tape.gradient(loss, trainable_weights()), trainable_weights());
    return {{"loss", loss}, {"rebuilt", losses.rebuilt}, {"divergence", losses.divergence}};
  }

  nn::Layer encoder = track(
      nn::Sequential({nn::Dense({.units = 64, .activation = "relu", .input_shape = {kPixels}}),
                      nn::Dense({.units = 2 * kLatent})}));  // means, and logarithms of variances
  nn::Layer decoder = track(
      nn::Sequential({nn::Dense({.units = 64, .activation = "relu", .input_shape = {kLatent}}),
                      nn::Dense({.units = 64, .activation = "relu"}),
                      nn::Dense({.units = kPixels, .activation = "sigmoid"})}));
  nn::Loss crossentropy = nn::BinaryCrossentropy();
};

static double error(const tn::Tensor& a, const tn::Tensor& b) {
  return tn::mean(tn::square(a - b)).item<float>();
}

static void show(const tn::Tensor& image) {
  const std::vector<float> pixels = image.to_vector<float>();
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    std::cout << " .:*#"[static_cast<int>(pixels[i] * 4.99f)]
              << (i % kSize == kSize - 1 ? "\n" : "");
  }
}

static void program() {
  tn::set_seed(15);
  const tn::Tensor known = make_spots(1024), unseen = make_spots(256);

  const nn::Model vae = nn::make_model<Vae>();
  vae.compile({.optimizer = nn::Adam({.learning_rate = 3e-3})});
  const nn::History history = vae.fit(nn::Dataset::from_tensors(known).shuffle().batch(64),
                                      {.epochs = 40, .verbose = nn::Verbose::silent});
  std::cout << "loss: " << history["loss"].front() << " in the first epoch, "
            << history["loss"].back()
            << " in the last; divergence: " << history["divergence"].back() << "\n";
  expect(history["loss"].back() < history["loss"].front(), "the loss falls");
  expect_between("the divergence", history["divergence"].back(), 1, 10);

  // What knows nothing of an image but the mean of all is this far off.
  const double naive = error(unseen, tn::mean(known, {0}));
  const double rebuilt = error(unseen, vae.predict(unseen));
  std::cout << "error of rebuilt images: " << rebuilt << ", of the mean image: " << naive << "\n";
  expect_between("the error, in parts of the mean image's", rebuilt / naive, 0, 0.4);

  const tn::Tensor made = vae.as<Vae>()->decoder(tn::random::normal({64, kLatent}));
  const double brightest = tn::mean(tn::max(made, {1})).item<float>();
  std::cout << "a new image:\n";
  show(made[0]);
  expect_between("the brightest pixel of new images", brightest, 0.6, 1);
}

int main() { return status_of(program); }
