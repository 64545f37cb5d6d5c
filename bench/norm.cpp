// How near to the memory's speed do softmax and the normalisations come?
#include "rows.h"
#include "tenure/tenure.h"

namespace bench {

using namespace tenure;

void norm(Runner& runner) {
  runner.row("softmax_256x1000", [](Row& row) {
    const Tensor x = random::normal({256, 1000});
    row.measure([&] { use(softmax(x)); });
  });
  runner.row("batch_norm", [](Row& row) {
    const Tensor x = random::normal({32, 56, 56, 64});
    const BatchNormOptions options{.scale = ones({64}), .offset = zeros({64})};
    row.measure([&] { use(batch_norm_training(x, options)); });
  });
  runner.row("layer_norm", [](Row& row) {
    const Tensor x = random::normal({8192, 768});
    const LayerNormOptions options{.scale = ones({768}), .offset = zeros({768})};
    row.measure([&] { use(layer_norm(x, options)); });
  });
}

}  // namespace bench
