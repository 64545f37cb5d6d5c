// Depth-first over *canonical* plans. Pushing every buffer of a plan down until it rests on the
// ground or on another gives a plan that is no higher; taking its buffers by rising offset, each
// one's offset is the height of what lies below it. So it is enough to choose, again and again,
// which buffer comes next, and its offset follows. Among buffers with one offset (which cannot
// overlap) the search's own order decides, so each canonical plan is met once.
//
// Time is cut into sections at every start and end of a lifetime. A section has a `floor` (the top
// of what lies in it) and a `rest` (the bytes still to come). What cuts the tree down:
// - a section whose rest does not fit between the lowest place its buffers can still have and the
//   capacity;
// - a buffer that would fit as a whole below the next one: the canonical plan takes it first;
// - what is left often falls apart in time: the parts are searched one by one, and when one has no
//   plan the others need not be looked at.
//
// How fast a plan is found depends on the order in which buffers are tried, and no order is good
// for all problems. So the search runs with several orders in turn, each for a number of nodes that
// grows from round to round; one that exhausts its tree without a plan proves that there is none.
#include "graph/plan/search.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

namespace tenure::plan {
namespace {

using Clock = std::chrono::steady_clock;

struct Item {
  std::int64_t size;
  int first;  // sections [first, last)
  int last;
  std::size_t buffer;
};

// A problem in sections, with its items in the order they are tried.
class Search {
 public:
  Search(std::vector<Item> items, int sections, std::int64_t capacity)
      : capacity_(capacity),
        items_(std::move(items)),
        offsets_(items_.size(), 0),
        lowest_(items_.size(), 0),
        floor_(static_cast<std::size_t>(sections), 0),
        rest_(static_cast<std::size_t>(sections), 0),
        first_place_(static_cast<std::size_t>(sections), 0),
        levels_(items_.size() + 1) {
    for (const Item& item : items_) {
      for (int s = item.first; s < item.last; ++s) rest_[index(s)] += item.size;
    }
  }

  Found run(std::int64_t nodes, Clock::time_point deadline) {
    nodes_left_ = nodes;
    deadline_ = deadline;
    stopped_ = false;
    std::vector<int> all(items_.size());
    std::iota(all.begin(), all.end(), 0);
    std::ranges::stable_sort(all, {}, [&](int i) { return items_[index(i)].first; });
    if (solve_parts(all, {0, -1}, 0)) return Found::plan;
    return stopped_ ? Found::out_of_time : Found::none;
  }

  std::int64_t offset(std::size_t item) const { return offsets_[item]; }
  const std::vector<Item>& items() const { return items_; }
  bool past_deadline() const { return past_deadline_; }

 private:
  // The buffer placed last: those to come lie higher, or as high and later in the order.
  struct Last {
    std::int64_t offset;
    int item;
  };

  // What one level of the search remembers while it tries its candidates.
  struct Level {
    std::vector<int> candidates;
    std::vector<int> rest;
    std::vector<std::int64_t> lowest;  // of the candidates
    std::vector<std::int64_t> floors;
    std::vector<std::int64_t> rests;
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  // `ids` by first section. Each group that no lifetime links to the others is searched alone.
  bool solve_parts(std::span<const int> ids, Last last, std::size_t depth) {
    std::size_t begin = 0;
    while (begin < ids.size()) {
      int reach = items_[index(ids[begin])].last;
      std::size_t end = begin + 1;
      while (end < ids.size() && items_[index(ids[end])].first < reach) {
        reach = std::max(reach, items_[index(ids[end])].last);
        ++end;
      }
      if (!solve(ids.subspan(begin, end - begin), reach, last, depth)) return false;
      begin = end;
    }
    return true;
  }

