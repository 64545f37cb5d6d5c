// What do picking and adding up rows by index, and finding the largest elements, cost?
#include "rows.h"
#include "tenure/tenure.h"

namespace bench {

using namespace tenure;

void indexing(Runner& runner) {
  runner.row("gather", [](Row& row) {
    const Tensor table = random::normal({50'000, 128});
    const Tensor rows = random::randint({4096}, 0, 50'000, DType::int64);
    row.measure([&] { use(gather(table, rows)); });
  });
  runner.row("scatter_nd", [](Row& row) {
    const Tensor dy = random::normal({4096, 128});
    const Tensor rows = random::randint({4096, 1}, 0, 50'000, DType::int64);
    row.measure([&] { use(scatter_nd(rows, dy, {50'000, 128})); });
  });
  runner.row("top_k", [](Row& row) {
    const Tensor x = random::normal({256, 10'000});
    row.measure([&] { use(top_k(x, 10)); });
  });
  runner.row("sort", [](Row& row) {
    const Tensor x = random::normal({256, 10'000});
    row.measure([&] { use(sort(x)); });
  });
}

}  // namespace bench
