// What does a traced function add to the kernels that it runs?
#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "ops/attrs.h"
#include "ops/kernel.h"
#include "ops/op_def.h"
#include "rows.h"
#include "tenure/tenure.h"

namespace bench {

using namespace tenure;

void node_dispatch(Runner& runner) {
  runner.row("node_dispatch", [](Row& row) {
    // Products of matrices, which no pass makes one operation of.
    constexpr int kNodes = 100;
    const Tensor w = ones({1, 1});
    const Function traced = function("chain", [&](Tensor x) {
      for (int i = 0; i < kNodes; ++i) x = tenure::matmul(std::move(x), w);
      return x;
    });
    const Tensor x = ones({1, 1});

    const auto ops = ops::all_ops();
    const auto found = std::ranges::find(ops, std::string_view("matmul"), &ops::OpDef::name);
    const ops::Kernel& kernel =
        ops::kernel_table(DeviceType::cpu).find((*found)->index, DType::float32);
    const Shape shape{1, 1};
    const Strides strides{1, 1};
    std::array<float, 3> numbers{1, 1, 0};
    std::array<ops::KernelView, 3> views;
    for (std::size_t i = 0; i < views.size(); ++i) {
      views[i] = {reinterpret_cast<std::byte*>(&numbers[i]), &shape, &strides, DType::float32};
    }
    const std::span<const ops::KernelView> all = views;
    const ops::MatmulAttrs attrs;
    const ops::KernelArgs args{.in = all.first(2), .out = all.last(1), .attrs = ops::ref(attrs)};
    if (kernel.scratch_bytes(args) != 0) throw std::logic_error("so small a product needs scratch");
    row.measure_against([&] { use(traced(x)); },
                        [&] {
                          for (int i = 0; i < kNodes; ++i) {
                            kernel.run(args);
                            use(numbers);
                          }
                        },
                        kNodes);
  });
}

}  // namespace bench
