// Image augmentation: layers that vary images at random, in training only. All that is known lies
// in the left half of its image; what is asked lies in the right half. A network that saw its
// images mirrored and moved knows them there. Keras's example "Image classification from scratch".
#include "expect.h"

namespace tn = tenure;
namespace nn = tenure::nn;

static constexpr std::int64_t kSize = 12;

struct Bars {
  tn::Tensor images, stands;
};
inline void walk_tensors(Bars& bars, auto&& visit) {
  visit(bars.images);
  visit(bars.stands);
}

// Bars that lie or stand in five by five pixels of the left or of the right half, with noise.
static Bars make_bars(std::int64_t count, bool right) {
  return tn::tidy([&] {
    const auto place = [&](std::int64_t low, std::int64_t high) {
      return tn::random::randint({count, 1, 1, 1}, low, high);
    };
    const tn::Tensor stands = place(0, 2), lies = 1 - stands;
    const tn::Tensor top = place(0, 8), left = place(0, 2) + (right ? 6 : 0);
    const auto within = [](const tn::Tensor& axis, const tn::Tensor& from, const tn::Tensor& size) {
      return tn::logical_and(axis >= from, axis < from + size);
    };
    const tn::Tensor rows =
        within(tn::reshape(tn::arange(kSize), {kSize, 1, 1}), top + 2 * lies, 1 + 4 * stands);
    const tn::Tensor columns =
        within(tn::reshape(tn::arange(kSize), {1, kSize, 1}), left + 2 * stands, 1 + 4 * lies);
    const tn::Tensor bar = tn::cast(tn::logical_and(rows, columns), tn::DType::float32);
    return Bars{bar + tn::random::normal({count, kSize, kSize, 1}, {.deviation = 0.1}),
                tn::cast(tn::reshape(stands, {count, 1}), tn::DType::float32)};
  });
}

// Trained on the left, asked about the right.
static double accuracy_with(const std::vector<nn::Layer>& preparation, const Bars& known,
                            const Bars& asked) {
  std::vector<nn::Layer> layers = preparation;
  layers.insert(layers.end(), {nn::Flatten(), nn::Dense({.units = 64, .activation = "relu"}),
                               nn::Dense({.units = 1, .activation = "sigmoid"})});
  const nn::Sequential model(layers);
  model.compile({.optimizer = nn::Adam({.learning_rate = 0.003}),
                 .loss = "binary_crossentropy",
                 .metrics = {"accuracy"}});
  model.fit(known.images, known.stands, {.epochs = 25, .verbose = nn::Verbose::silent});
  return nn::value_of(model.evaluate(asked.images, asked.stands), "accuracy");
}

static bool same(const tn::Tensor& a, const tn::Tensor& b) {
  return tn::all(tn::equal(a, b)).item<bool>();
}

static void program() {
  tn::set_seed(19);
  const Bars known = make_bars(512, false), asked = make_bars(256, true);

  // A layer alone: mirrored by halves, each image by itself, and only in training.
  const nn::RandomFlip flip({.mode = "horizontal"});
  const tn::Tensor varied = flip(known.images, {.training = true});
  const tn::Tensor mirrored = tn::reverse(known.images, {2});
  const auto part_like = [&](const tn::Tensor& images) {
    const tn::Tensor equal = tn::cast(tn::equal(varied, images), tn::DType::float32);
    return static_cast<double>(tn::mean(tn::min(equal, {1, 2, 3})).item<float>());
  };
  expect(same(flip(known.images), known.images), "otherwise images stay as they are");
  expect_between("the part that is mirrored", part_like(mirrored), 0.4, 0.6);
  expect_between("what is mirrored or not", part_like(mirrored) + part_like(known.images), 1, 1);

  const double plain = accuracy_with({}, known, asked);
  const double augmented = accuracy_with(
      {flip, nn::RandomTranslation({.height_factor = 0.1, .width_factor = 0.1})}, known, asked);
  std::cout << "right of images in the other half: " << plain << " without augmentation, "
            << augmented << " with it\n";
  expect_between("accuracy with augmentation", augmented, 0.9, 1);
  expect(plain < augmented - 0.1, "augmentation is what makes it know the other half");
}

int main() { return status_of(program); }
