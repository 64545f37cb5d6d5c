// A training with a mistake in it, recorded. It learns well and grows all the while: what is kept
// for later is never let go. `tenure report` shows where.
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include <tenure/tenure.h>

namespace tn = tenure;
namespace nn = tenure::nn;

constexpr std::int64_t kBatch = 50;
constexpr int kSteps = 60;

struct Digits {
  tn::Tensor images, labels;
};

static Digits read_digits() {
  const tn::io::Archive file = tn::io::load_npz(EXAMPLE_DATA "/digits.npz");
  return {tn::reshape(file["images"], {-1, 28, 28, 1}), tn::cast(file["labels"], tn::DType::int32)};
}

static Digits batch(const Digits& all, std::int64_t from) {
  const tn::Tensor images = tn::slice(all.images, {from, 0, 0, 0}, {kBatch, 28, 28, 1});
  return {tn::cast(images, tn::DType::float32) * (1.0 / 255),
          tn::slice(all.labels, {from}, {kBatch})};
}

// The eyes look for features, the head tells digits from them.
struct Network {
  nn::Sequential eyes{
      {nn::Conv2D(
           {.filters = 8, .kernel_size = 3, .activation = "relu", .input_shape = {28, 28, 1}}),
       nn::MaxPooling2D(), nn::Conv2D({.filters = 16, .kernel_size = 3, .activation = "relu"}),
       nn::MaxPooling2D(), nn::Flatten()},
      {.name = "eyes"}};
  nn::Sequential head{{nn::Dense({.units = 256, .activation = "relu", .input_shape = {400}}),
                       nn::Dense({.units = 10})},
                      {.name = "head"}};

  std::vector<tn::Variable> weights() const {
    std::vector<tn::Variable> all = eyes.trainable_weights();
    for (const tn::Variable& each : head.trainable_weights()) all.push_back(each);
    return all;
  }
};

static tn::Tensor loss_of(const tn::Tensor& scores, const tn::Tensor& labels) {
  return -tn::mean(tn::sum(tn::log_softmax(scores) * tn::one_hot(labels, 10), {-1}));
}

static float train(const Digits& digits, std::vector<tn::Tensor>& seen) {
  const Network network;
  const std::vector<tn::Variable> weights = network.weights();
  const nn::Adam adam({.learning_rate = 2e-3});
  float loss = 0;
  for (int step = 0; step < kSteps; ++step) {
    loss = tn::tidy("step", [&] {
      const Digits now = batch(digits, step * kBatch % 1600);
      tn::GradientTape tape;
      tn::Tensor features = network.eyes(now.images);
      const tn::Tensor error = loss_of(network.head(features), now.labels);
      adam.apply(tape.gradient(error, {weights.begin(), weights.end()}), weights);
      seen.push_back(tn::keep(features));  // the mistake
      return error.item<float>();
    });
    if (step % 20 == 0) std::cout << "  step " << std::setw(2) << step << "  loss " << loss << "\n";
  }
  return loss;
}

int main(int argc, char** argv) {
  tn::set_seed(4);
  tn::Recording recording(argc > 1 ? argv[1] : "training.tenure");
  std::cout << std::fixed << std::setprecision(3) << "A training that is recorded, and leaks:\n";
  std::vector<tn::Tensor> seen;
  const float loss = train(read_digits(), seen);
  recording.stop();
  std::cout << "  loss at the end " << loss << "; " << seen.size() << " tensors are still held\n";
  return loss < 1 && seen.size() == kSteps ? 0 : 1;
}
