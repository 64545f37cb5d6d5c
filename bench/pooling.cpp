// Does pooling read at the memory's speed?
#include "rows.h"
#include "tenure/tenure.h"

namespace bench {

using namespace tenure;

void pooling(Runner& runner) {
  runner.row("max_pool", [](Row& row) {
    const Tensor x = random::uniform({32, 112, 112, 64});
    row.measure(
        [&] { use(tenure::max_pool(x, {3, 3}, {.strides = {2}, .padding = Padding::same})); });
  });
}

}  // namespace bench
