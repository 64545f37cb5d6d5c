#include "report/holdings.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace tenure::report {
namespace {

// One storage at a moment.
struct Hold {
  std::uint64_t seen = 0;  // bytes of ours, which may overlap
  std::uint32_t ours = 0;
  std::uint32_t others = 0;

  void change(bool is_ours, bool is_death, std::uint64_t nbytes) {
    std::uint32_t& holders = is_ours ? ours : others;
    is_death ? --holders : ++holders;
    if (is_ours) seen = is_death ? seen - nbytes : seen + nbytes;
  }
  std::uint64_t bytes(std::uint64_t whole) const {
    if (ours == 0) return 0;
    return others == 0 ? whole : std::min(seen, whole);
  }
};

}  // namespace

Holdings::Holdings(const Run& run) : run_(run), first_(run.storages.size() + 1) {
  for (const TensorLife& life : run.tensors) {
    if (life.storage < run.storages.size()) ++first_[life.storage + 1];
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  holders_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for (std::uint32_t i = 0; i < run.tensors.size(); ++i) {
    const std::uint32_t storage = run.tensors[i].storage;
    if (storage < run.storages.size()) holders_[next[storage]++] = i;
  }
}

std::span<const std::uint32_t> Holdings::of(std::uint32_t storage) const {
  return std::span(holders_).subspan(first_[storage], first_[storage + 1] - first_[storage]);
}

std::vector<HolderChange> Holdings::changes(const std::vector<std::uint32_t>& storages) const {
  std::vector<HolderChange> changes;
  for (const std::uint32_t storage : storages) {
    for (const std::uint32_t holder : of(storage)) {
      const TensorLife& life = run_.tensors[holder];
      changes.push_back({life.born, false, holder});
      if (life.died != kNever) changes.push_back({life.died, true, holder});
    }
  }
  std::ranges::stable_sort(changes, {}, [](const HolderChange& change) {
    return std::tuple(change.time, change.is_death);
  });
  return changes;
}

std::uint64_t Holdings::most_held(const Tensors& tensors) const {
  const std::unordered_set<std::uint32_t> ours(tensors.begin(), tensors.end());
  std::unordered_map<std::uint32_t, Hold> holds;
  std::vector<std::uint32_t> storages;
  for (const std::uint32_t tensor : tensors) {
    const std::uint32_t storage = run_.tensors[tensor].storage;
    if (storage < run_.storages.size() && holds.try_emplace(storage).second)
      storages.push_back(storage);
  }
  std::uint64_t now = 0, most = 0;
  for (const HolderChange& change : changes(storages)) {
    const TensorLife& life = run_.tensors[change.tensor];
    const std::uint64_t whole = run_.storages[life.storage].nbytes;
    Hold& hold = holds[life.storage];
    now -= hold.bytes(whole);
    hold.change(ours.contains(change.tensor), change.is_death, life.nbytes);
    now += hold.bytes(whole);
    most = std::max(most, now);
  }
  return most;
}

}  // namespace tenure::report
