// What does a whole training step cost, traced? And how close does the plan of its memory come to
// the least there is?
#include <algorithm>
#include <limits>
#include <string>

#include "models/cnn.h"
#include "models/mlp.h"
#include "models/recurrent.h"
#include "models/transformer.h"
#include "rows.h"

namespace bench {

using namespace tenure;

namespace {

template <class Model>
struct Traced {
  models::Training<Model> training;
  Function<Tensor(Tensor, Tensor)> step = training.traced();
  models::Batch batch = training.model().random_batch();

  void operator()() const { use(step(batch.x, batch.y)); }
};

Row::Figures figures_of_plan(const auto& make) {
  TraceInfo trace;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    const auto traced = make();
    (*traced)();
    trace = traced->step.traces().front();
    best = std::min(best, trace.plan_us);
  }
  return {{"plan_us", best},
          {"arena_bytes", static_cast<double>(trace.arena_bytes)},
          {"bound_bytes", static_cast<double>(trace.bound_bytes)}};
}

template <class Model>
void rows_of(Runner& runner, const std::string& name) {
  const auto make = [] { return std::make_unique<Traced<Model>>(); };
  runner.row(name + "_train", [&](Row& row) { row.measure(*make()); });
  runner.row("plan_" + name, [&](Row& row) {
    row.report([&] { return figures_of_plan(make); });
    row.count(*make());
  });
}

}  // namespace

void training(Runner& runner) {
  rows_of<models::Mlp>(runner, "mlp");
  rows_of<models::Rnn>(runner, "rnn");
  rows_of<models::Lstm>(runner, "lstm");
  rows_of<models::Cnn>(runner, "cnn");
  rows_of<models::Transformer>(runner, "transformer");
  runner.row("recording_cost_mlp_train",
             [](Row& row) { row.measure(*std::make_unique<Traced<models::Mlp>>()); });
  runner.row("steady_allocs",
             [](Row& row) { row.count(*std::make_unique<Traced<models::Mlp>>()); });
}

}  // namespace bench
