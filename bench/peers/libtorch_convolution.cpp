// The rows of convolution.cpp in libtorch. Each is measured with the layout that libtorch does
// better in, tried beforehand.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "harness.h"
#include "libtorch_rows.h"

namespace {

using bench::Row;
using bench::use;

struct Operands {
  at::Tensor x, w, dy;
  explicit Operands(at::MemoryFormat format)
      : x(at::rand({32, 64, 56, 56}).contiguous(format)),
        w(at::rand({64, 64, 3, 3}).contiguous(format)),
        dy(at::rand({32, 64, 56, 56}).contiguous(format)) {}
};

at::Tensor backward(const Operands& in, bool input) {
  auto results = at::convolution_backward(in.dy, in.x, in.w, c10::nullopt, {1, 1}, {1, 1}, {1, 1},
                                          false, {0, 0}, 1, {input, !input, false});
  return input ? std::get<0>(results) : std::get<1>(results);
}

using Work = at::Tensor (*)(const Operands&);

double seconds(Work work, const Operands& in) {
  const auto start = std::chrono::steady_clock::now();
  use(work(in));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void row(bench::Runner& runner, const std::string& name, Work work) {
  runner.row(name, [work](Row& row) {
    const c10::InferenceMode guard;
    const Operands first(at::MemoryFormat::Contiguous);
    const Operands last(at::MemoryFormat::ChannelsLast);
    double first_best = 1e9;
    double last_best = 1e9;
    for (int i = 0; i < 3; ++i) {
      first_best = std::min(first_best, seconds(work, first));
      last_best = std::min(last_best, seconds(work, last));
    }
    const Operands& better = first_best < last_best ? first : last;
    row.measure([&] { use(work(better)); });
  });
}

}  // namespace

void bench::peers::convolution(Runner& runner) {
  row(runner, "conv2d", [](const Operands& in) {
    return at::conv2d(in.x, in.w, {}, at::IntArrayRef{1, 1}, at::IntArrayRef{1, 1});
  });
  row(runner, "conv2d_grad_input", [](const Operands& in) { return backward(in, true); });
  row(runner, "conv2d_grad_filter", [](const Operands& in) { return backward(in, false); });
}
