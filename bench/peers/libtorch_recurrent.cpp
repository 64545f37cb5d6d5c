// The rows of dense.cpp and recurrent.cpp in libtorch: its own layers; sequences with time first,
// which they prefer, and the state kept from call to call.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

#include "libtorch_rows.h"

namespace bench::peers {
namespace {

using at::Tensor;

struct Sizes {
  std::int64_t steps, features, units;
};

// The weights of a layer, uniform within 1 / sqrt(fan_in).
std::vector<Tensor> cell(const Sizes& sizes, std::int64_t gates) {
  const auto drawn = [](at::IntArrayRef shape, std::int64_t fan_in) {
    const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
    return at::empty(shape).uniform_(-bound, bound);
  };
  const std::int64_t columns = gates * sizes.units;
  return {drawn({columns, sizes.features}, sizes.features),
          drawn({columns, sizes.units}, sizes.units), drawn({columns}, sizes.features),
          drawn({columns}, sizes.units)};
}

void rnn_row(Runner& runner, const char* name, const Sizes& sizes) {
  runner.row(name, [&](Row& row) {
    const c10::InferenceMode guard;
    const std::vector<Tensor> weights = cell(sizes, 1);
    const Tensor x = at::rand({sizes.steps, 1, sizes.features});
    Tensor state = at::zeros({1, 1, sizes.units});
    row.measure([&] {
      auto [outputs, last] = at::rnn_tanh(x, state, weights, true, 1, 0, false, false, false);
      state = last;
      use(outputs[-1]);
    });
  });
}

}  // namespace

void recurrent(Runner& runner) {
  runner.row("dense_apply", [](Row& row) {
    const c10::InferenceMode guard;
    const Tensor x = at::rand({1000, 10}), weight = at::rand({10, 10}), bias = at::rand({10});
    row.measure([&] { use(at::linear(x, weight, bias)); });
  });
  rnn_row(runner, "rnn_predict_small", {16, 4, 10});
  rnn_row(runner, "rnn_predict", {100, 32, 128});
  runner.row("lstm_predict", [](Row& row) {
    const c10::InferenceMode guard;
    const Sizes sizes{50, 64, 128};
    const std::vector<Tensor> weights = cell(sizes, 4);
    const Tensor x = at::rand({sizes.steps, 1, sizes.features});
    std::vector<Tensor> states(2, at::zeros({1, 1, sizes.units}));
    row.measure([&] {
      auto [outputs, state, held] = at::lstm(x, states, weights, true, 1, 0, false, false, false);
      states = {state, held};
      use(outputs[-1]);
    });
  });
}

}  // namespace bench::peers
