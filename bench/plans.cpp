// How close does the plan of a training step's memory come to the least there is?
#include <algorithm>
#include <limits>
#include <string>

#include "models.h"
#include "nn/model_state.h"
#include "rows.h"

namespace bench {

namespace {

Row::Figures figures_of_plan(models::Trained (*make)()) {
  tenure::TraceInfo trace;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    const models::Trained trained = make().compile();
    trained();
    trace = tenure::nn::detail::ModelAccess::state(trained.model).compiled->train->traces().front();
    best = std::min(best, trace.plan_us);
  }
  return {{"plan_us", best},
          {"arena_bytes", static_cast<double>(trace.arena_bytes)},
          {"bound_bytes", static_cast<double>(trace.bound_bytes)}};
}

}  // namespace

void plans(Runner& runner) {
  for (const auto& [name, make] : models::kAll) {
    runner.row(std::string("plan_") + name, [&](Row& row) {
      row.report([&] { return figures_of_plan(make); });
      row.count(make().compile());
    });
  }
}

}  // namespace bench
