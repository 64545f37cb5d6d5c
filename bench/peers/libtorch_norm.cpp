// Softmax and the normalisations in libtorch. A batch is measured in both of its layouts, and the
// better one counts.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>

#include "libtorch_rows.h"

namespace bench::peers {
namespace {

double seconds(const auto& fn) {
  fn();
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    fn();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count());
  }
  return best;
}

}  // namespace

void norm(Runner& runner) {
  runner.row("softmax_256x1000", [](Row& row) {
    const c10::InferenceMode guard;
    const at::Tensor x = at::randn({256, 1000});
    row.measure([&] { use(at::softmax(x, -1)); });
  });
  runner.row("batch_norm", [](Row& row) {
    const c10::InferenceMode guard;
    const at::Tensor channels_first = at::randn({32, 64, 56, 56});
    const at::Tensor channels_last = channels_first.contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor scale = at::ones({64}), offset = at::zeros({64});
    const auto run = [&](const at::Tensor& x) {
      use(at::native_batch_norm(x, scale, offset, {}, {}, true, 0.1, 1e-3));
    };
    const bool last = seconds([&] { run(channels_last); }) < seconds([&] { run(channels_first); });
    row.measure([&] { run(last ? channels_last : channels_first); });
  });
  runner.row("layer_norm", [](Row& row) {
    const c10::InferenceMode guard;
    const at::Tensor x = at::randn({8192, 768});
    const at::Tensor scale = at::ones({768}), offset = at::zeros({768});
    row.measure([&] { use(at::layer_norm(x, {768}, scale, offset, 1e-3)); });
  });
}

}  // namespace bench::peers
