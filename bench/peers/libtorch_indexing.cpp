// The rows of indexing.cpp in libtorch, each with the fastest call there is for it.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include "libtorch_rows.h"

namespace bench::peers {

using bench::Row;
using bench::use;

void indexing(bench::Runner& runner) {
  runner.row("gather", [](Row& row) {
    const c10::InferenceMode guard;
    const at::Tensor table = at::randn({50'000, 128});
    const at::Tensor rows = at::randint(0, 50'000, {4096}, at::kLong);
    row.measure([&] { use(at::embedding(table, rows)); });
  });
  runner.row("scatter_nd", [](Row& row) {
    const c10::InferenceMode guard;
    const at::Tensor dy = at::randn({4096, 128});
    const at::Tensor rows = at::randint(0, 50'000, {4096}, at::kLong);
    row.measure(
        [&] { use(at::embedding_dense_backward(dy, rows, 50'000, /*padding_idx=*/-1, false)); });
  });
  runner.row("top_k", [](Row& row) {
    const c10::InferenceMode guard;
    const at::Tensor x = at::randn({256, 10'000});
    row.measure([&] { use(at::topk(x, 10)); });
  });
  runner.row("sort", [](Row& row) {
    const c10::InferenceMode guard;
    const at::Tensor x = at::randn({256, 10'000});
    row.measure([&] { use(at::sort(x, /*stable=*/true, -1, false)); });
  });
}

}  // namespace bench::peers
