// How much of the machine's arithmetic does a square product use, small to large?
#include "rows.h"
#include "tenure/tenure.h"

namespace bench {

using namespace tenure;

void matmul(Runner& runner) {
  for (const std::int64_t n : {64, 256, 512, 1024, 2048, 4096}) {
    runner.row("matmul_" + std::to_string(n), [n](Row& row) {
      const Tensor a = random::uniform({n, n});
      const Tensor b = random::uniform({n, n});
      row.measure([&] { use(tenure::matmul(a, b)); });
    });
  }
}

}  // namespace bench
