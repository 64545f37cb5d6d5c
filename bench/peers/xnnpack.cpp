// The rows of layers.cpp in XNNPACK, on as many threads as OMP_NUM_THREADS says. Its operators are
// made beforehand, weights packed, and write one result again and again.
#include <pthreadpool.h>
#include <xnnpack.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

#include "harness.h"
#include "layers.h"

namespace {

using bench::Layer;

void check(xnn_status status, const char* what) {
  if (status == xnn_status_success) return;
  std::fprintf(stderr, "XNNPACK: %s: status %d\n", what, static_cast<int>(status));
  std::exit(1);
}

std::vector<float> random_values(int count) {
  static std::mt19937 generator;
  // XNNPACK reads beyond an image's end.
  std::vector<float> values(static_cast<std::size_t>(count) + XNN_EXTRA_BYTES / sizeof(float));
  std::uniform_real_distribution<float> uniform;
  for (float& value : values) value = uniform(generator);
  return values;
}

void measure(bench::Row& row, const Layer& layer, pthreadpool_t threads) {
  const auto at = [](int number) { return static_cast<std::size_t>(number); };
  const auto kernel = static_cast<std::uint32_t>(layer.kernel);
  const auto stride = static_cast<std::uint32_t>(layer.stride);
  const auto groups = static_cast<std::uint32_t>(layer.is_depthwise() ? layer.in : 1);
  const int out_size = (layer.size + layer.stride - 1) / layer.stride;
  const std::vector<float> image = random_values(layer.size * layer.size * layer.in);
  const std::vector<float> weights =
      random_values(layer.kernel * layer.kernel * layer.columns() * (groups > 1 ? 1 : layer.in));
  const std::vector<float> bias = random_values(layer.columns());
  std::vector<float> result = random_values(out_size * out_size * layer.columns());
  xnn_operator_t made = nullptr;
  check(xnn_create_convolution2d_nhwc_f32(
            0, 0, 0, 0, kernel, kernel, stride, stride, 1, 1, groups, at(layer.in) / groups,
            at(layer.columns()) / groups, at(layer.in), at(layer.columns()), weights.data(),
            bias.data(), 0.0F, 6.0F, XNN_FLAG_TENSORFLOW_SAME_PADDING, &made),
        "create");
  const std::unique_ptr<xnn_operator, decltype(&xnn_delete_operator)> op(made,
                                                                         &xnn_delete_operator);
  check(xnn_setup_convolution2d_nhwc_f32(op.get(), 1, at(layer.size), at(layer.size), image.data(),
                                         result.data(), threads),
        "setup");
  row.measure([&] {
    check(xnn_run_operator(op.get(), threads), "run");
    bench::use(result);
  });
}

}  // namespace

int main(int argc, char** argv) {
  bench::Runner runner(argc, argv);
  check(xnn_initialize(nullptr), "initialize");
  const char* wanted = std::getenv("OMP_NUM_THREADS");
  const std::unique_ptr<pthreadpool, decltype(&pthreadpool_destroy)> threads(
      pthreadpool_create(wanted == nullptr ? 0 : std::strtoul(wanted, nullptr, 10)),
      &pthreadpool_destroy);
  for (const Layer& layer : bench::kLayers) {
    runner.row(layer.name(), [&](bench::Row& row) { measure(row, layer, threads.get()); });
  }
  return runner.exit_code();
}
