// How much of the machine's arithmetic does a convolution use, and do its gradients?
#include "rows.h"
#include "tenure/tenure.h"

namespace bench {

using namespace tenure;

void convolution(Runner& runner) {
  const Shape image{32, 56, 56, 64};
  const Shape filter{3, 3, 64, 64};
  const ConvOptions same{.padding = Padding::same};
  runner.row("conv2d", [&](Row& row) {
    const Tensor x = random::uniform(image);
    const Tensor w = random::uniform(filter);
    row.measure([&] { use(conv2d(x, w, same)); });
  });
  runner.row("conv2d_grad_input", [&](Row& row) {
    const Tensor dy = random::uniform(image);
    const Tensor w = random::uniform(filter);
    row.measure([&] { use(conv2d_grad_input(dy, w, image, same)); });
  });
  runner.row("conv2d_grad_filter", [&](Row& row) {
    const Tensor x = random::uniform(image);
    const Tensor dy = random::uniform(image);
    row.measure([&] { use(conv2d_grad_filter(x, dy, filter, same)); });
  });
}

}  // namespace bench
