// What does an operation cost before it computes anything?
#include "rows.h"
#include "tenure/tenure.h"

namespace bench {

using namespace tenure;

void op_small(Runner& runner) {
  runner.row("op_add_1", [](Row& row) {
    const Tensor a = tensor({1.0F});
    const Tensor b = tensor({2.0F});
    row.measure([&] { use(a + b); });
  });
  runner.row("op_relu_16", [](Row& row) {
    const Tensor x = linspace(-1, 1, 16);
    row.measure([&] { use(relu(x)); });
  });
  runner.row("op_add_1_taped", [](Row& row) {
    constexpr int kAdds = 256;
    const Tensor a = tensor({1.0F});
    const Tensor b = tensor({2.0F});
    row.measure(
        [&] {
          GradientTape tape;
          tape.watch(a);
          for (int i = 0; i < kAdds; ++i) use(a + b);
        },
        kAdds);
  });
}

}  // namespace bench
