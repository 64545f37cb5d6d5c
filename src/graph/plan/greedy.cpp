#include "graph/plan/greedy.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace tenure::plan {
namespace {

std::int64_t length(const Buffer& buffer) { return buffer.upper - buffer.lower; }
std::int64_t area(const Buffer& buffer) { return length(buffer) * buffer.size; }
// Between area and length.
double weight(const Buffer& buffer) {
  return static_cast<double>(area(buffer)) * static_cast<double>(length(buffer));
}

bool overlap(const Buffer& a, const Buffer& b) { return a.lower < b.upper && b.lower < a.upper; }

template <class Key>
std::vector<std::size_t> ordered_by(std::span<const Buffer> buffers, Key&& key) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return key(buffers[i]); });
  return order;
}

// The gaps below the top of what is alive: by offset, to join them, and by size, to choose.
class Gaps {
 public:
  std::int64_t take(std::int64_t size) {
    const auto fits = by_size_.lower_bound({size, 0});
    if (fits == by_size_.end()) return grow(size);
    const auto [length, offset] = *fits;
    remove(offset, length);
    if (length > size) add(offset + size, length - size);
    return offset;
  }
  void give_back(std::int64_t offset, std::int64_t size) {
    auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.end() && next->first == offset + size) {
      size += next->second;
      remove(next->first, next->second);
      next = by_offset_.lower_bound(offset);
    }
    if (next != by_offset_.begin()) {
      const auto before = *std::prev(next);
      if (before.first + before.second == offset) {
        offset = before.first;
        size += before.second;
        remove(before.first, before.second);
      }
    }
    add(offset, size);
  }

 private:
  // At the top, where a gap may already begin.
  std::int64_t grow(std::int64_t size) {
    std::int64_t offset = top_;
    if (!by_offset_.empty()) {
      const auto last = *by_offset_.rbegin();
      if (last.first + last.second == top_) {
        offset = last.first;
        remove(last.first, last.second);
      }
    }
    top_ = offset + size;
    return offset;
  }
  void add(std::int64_t offset, std::int64_t size) {
    by_offset_.emplace(offset, size);
    by_size_.emplace(size, offset);
  }
  void remove(std::int64_t offset, std::int64_t size) {
    by_offset_.erase(offset);
    by_size_.erase({size, offset});
  }

  std::int64_t top_ = 0;
  std::map<std::int64_t, std::int64_t> by_offset_;
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;
};

}  // namespace

std::vector<std::int64_t> place_by_time(std::span<const Buffer> buffers, Direction direction) {
  const bool forwards = direction == Direction::forwards;
  const auto begin_of = [&](const Buffer& b) { return forwards ? b.lower : -b.upper; };
  const auto end_of = [&](const Buffer& b) { return forwards ? b.upper : -b.lower; };
  const auto by_begin = ordered_by(buffers, [&](const Buffer& b) {
    return std::pair{begin_of(b), -b.size};  // the largest first
  });
  const auto by_end = ordered_by(buffers, end_of);
  std::vector<std::int64_t> offsets(buffers.size(), 0);
  Gaps gaps;
  auto ended = by_end.begin();
  for (const std::size_t i : by_begin) {
    if (buffers[i].size == 0 || buffers[i].lower >= buffers[i].upper) continue;
    for (; ended != by_end.end() && end_of(buffers[*ended]) <= begin_of(buffers[i]); ++ended) {
      const Buffer& buffer = buffers[*ended];
      if (buffer.size == 0 || buffer.lower >= buffer.upper) continue;
      gaps.give_back(offsets[*ended], buffer.size);
    }
    offsets[i] = gaps.take(buffers[i].size);
  }
  return offsets;
}

std::int64_t height_of(std::span<const Buffer> buffers, std::span<const std::int64_t> offsets) {
  std::int64_t height = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    height = std::max(height, offsets[i] + buffers[i].size);
  }
  return height;
}

std::vector<std::int64_t> place_in_order(std::span<const Buffer> buffers,
                                         std::span<const std::size_t> order) {
  std::vector<std::int64_t> offsets(buffers.size(), 0);
  std::vector<std::size_t> placed;  // by offset
  placed.reserve(order.size());
  for (const std::size_t i : order) {
    std::int64_t offset = 0;
    for (const std::size_t other : placed) {
      if (!overlap(buffers[i], buffers[other])) continue;
      if (offsets[other] >= offset + buffers[i].size) break;  // the gap below it is large enough
      offset = std::max(offset, offsets[other] + buffers[other].size);
    }
    offsets[i] = offset;
    const auto place = std::ranges::upper_bound(placed, offset, {},
                                                [&](std::size_t other) { return offsets[other]; });
    placed.insert(place, i);
  }
  return offsets;
}

std::vector<std::int64_t> place_greedily(std::span<const Buffer> buffers, std::int64_t enough) {
  std::vector<std::int64_t> best;
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
  const auto keep = [&](std::vector<std::int64_t> offsets) {
    const std::int64_t height = height_of(buffers, offsets);
    if (height < lowest) {
      lowest = height;
      best = std::move(offsets);
    }
    return lowest <= enough;
  };
  if (buffers.size() > kManyBuffers) {
    if (!keep(place_by_time(buffers, Direction::forwards))) {
      keep(place_by_time(buffers, Direction::backwards));
    }
    return best;
  }
  const auto consider = [&](std::span<const std::size_t> order) {
    return keep(place_in_order(buffers, order));
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  using Weighed = std::pair<double, std::int64_t>;
  if (consider(ordered_by(buffers, [](const Buffer& b) { return Pair{-b.size, b.lower}; })) ||
      consider(ordered_by(buffers, [](const Buffer& b) { return Pair{-area(b), b.lower}; })) ||
      consider(ordered_by(buffers, [](const Buffer& b) { return Weighed{-weight(b), b.lower}; })) ||
      consider(ordered_by(buffers, [](const Buffer& b) { return Pair{-length(b), -b.size}; })) ||
      consider(ordered_by(buffers, [](const Buffer& b) { return Pair{b.lower, -b.size}; })) ||
      consider(ordered_by(buffers, [](const Buffer& b) { return Pair{-b.upper, -b.size}; }))) {
    return best;
  }
  return best;
}

}  // namespace tenure::plan
