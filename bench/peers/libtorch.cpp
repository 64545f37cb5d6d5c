// The same rows in libtorch. Threads and malloc are set from outside; gradients are off, and with
// them all of autograd's bookkeeping, except where a row is about them.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "harness.h"
#include "libtorch_rows.h"

namespace {

using bench::Row;
using bench::use;

constexpr std::int64_t kMillion = 1 << 20;

void inference(bench::Runner& runner, const std::string& name,
               const std::function<void(Row&)>& body) {
  runner.row(name, [&body](Row& row) {
    const c10::InferenceMode guard;
    body(row);
  });
}

void op_small(bench::Runner& runner) {
  inference(runner, "op_add_1", [](Row& row) {
    const at::Tensor a = at::ones({1});
    const at::Tensor b = at::ones({1});
    row.measure([&] { use(a + b); });
  });
  inference(runner, "op_relu_16", [](Row& row) {
    const at::Tensor x = at::linspace(-1, 1, 16);
    row.measure([&] { use(at::relu(x)); });
  });
  runner.row("op_add_1_taped", [](Row& row) {
    constexpr int kAdds = 256;
    const at::Tensor a = at::ones({1}).set_requires_grad(true);
    const at::Tensor b = at::ones({1});
    row.measure(
        [&] {
          for (int i = 0; i < kAdds; ++i) use(a + b);
        },
        kAdds);
  });
}

void elementwise(bench::Runner& runner) {
  inference(runner, "relu_1m", [](Row& row) {
    const at::Tensor x = at::linspace(-4, 4, kMillion);
    row.measure([&] { use(at::relu(x)); });
  });
  inference(runner, "tanh_1m", [](Row& row) {
    const at::Tensor x = at::linspace(-4, 4, kMillion);
    row.measure([&] { use(at::tanh(x)); });
  });
  inference(runner, "sigmoid_1m", [](Row& row) {
    const at::Tensor x = at::linspace(-4, 4, kMillion);
    row.measure([&] { use(at::sigmoid(x)); });
  });
  for (const auto& [name, count] :
       {std::pair("chain_1m", kMillion), std::pair("chain_1m_traced", kMillion),
        std::pair("chain_16m_traced", 16 * kMillion)}) {
    inference(runner, name, [count](Row& row) {
      const at::Tensor x = at::linspace(-4, 4, count);
      row.measure([&] { use(at::tanh(x) * at::sigmoid(x) + at::relu(x)); });
    });
  }
}

void reduce(bench::Runner& runner) {
  inference(runner, "sum_16m", [](Row& row) {
    const at::Tensor x = at::linspace(-4, 4, 1 << 24);
    row.measure([&] { use(at::sum(x)); });
  });
}

void matmul(bench::Runner& runner) {
  for (const std::int64_t n : {64, 256, 512, 1024, 2048, 4096}) {
    inference(runner, "matmul_" + std::to_string(n), [n](Row& row) {
      const at::Tensor a = at::rand({n, n});
      const at::Tensor b = at::rand({n, n});
      row.measure([&] { use(at::matmul(a, b)); });
    });
  }
  for (const std::int64_t n : {512, 2048}) {
    inference(runner, "matmul_bf16_" + std::to_string(n), [n](Row& row) {
      const at::Tensor a = at::rand({n, n}).to(at::kBFloat16);
      const at::Tensor b = at::rand({n, n}).to(at::kBFloat16);
      row.measure([&] { use(at::matmul(a, b)); });
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Runner runner(argc, argv);
  op_small(runner);
  elementwise(runner);
  reduce(runner);
  bench::peers::norm(runner);
  matmul(runner);
  bench::peers::indexing(runner);
  bench::peers::einsum(runner);
  bench::peers::pooling(runner);
  bench::peers::convolution(runner);
  bench::peers::recurrent(runner);
  bench::peers::training(runner);
  return runner.exit_code();
}
