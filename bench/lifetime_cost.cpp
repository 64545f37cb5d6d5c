// What do lifetimes cost? The same rows against a library built without records, scopes, counters
// and holders: one operation, and a training step in which they should drown. And what does a
// recording cost, that `run` turns on and off by the environment?
#include "models.h"
#include "rows.h"

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
      const models::Trained mlp = models::mlp().compile(/*eager=*/true);
      row.measure([&] { tidy("step", [&] { mlp(); }); });
    });
  }
}

}  // namespace bench
