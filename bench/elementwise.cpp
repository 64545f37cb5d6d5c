// How near to the memory's speed do elementwise operations come, alone and in a chain?
#include <utility>

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
  for (const auto& [name, count] :
       {std::pair("chain_1m_traced", kMillion), std::pair("chain_16m_traced", 16 * kMillion)}) {
    runner.row(name, [count](Row& row) {
      const Function chain =
          function("chain", [](Tensor x) { return tanh(x) * sigmoid(x) + relu(x); });
      const Tensor x = linspace(-4, 4, count);
      row.measure([&] { use(chain(x)); });
    });
  }
}

}  // namespace bench
