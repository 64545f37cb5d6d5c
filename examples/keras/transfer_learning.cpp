// Transfer learning: a network learned to tell bars apart; what it knows serves another task of
// which there are few examples. Frozen, it stays as it is to the bit, statistics of its
// normalisation included; then all of it is tuned. Keras's guide "Transfer learning & fine-tuning".
#include <functional>

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

// Bars that lie (0), stand (1) or lean, to the left (2) or to the right (3), in noise.
static Bars make_bars(std::int64_t count, int first_kind, int last_kind) {
  return tn::tidy([&] {
    const tn::Tensor kind = tn::random::randint({count, 1, 1, 1}, first_kind, last_kind + 1);
    const tn::Tensor place = tn::random::randint({count, 1, 1, 1}, 0, kSize);
    const tn::Tensor row = tn::reshape(tn::arange(kSize), {kSize, 1, 1});
    const tn::Tensor column = tn::reshape(tn::arange(kSize), {1, kSize, 1});
    tn::Tensor line = tn::where(tn::equal(kind, 0), row, column);
    line = tn::where(tn::equal(kind, 2), tn::mod(row + column, kSize), line);
    line = tn::where(tn::equal(kind, 3), tn::mod(row - column, kSize), line);
    const tn::Tensor bar = tn::cast(tn::equal(line, place), tn::DType::float32);
    return Bars{bar + tn::random::normal({count, kSize, kSize, 1}, {.deviation = 0.2}),
                tn::reshape(kind, {count}) - first_kind};
  });
}

static nn::Sequential make_base() {
  return nn::Sequential(
      {nn::Input({.shape = {kSize, kSize, 1}}), nn::Conv2D({.filters = 8, .kernel_size = 3}),
       nn::BatchNormalization(), nn::ReLU(), nn::Conv2D({.filters = 16, .kernel_size = 3}),
       nn::BatchNormalization(), nn::ReLU(), nn::GlobalMaxPooling2D()},
      {.name = "base"});
}

static std::vector<std::vector<float>> values_of(const std::vector<tn::Variable>& weights) {
  std::vector<std::vector<float>> values;
  for (const tn::Variable& each : weights) values.push_back(each.read().to_vector<float>());
  return values;
}

static double train(const nn::Model& model, double learning_rate, int epochs, const Bars& known,
                    const Bars& unseen) {
  model.compile({.optimizer = nn::Adam({.learning_rate = learning_rate}),
                 .loss = nn::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  model.fit(known.images, known.kinds, {.epochs = epochs, .verbose = nn::Verbose::silent});
  return nn::value_of(model.evaluate(unseen.images, unseen.kinds), "accuracy");
}

static void program() {
  tn::set_seed(12);
  const nn::Sequential base = make_base();
  const nn::Sequential source({base, nn::Dense({.units = 3})});
  const double learned = train(source, 0.01, 12, make_bars(768, 0, 2), make_bars(256, 0, 2));
  std::cout << "the task with many examples: " << learned << "\n";
  expect_between("accuracy of the first task", learned, 0.85, 1);

  // The base is frozen, and called as in inference even when it is thawed later.
  base.set_trainable(false);
  const nn::Node image = nn::Input({.shape = {kSize, kSize, 1}});
  nn::Node x = base(image, {.training = false});
  x = nn::Dropout({.rate = 0.2})(x);
  const nn::Model tuned({image}, {nn::Dense({.units = 2, .name = "head"})(x)});
  std::cout << tuned.summary() << "\n";
  expect(tuned.trainable_weights().size() == 2, "the head alone is trained");

  const Bars few = make_bars(64, 2, 3), unseen = make_bars(256, 2, 3);
  const auto frozen = values_of(base.weights());
  const double transferred = train(tuned, 0.01, 40, few, unseen);
  std::cout << "the task with 64 examples: " << transferred << "\n";
  expect_between("accuracy with a frozen base", transferred, 0.8, 1);
  expect(values_of(base.weights()) == frozen, "the frozen base is what it was, to the bit");

  base.set_trainable(true);
  const auto statistics = values_of(base.non_trainable_weights());
  const double fine = train(tuned, 1e-3, 20, few, unseen);
  std::cout << "and after all of it was tuned: " << fine << "\n";
  expect_between("accuracy after tuning", fine, 0.85, 1);
  expect(values_of(base.weights()) != frozen, "the base was tuned");
  expect(values_of(base.non_trainable_weights()) == statistics,
         "its moving statistics stay: it was called with training = false");
}

int main() { return status_of(program); }
