#include "models.h"

namespace bench::models {

using namespace tenure;

namespace {

// One-hot rows of random classes.
Tensor random_labels(std::int64_t rows, std::int64_t classes) {
  return cast(equal(random::randint({rows, 1}, 0, classes), arange(classes)), DType::float32);
}

const nn::Loss& crossentropy() {
  static const nn::Loss loss = nn::CategoricalCrossentropy({.from_logits = true});
  return loss;
}

// A recurrent layer, and a number foretold from its last output.
Trained forecast(const nn::Layer& layer, const Shape& batch) {
  return {nn::Sequential({layer, nn::Dense({.units = 1})}), "mse", random::uniform(batch),
          random::uniform({batch[0], 1})};
}

Trained perceptron(std::int64_t inputs, std::int64_t units, std::int64_t examples) {
  return {
      nn::Sequential({nn::Dense({.units = units, .activation = "relu", .input_shape = {inputs}}),
                      nn::Dense({.units = units, .activation = "relu"}), nn::Dense({.units = 10})}),
      crossentropy(), random::uniform({examples, inputs}), random_labels(examples, 10)};
}

}  // namespace

Trained mlp(std::int64_t examples) { return perceptron(784, 512, examples); }

Trained small_mlp() { return perceptron(64, 128, 64); }

Trained rnn() {
  return forecast(nn::SimpleRNN({.units = 128, .input_shape = {100, 32}}), {32, 100, 32});
}

Trained lstm() { return forecast(nn::LSTM({.units = 128, .input_shape = {50, 64}}), {32, 50, 64}); }

Trained cnn() {
  return {
      nn::Sequential({nn::Conv2D({.filters = 32,
                                  .kernel_size = {3, 3},
                                  .activation = "relu",
                                  .input_shape = {28, 28, 1}}),
                      nn::MaxPooling2D(),
                      nn::Conv2D({.filters = 64, .kernel_size = {3, 3}, .activation = "relu"}),
                      nn::MaxPooling2D(), nn::Flatten(),
                      nn::Dense({.units = 128, .activation = "relu"}), nn::Dense({.units = 10})}),
      crossentropy(), random::uniform({64, 28, 28, 1}), random_labels(64, 10)};
}

// One encoder layer: attention and feed-forward, each added to its input and normalised.
Trained transformer() {
  const nn::Node x = nn::Input({.shape = {128, 256}});
  const auto normalised_sum = [](const nn::Node& a, const nn::Node& b) {
    return nn::LayerNormalization({.epsilon = 1e-5})(nn::Add()({a, b}));
  };
  const nn::Node attended =
      normalised_sum(x, nn::MultiHeadAttention({.num_heads = 4, .key_dim = 64})({x, x}));
  const nn::Node widened = nn::Dense({.units = 1024, .activation = "relu"})(attended);
  const nn::Node y = normalised_sum(attended, nn::Dense({.units = 256})(widened));
  return {nn::Model({x}, {y}), "mse", random::uniform({8, 128, 256}),
          random::uniform({8, 128, 256})};
}

}  // namespace bench::models
