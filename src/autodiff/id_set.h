// A set of value ids: open addressing, no allocation per member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenure::detail {

class IdSet {
 public:
  bool empty() const { return size_ == 0; }
  bool contains(std::uint64_t id) const {
    return !slots_.empty() && slots_[find(slots_, id)] == id;
  }
  void insert(std::uint64_t id) {
    if ((size_ + 1) * 2 > slots_.size()) grow();
    std::uint64_t& slot = slots_[find(slots_, id)];
    if (slot == id) return;
    slot = id;
    ++size_;
  }
  void clear() {
    slots_.clear();
    size_ = 0;
  }

 private:
  // Ids are handed out in order and are never 0, which marks a free slot.
  static std::size_t find(const std::vector<std::uint64_t>& slots, std::uint64_t id) {
    const std::size_t mask = slots.size() - 1;
    std::size_t at = (id * 0x9E3779B97F4A7C15u >> 32) & mask;
    while (slots[at] != 0 && slots[at] != id) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<std::uint64_t> larger(slots_.empty() ? 64 : slots_.size() * 2);
    for (const std::uint64_t id : slots_) {
      if (id != 0) larger[find(larger, id)] = id;
    }
    slots_.swap(larger);
  }

  std::vector<std::uint64_t> slots_;
  std::size_t size_ = 0;
};

}  // namespace tenure::detail
