#include "report/activity.h"

#include <algorithm>
#include <unordered_map>

namespace tenure::report {

Activity::Activity(const Run& run) : rounds_(run.tensors.size()) {
  ticks_.reserve(run.tensors.size() + run.ops.size());
  struct Place {
    std::uint32_t site = kNone;
    std::uint32_t round = 0;
  };
  std::unordered_map<std::uint32_t, Place> threads;
  const auto visit = [&](std::uint32_t thread, std::uint32_t site) {
    Place& place = threads[thread];
    if (site != kNone && site != place.site) {
      place.site = site;
      ++place.round;
    }
    return place.round;
  };
  // Both are in order of time; what an operation gives is born when it ends.
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < run.tensors.size(); ++i) {
    const TensorLife& tensor = run.tensors[i];
    for (; next < run.ops.size() && run.ops[next].begin <= tensor.born; ++next) {
      visit(run.ops[next].thread, run.ops[next].site);
      ticks_.push_back(run.ops[next].begin);
    }
    rounds_[i] = visit(tensor.thread, tensor.birth_site);
    if (!tensor.before) ticks_.push_back(tensor.born);
  }
  for (; next < run.ops.size(); ++next) ticks_.push_back(run.ops[next].begin);
  std::ranges::sort(ticks_);
}

std::uint64_t Activity::at(std::int64_t time) const {
  return static_cast<std::uint64_t>(std::ranges::upper_bound(ticks_, time) - ticks_.begin());
}

}  // namespace tenure::report