  bool solve(std::span<const int> ids, int reach, Last last, std::size_t depth) {
    --nodes_left_;
    if (nodes_left_ < 0 || is_late()) {
      stopped_ = true;
      return false;
    }
    const int begin = items_[index(ids[0])].first;
    std::int64_t lowest_top = std::numeric_limits<std::int64_t>::max();
    if (!can_fit(ids, begin, reach, last, lowest_top)) return false;
    Level& level = levels_[depth];
    level.candidates.clear();
    for (const int id : ids) {
      const std::int64_t lowest = lowest_[index(id)];
      const bool in_turn = lowest > last.offset || (lowest == last.offset && id > last.item);
      if (in_turn && lowest < lowest_top) level.candidates.push_back(id);
    }
    std::ranges::sort(level.candidates, {},
                      [&](int id) { return std::pair(lowest_[index(id)], id); });
    level.lowest.clear();
    for (const int id : level.candidates) level.lowest.push_back(lowest_[index(id)]);
    level.floors.assign(floor_.begin() + begin, floor_.begin() + reach);
    level.rests.assign(rest_.begin() + begin, rest_.begin() + reach);
    for (std::size_t c = 0; c < level.candidates.size(); ++c) {
      if (twin_tried(level.candidates, c)) continue;
      const int id = level.candidates[c];
      const Item& item = items_[index(id)];
      const std::int64_t offset = level.lowest[c];
      offsets_[index(id)] = offset;
      for (int s = item.first; s < item.last; ++s) {
        floor_[index(s)] = offset + item.size;
        rest_[index(s)] -= item.size;
      }
      level.rest.clear();
      for (const int other : ids) {
        if (other != id) level.rest.push_back(other);
      }
      if (solve_parts(level.rest, {offset, id}, depth + 1)) return true;
      if (stopped_) return false;
      std::ranges::copy(level.floors, floor_.begin() + begin);
      std::ranges::copy(level.rests, rest_.begin() + begin);
    }
    return false;
  }

  // Finds where each buffer could lie now, and the lowest top that gives; false when no canonical
  // plan continues from here.
  bool can_fit(std::span<const int> ids, int begin, int reach, Last last,
               std::int64_t& lowest_top) {
    for (int s = begin; s < reach; ++s) first_place_[index(s)] = capacity_ + 1;
    for (const int id : ids) {
      const Item& item = items_[index(id)];
      const auto from = floor_.begin() + item.first, to = floor_.begin() + item.last;
      const std::int64_t lowest = *std::max_element(from, to);
      lowest_[index(id)] = lowest;
      lowest_top = std::min(lowest_top, lowest + item.size);
      // Not lower than the last; and above it, if it would have come before the last.
      std::int64_t place = std::max(lowest, last.offset);
      if (place == last.offset && id < last.item) ++place;
      for (int s = item.first; s < item.last; ++s) {
        first_place_[index(s)] = std::min(first_place_[index(s)], place);
      }
      work_ += item.last - item.first;
    }
    if (lowest_top <= last.offset) return false;
    for (int s = begin; s < reach; ++s) {
      const std::int64_t rest = rest_[index(s)];
      if (rest != 0 && first_place_[index(s)] + rest > capacity_) return false;
    }
    return true;
  }

  // A buffer like one that was tried here gives the same tree again.
  bool twin_tried(std::span<const int> candidates, std::size_t c) const {
    const Item& item = items_[index(candidates[c])];
    for (std::size_t i = 0; i < c; ++i) {
      const Item& other = items_[index(candidates[i])];
      if (other.size == item.size && other.first == item.first && other.last == item.last) {
        return true;
      }
    }
    return false;
  }

  // Looks at the clock after so much work, not after so many nodes: those of a large problem take
  // a thousand times as long as a small one's.
  bool is_late() {
    constexpr std::int64_t kWorkUnseen = 1 << 16;
    if (work_ < kWorkUnseen) return false;
    work_ = 0;
    return past_deadline_ = Clock::now() > deadline_;
  }

