#include "graph/plan/plan.h"

#include <algorithm>
#include <map>

#include "graph/plan/greedy.h"
#include "graph/plan/search.h"

namespace tenure::plan {
namespace {

std::int64_t most_alive(std::span<const Buffer> buffers) {
  std::map<std::int64_t, std::int64_t> changes;
  for (const Buffer& buffer : buffers) {
    if (buffer.lower >= buffer.upper) continue;
    changes[buffer.lower] += buffer.size;
    changes[buffer.upper] -= buffer.size;
  }
  std::int64_t alive = 0, most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, alive += change);
  return most;
}

}  // namespace

Plan make_plan(std::span<const Buffer> buffers, const Options& options) {
  const auto deadline = std::chrono::steady_clock::now() + options.budget;
  // Sizes in units of the alignment, so that every offset is a multiple of it.
  std::vector<Buffer> units(buffers.begin(), buffers.end());
  for (Buffer& buffer : units) {
    buffer.size = (buffer.size + options.alignment - 1) / options.alignment;
  }
  Plan plan;
  const std::int64_t bound = most_alive(units);
  const std::int64_t goal = std::max(bound, options.capacity / options.alignment);
  plan.offsets = place_greedily(units, goal);
  std::int64_t height = height_of(units, plan.offsets);
  if (height > goal && options.budget.count() > 0 && units.size() <= kManyBuffers) {
    std::vector<std::int64_t> offsets;
    if (search(units, goal, deadline, offsets) == Found::plan) plan.offsets = std::move(offsets);
    height = height_of(units, plan.offsets);
  }
  for (std::int64_t& offset : plan.offsets) offset *= options.alignment;
  plan.height = height * options.alignment;
  plan.lower_bound = bound * options.alignment;
  return plan;
}

}  // namespace tenure::plan
