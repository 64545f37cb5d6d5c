// A stateful LSTM learns a series in chunks: each step of training goes on where the one before
// ended, until the state is reset. The state outlives every batch and scope; it is read and put
// back to forecast from the same moment twice. Keras's guide "Working with RNNs", on
// cross-batch statefulness.
#include <cmath>

#include "expect.h"

namespace tn = tenure;
namespace nn = tenure::nn;

static constexpr std::int64_t kSeries = 8, kSteps = 240, kChunk = 20;

// [series, steps + 1, 1]: waves of two periods, which begin anywhere.
static tn::Tensor make_waves() {
  return tn::tidy([] {
    const tn::Tensor begin = tn::random::uniform({kSeries, 1, 1}, {.high = 100});
    const tn::Tensor time =
        tn::reshape(tn::arange(0.f, static_cast<float>(kSteps + 1)), {1, -1, 1}) + begin;
    return tn::sin(time * (2 * M_PI / 20)) * 0.6 + tn::sin(time * (2 * M_PI / 7)) * 0.3;
  });
}

static tn::Tensor part(const tn::Tensor& waves, std::int64_t from, std::int64_t steps) {
  return tn::slice(waves, {0, from, 0}, {-1, steps, -1});
}

// The steps that follow `last`, each forecast from the one before.
static tn::Tensor forecast(const nn::Model& model, tn::Tensor last, int steps) {
  std::vector<tn::Tensor> ahead;
  for (int i = 0; i < steps; ++i) ahead.push_back(last = model.predict(last));
  return tn::concat(ahead, 1);
}

static bool same(const tn::Tensor& a, const tn::Tensor& b) {
  return tn::all(tn::equal(a, b)).item<bool>();
}

static void program() {
  tn::set_seed(17);
  const tn::Tensor waves = make_waves();

  const nn::Sequential model({nn::LSTM({.units = 32,
                                        .return_sequences = true,
                                        .stateful = true,
                                        .batch_input_shape = {kSeries, nn::kAny, 1}}),
                              nn::Dense({.units = 1})});
  model.compile({.optimizer = nn::Adam({.learning_rate = 0.01}), .loss = "mse"});
  std::vector<std::pair<tn::Tensor, tn::Tensor>> chunks;
  for (std::int64_t at = 0; at < kSteps; at += kChunk) {
    chunks.emplace_back(part(waves, at, kChunk), part(waves, at + 1, kChunk));
  }
  const nn::Dataset in_order = nn::Dataset::from_range(chunks);
  std::vector<double> losses;
  for (int epoch = 0; epoch < 40; ++epoch) {
    model.reset_states();  // the waves begin
    losses.push_back(model.fit(in_order, {.verbose = nn::Verbose::silent})["loss"][0]);
  }
  std::cout << "loss: " << losses.front() << " in the first epoch, " << losses.back()
            << " in the last\n";
  expect_between("the last loss, in parts of the first", losses.back() / losses.front(), 0, 0.1);

  // In two halves it gives what it gives in one piece, since it goes on; and not when it begins.
  model.reset_states();
  const tn::Tensor whole = model.predict(part(waves, 0, 2 * kChunk));
  model.reset_states();
  model.predict(part(waves, 0, kChunk));
  const tn::Tensor second = model.predict(part(waves, kChunk, kChunk));
  model.reset_states();
  const tn::Tensor anew = model.predict(part(waves, kChunk, kChunk));
  const auto apart = [](const tn::Tensor& a, const tn::Tensor& b) {
    return static_cast<double>(tn::max(tn::abs(a - b)).item<float>());
  };
  expect_between("a half that goes on, from the whole", apart(second, part(whole, kChunk, kChunk)),
                 0, 1e-5);
  expect(apart(anew, second) > 1e-3, "a half that begins with an empty state is another");

  // Through all but the last chunk; then on its own. A tidy touches no state.
  const std::int64_t known = kSteps - kChunk;
  model.reset_states();
  tn::tidy([&] { model.predict(part(waves, 0, known)); });
  const std::vector<tn::Tensor> states = model.get_states();
  const tn::Tensor ahead = forecast(model, part(waves, known, 1), kChunk);
  const tn::Tensor truth = part(waves, known + 1, kChunk);
  const double error = std::sqrt(tn::mean(tn::square(ahead - truth)).item<float>());
  const double deviation = tn::standard_deviation(truth).item<float>();
  std::cout << "error of " << kChunk << " steps ahead: " << error
            << ", the waves' own deviation: " << deviation << "\n";
  expect_between("the error, in parts of the deviation", error / deviation, 0, 0.6);

  model.reset_states(states);
  expect(same(forecast(model, part(waves, known, 1), kChunk), ahead),
         "with the state put back, it forecasts the same");
  tn::Tensor gone = model.predict(part(waves, known, 1));
  const std::vector<tn::Tensor> before = model.get_states();
  gone.dispose();
  expect(same(model.get_states()[0], before[0]), "disposing a forecast touches no state");
}

int main() { return status_of(program); }