  std::int64_t capacity_;
  std::vector<Item> items_;
  std::vector<std::int64_t> offsets_;
  std::vector<std::int64_t> lowest_;  // where each item can lie now
  std::vector<std::int64_t> floor_;
  std::vector<std::int64_t> rest_;
  std::vector<std::int64_t> first_place_;  // per section: the lowest place of what is to come
  std::vector<Level> levels_;
  std::int64_t nodes_left_ = 0;
  std::int64_t work_ = 0;  // since the clock was looked at: sections of items
  Clock::time_point deadline_;
  bool stopped_ = false;
  bool past_deadline_ = false;
};

// The lifetimes as ranges of sections.
std::vector<Item> in_sections(std::span<const Buffer> buffers, int& sections) {
  std::vector<std::int64_t> times;
  for (const Buffer& buffer : buffers) {
    times.push_back(buffer.lower);
    times.push_back(buffer.upper);
  }
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  const auto section = [&](std::int64_t time) {
    return static_cast<int>(std::ranges::lower_bound(times, time) - times.begin());
  };
  std::vector<Item> items;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].size == 0 || buffers[i].lower >= buffers[i].upper) continue;
    items.push_back({buffers[i].size, section(buffers[i].lower), section(buffers[i].upper), i});
  }
  sections = static_cast<int>(times.size());
  return items;
}

// What an order puts first: long lifetimes, large areas, crowded times, large sizes.
using Keys = std::array<double, 4>;
constexpr std::array<std::array<int, 3>, 5> kOrders{
    {{0, 1, 2}, {2, 1, 0}, {2, 0, 1}, {1, 2, 0}, {3, 0, 1}}};

std::vector<Keys> keys_of(std::span<const Item> items, std::span<const Buffer> buffers,
                          int sections) {
  std::vector<std::int64_t> load(static_cast<std::size_t>(sections), 0);
  for (const Item& item : items) {
    for (int s = item.first; s < item.last; ++s) load[static_cast<std::size_t>(s)] += item.size;
  }
  std::vector<Keys> keys;
  for (const Item& item : items) {
    const Buffer& buffer = buffers[item.buffer];
    const auto length = static_cast<double>(buffer.upper - buffer.lower);
    const auto crowd = *std::max_element(load.begin() + item.first, load.begin() + item.last);
    keys.push_back({length, length * static_cast<double>(item.size), static_cast<double>(crowd),
                    static_cast<double>(item.size)});
  }
  return keys;
}

constexpr std::int64_t kNodesAtFirst = 8192;
constexpr std::int64_t kNodes = 512;
constexpr double kShake = 0.1;
constexpr std::uint64_t kSeed = 4;

// 1, 1, 2, 1, 1, 2, 4, 1, ...: many short runs, and now and then a longer one.
std::int64_t luby(std::int64_t i) {
  std::int64_t power = 1;
  while (power - 1 < i) power *= 2;
  return power - 1 == i ? power / 2 : luby(i - power / 2 + 1);
}

}  // namespace

Found search(std::span<const Buffer> buffers, std::int64_t capacity, Clock::time_point deadline,
             std::vector<std::int64_t>& offsets) {
  int sections = 0;
  const std::vector<Item> items = in_sections(buffers, sections);
  const std::vector<Keys> keys = keys_of(items, buffers, sections);
  std::mt19937_64 random(kSeed);
  for (int attempt = 0;; ++attempt) {
    const auto [a, b, c] = kOrders[static_cast<std::size_t>(attempt) % kOrders.size()];
    const int round = attempt / static_cast<int>(kOrders.size());
    // From the second round on the keys are shaken a little, so that no run repeats another.
    std::uniform_real_distribution<double> shake(1, 1 + kShake * std::min(round, 5));
    std::vector<std::array<double, 3>> sort_keys;
    sort_keys.reserve(keys.size());
    for (const Keys& key : keys) {
      sort_keys.push_back({-key[static_cast<std::size_t>(a)] * shake(random),
                           -key[static_cast<std::size_t>(b)], -key[static_cast<std::size_t>(c)]});
    }
    std::vector<std::size_t> order(items.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return sort_keys[i]; });
    std::vector<Item> in_order;
    in_order.reserve(items.size());
    for (const std::size_t i : order) in_order.push_back(items[i]);
    Search run(std::move(in_order), sections, capacity);
    const Found outcome = run.run(round == 0 ? kNodesAtFirst : kNodes * luby(round), deadline);
    if (outcome == Found::plan) {
      offsets.assign(buffers.size(), 0);
      for (std::size_t i = 0; i < items.size(); ++i) offsets[run.items()[i].buffer] = run.offset(i);
    }
    if (outcome != Found::out_of_time || run.past_deadline()) return outcome;
  }
}

}  // namespace tenure::plan
