#include "report/stayers.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <vector>

namespace tenure::report {
namespace {

constexpr std::size_t kDoubt = 10;     // for each that died, so many lived on: it stays
constexpr std::size_t kLastTurns = 2;  // work with what they leave
constexpr std::size_t kMany = 12;      // births, so that a few left are exceptions

// What a line makes with one operation.
struct Kind {
  Tensors left;                      // alive when the line's last tensor is born
  std::vector<std::uint64_t> lives;  // of those that died before, in ticks
};

std::int64_t death(const TensorLife& life) {
  return life.died == kNever ? std::numeric_limits<std::int64_t>::max() : life.died;
}

class Judge {
 public:
  Judge(const Run& run, const Activity& activity, std::int64_t moment)
      : run_(run), activity_(activity), moment_(moment), now_(activity.at(moment)) {}

  void add(Kind& kind, std::uint32_t tensor) const {
    const TensorLife& life = run_.tensors[tensor];
    if (death(life) > moment_) {
      kind.left.push_back(tensor);
    } else {
      kind.lives.push_back(activity_.at(life.died) - activity_.at(life.born));
    }
  }

  // Those whose like lived on beyond their age. As many as came before them are older.
  Tensors sure(Kind& kind) const {
    std::ranges::sort(kind.lives);
    Tensors sure;
    for (std::size_t older = 0; older < kind.left.size(); ++older) {
      const std::uint64_t age = now_ - activity_.at(run_.tensors[kind.left[older]].born);
      const auto died =
          static_cast<std::size_t>(kind.lives.end() - std::ranges::lower_bound(kind.lives, age));
      if (died * kDoubt <= older) sure.push_back(kind.left[older]);
    }
    return sure;
  }

  // The others that are as old as those, or went no sooner.
  Tensors with_their_like(const Kind& kind, const Tensors& sure) const {
    const auto born = [&](std::uint32_t i) { return run_.tensors[i].born; };
    const std::int64_t middle = born(sure[sure.size() / 2]);
    std::int64_t first_death = std::numeric_limits<std::int64_t>::max();
    for (const std::uint32_t i : sure) first_death = std::min(first_death, death(run_.tensors[i]));
    Tensors all;
    for (const std::uint32_t i : kind.left) {
      const bool is_sure = std::ranges::binary_search(sure, i);
      if (is_sure || born(i) < middle || death(run_.tensors[i]) > first_death) all.push_back(i);
    }
    return all;
  }

 private:
  const Run& run_;
  const Activity& activity_;
  std::int64_t moment_;
  std::uint64_t now_;
};

}  // namespace

Tensors stayers_of(const Run& run, const Activity& activity, const Tensors& tensors,
                   const std::function<std::uint64_t(std::uint32_t)>& turn) {
  if (tensors.empty()) return {};
  const Judge judge(run, activity, run.tensors[tensors.back()].born);
  std::map<std::uint32_t, Kind> kinds;  // by operation
  for (const std::uint32_t i : tensors) judge.add(kinds[run.tensors[i].op], i);
  Tensors stayers;
  for (auto& [op, kind] : kinds) {
    const Tensors sure = judge.sure(kind);
    std::set<std::uint64_t> turns;
    for (const std::uint32_t i : sure) turns.insert(turn(i));
    const bool is_at_work =
        turns.size() <= kLastTurns && kind.left.size() + kind.lives.size() >= kMany;
    if (sure.empty() || is_at_work) continue;
    std::ranges::copy(judge.with_their_like(kind, sure), std::back_inserter(stayers));
  }
  std::ranges::sort(stayers);  // by birth again
  return stayers;
}

}  // namespace tenure::report
