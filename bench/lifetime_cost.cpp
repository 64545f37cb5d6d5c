// What do lifetimes cost? The same rows against a library built without records, scopes, counters
// and holders: one operation, and a training step in which they should drown. And what does a
// recording cost, that `run` turns on and off by the environment?
#include "models/mlp.h"
#include "rows.h"
#include "tenure/tenure.h"

namespace bench {

using namespace tenure;

void lifetime_cost(Runner& runner) {
  runner.row("lifetime_cost_op", [](Row& row) {
    const Tensor a = tensor({1.0F});
    const Tensor b = tensor({2.0F});
    row.measure([&] { use(a + b); });
  });
  for (const char* name : {"lifetime_cost_mlp", "recording_cost_mlp"}) {
    runner.row(name, [](Row& row) {
      models::Training<models::Mlp> training;
      const auto [x, y] = training.model().random_batch();
      row.measure([&] { tidy("step", [&] { training.step(x, y); }); });
    });
  }
}

}  // namespace bench
