// The functional API: a residual network of images, the parts of it as models that share its
// layers, a model within a model, and all of that in a file. Keras's guide "The Functional API".
#include <unistd.h>

#include <filesystem>

#include "expect.h"

namespace tn = tenure;
namespace nn = tenure::nn;

static constexpr std::int64_t kSize = 12;  // of the images

struct Bars {
  tn::Tensor images, kinds;
};
inline void walk_tensors(Bars& bars, auto&& visit) {
  visit(bars.images);
  visit(bars.kinds);
}

// Bars that lie, stand or lean, in noise.
static Bars make_bars(std::int64_t count) {
  return tn::tidy([&] {
    const tn::Tensor kind = tn::random::randint({count, 1, 1, 1}, 0, 3);
    const tn::Tensor place = tn::random::randint({count, 1, 1, 1}, 0, kSize);
    const tn::Tensor row = tn::reshape(tn::arange(kSize), {kSize, 1, 1});
    const tn::Tensor column = tn::reshape(tn::arange(kSize), {1, kSize, 1});
    const tn::Tensor line =
        tn::where(tn::equal(kind, 0), row,
                  tn::where(tn::equal(kind, 1), column, tn::mod(row + column, kSize)));
    const tn::Tensor bar = tn::cast(tn::equal(line, place), tn::DType::float32);
    return Bars{bar + tn::random::normal({count, kSize, kSize, 1}, {.deviation = 0.2}),
                tn::reshape(kind, {count})};
  });
}

static nn::Node residual_block(const nn::Node& x, std::int64_t filters, const std::string& name) {
  const nn::Node once = nn::Conv2D(
      {.filters = filters, .kernel_size = 3, .padding = "same", .activation = "relu"})(x);
  const nn::Node twice =
      nn::Conv2D({.filters = filters, .kernel_size = 3, .padding = "same"})(once);
  return nn::Activation({.activation = "relu", .name = name})(x + twice);
}

static nn::Model make_network() {
  const nn::Node image = nn::Input({.shape = {kSize, kSize, 1}, .name = "image"});
  nn::Node x = nn::Conv2D({.filters = 8, .kernel_size = 3, .activation = "relu"})(image);
  x = residual_block(x, 8, "block_1");
  x = nn::MaxPooling2D({.pool_size = 2})(x);
  x = residual_block(x, 8, "block_2");
  x = nn::GlobalAveragePooling2D({.name = "features"})(x);
  return nn::Model({image}, {nn::Dense({.units = 3, .name = "kind"})(x)}, {.name = "bars"});
}

static bool same(const tn::Tensor& a, const tn::Tensor& b) {
  return tn::all(tn::equal(a, b)).item<bool>();
}

static void program() {
  tn::set_seed(11);
  const Bars known = make_bars(768), unseen = make_bars(256);

  const nn::Model network = make_network();
  std::cout << network.summary() << "\n";
  network.compile({.optimizer = nn::Adam({.learning_rate = 0.01}),
                   .loss = nn::SparseCategoricalCrossentropy({.from_logits = true}),
                   .metrics = {"accuracy"}});
  network.fit(known.images, known.kinds, {.epochs = 8, .verbose = nn::Verbose::lines});
  const double accuracy = nn::value_of(network.evaluate(unseen.images, unseen.kinds), "accuracy");
  std::cout << "of images it never saw, right: " << accuracy << "\n";
  expect_between("accuracy", accuracy, 0.9, 1);

  // A model from any place to any other shares the layers between them.
  const nn::Model parts({network.input()}, {network.get_layer("block_1").output(),
                                            network.get_layer("features").output()});
  const std::vector<tn::Tensor> seen = parts.predict(std::vector{unseen.images});
  expect(seen[0].shape() == tn::Shape{256, 10, 10, 8}, "block_1 keeps the size of its input");
  expect(seen[1].shape() == tn::Shape{256, 8}, "there is a feature for each filter");

  // A model is called like a layer: here with the logits made into probabilities.
  const nn::Node image = nn::Input({.shape = {kSize, kSize, 1}});
  const nn::Model probable({image}, {softmax(network(image))});
  const tn::Tensor probabilities = probable.predict(unseen.images);
  const tn::Tensor sums = tn::sum(probabilities, {1});
  expect(tn::max(tn::abs(sums - 1)).item<float>() < 1e-5f, "probabilities add up to 1");
  expect(same(tn::arg_max(probabilities, 1), tn::arg_max(network.predict(unseen.images), 1)),
         "the best class is the same");

  const std::string path = std::filesystem::temp_directory_path() /
                           ("functional-" + std::to_string(getpid()) + ".safetensors");
  probable.save(path);
  const nn::Model loaded = nn::load_model(path);
  std::filesystem::remove(path);
  expect(same(loaded.predict(unseen.images), probabilities), "a file gives the same model");
}

int main() { return status_of(program); }
