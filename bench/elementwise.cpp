// How near to the memory's speed do elementwise operations come, alone and in a chain?
#include "rows.h"
#include "tenure/tenure.h"

namespace bench {

using namespace tenure;

namespace {

constexpr std::int64_t kMillion = 1 << 20;

}  // namespace

void elementwise(Runner& runner) {
  runner.row("relu_1m", [](Row& row) {
    const Tensor x = linspace(-4, 4, kMillion);
    row.measure([&] { use(relu(x)); });
  });
  runner.row("tanh_1m", [](Row& row) {
    const Tensor x = linspace(-4, 4, kMillion);
    row.measure([&] { use(tanh(x)); });
  });
  runner.row("sigmoid_1m", [](Row& row) {
    const Tensor x = linspace(-4, 4, kMillion);
    row.measure([&] { use(sigmoid(x)); });
  });
  runner.row("chain_1m", [](Row& row) {
    const Tensor x = linspace(-4, 4, kMillion);
    row.measure([&] { use(tanh(x) * sigmoid(x) + relu(x)); });
  });
}

}  // namespace bench
