// Does a reduction read at the memory's speed?
#include "rows.h"
#include "tenure/tenure.h"

namespace bench {

using namespace tenure;

void reduce(Runner& runner) {
  runner.row("sum_16m", [](Row& row) {
    const Tensor x = linspace(-4, 4, 1 << 24);
    row.measure([&] { use(sum(x)); });
  });
}

}  // namespace bench
