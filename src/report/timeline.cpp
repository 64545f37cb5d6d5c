#include "report/timeline.h"

#include <algorithm>
#include <numeric>

namespace tenure::report {
namespace {

struct ByteChange {
  std::int64_t time;
  std::int64_t bytes;
  Category category;
};

std::vector<ByteChange> changes_of(const Run& run) {
  std::vector<ByteChange> changes;
  changes.reserve(2 * run.storages.size());
  for (const StorageLife& storage : run.storages) {
    const auto bytes = static_cast<std::int64_t>(storage.nbytes);
    if (bytes == 0) continue;
    Category now = storage.categories.empty() ? Category::other : storage.categories[0].category;
    changes.push_back({storage.born, bytes, now});
    for (std::size_t i = 1; i < storage.categories.size(); ++i) {
      const auto& [time, next] = storage.categories[i];
      if (storage.freed != kNever && time >= storage.freed) break;
      changes.push_back({time, -bytes, now});
      changes.push_back({time, bytes, next});
      now = next;
    }
    if (storage.freed != kNever) changes.push_back({storage.freed, -bytes, now});
  }
  // What is freed at a time makes room for what is made at it.
  std::ranges::stable_sort(changes, [](const ByteChange& a, const ByteChange& b) {
    return a.time != b.time ? a.time < b.time : a.bytes < b.bytes;
  });
  return changes;
}

}  // namespace

std::uint64_t sum(const CategoryBytes& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

Timeline::Timeline(const Run& run) : length_(run.length) {
  Moment now;
  std::uint64_t most = 0;
  for (const ByteChange& change : changes_of(run)) {
    if (moments_.empty() || change.time != now.time) moments_.push_back({change.time, now.live});
    now.time = change.time;
    now.live[static_cast<std::size_t>(change.category)] += static_cast<std::uint64_t>(change.bytes);
    moments_.back().live = now.live;
  }
  for (const Moment& moment : moments_) {
    if (sum(moment.live) <= most) continue;
    most = sum(moment.live);
    peak_ = moment;
  }
}

Moment Timeline::end() const {
  return {length_, moments_.empty() ? CategoryBytes{} : moments_.back().live};
}

Moment Timeline::at(std::int64_t time) const {
  const auto after = std::ranges::upper_bound(moments_, time, {}, &Moment::time);
  if (after == moments_.begin()) return {time, {}};
  return {time, std::prev(after)->live};
}

std::vector<Moment> Timeline::parts(std::size_t count) const {
  std::vector<Moment> parts;
  auto next = moments_.begin();
  CategoryBytes level{};
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = static_cast<std::int64_t>(
        static_cast<double>(length_) * static_cast<double>(i) / static_cast<double>(count));
    const auto end = i + 1 == count ? length_ + 1
                                    : static_cast<std::int64_t>(static_cast<double>(length_) *
                                                                static_cast<double>(i + 1) /
                                                                static_cast<double>(count));
    Moment most{begin, level};
    for (; next != moments_.end() && next->time < end; ++next) {
      level = next->live;
      if (sum(level) > sum(most.live) || next->time <= begin) most = *next;
    }
    parts.push_back(most);
  }
  return parts;
}

}  // namespace tenure::report
