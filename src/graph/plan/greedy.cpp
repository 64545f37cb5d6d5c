#include "graph/plan/greedy.h"

#include <algorithm>
#include <numeric>

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

}  // namespace

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
  const auto consider = [&](std::span<const std::size_t> order) {
    std::vector<std::int64_t> offsets = place_in_order(buffers, order);
    const std::int64_t height = height_of(buffers, offsets);
    if (height < lowest) {
      lowest = height;
      best = std::move(offsets);
    }
    return lowest <= enough;
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
