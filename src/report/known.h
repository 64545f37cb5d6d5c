// What an encoder has met before, by a key of 64 bits: an address, or a hash. Open addressing with
// keys beside their values, because every event is looked up, and mostly with cold caches.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace tenure::report {

template <class Value>
class Known {
 public:
  // The value of a key that is not 0; one that is new is made.
  template <class Make>
  const Value& at(std::uint64_t key, Make&& make) {
    const Entry& entry = find(key);
    if (entry.key == key) [[likely]]
      return entry.value;
    return add({key, make()});
  }
  std::size_t size() const { return size_; }

 private:
  struct Entry {
    std::uint64_t key = 0;  // 0: free
    Value value{};
  };

  // Where it is, or the free entry where it belongs.
  Entry& find(std::uint64_t key) {
    for (std::size_t i = key * 0x9e3779b97f4a7c15 >> 32;; ++i) {
      Entry& entry = entries_[i & mask_];
      if (entry.key == key || entry.key == 0) return entry;
    }
  }
  [[gnu::noinline]] const Value& add(Entry fresh) {
    if (2 * ++size_ > mask_) {
      mask_ = 2 * mask_ + 1;
      std::vector<Entry> old = std::exchange(entries_, std::vector<Entry>(mask_ + 1));
      for (Entry& entry : old) {
        if (entry.key != 0) find(entry.key) = std::move(entry);
      }
    }
    return (find(fresh.key) = std::move(fresh)).value;
  }

  std::size_t mask_ = 63;  // one less than there are entries: a power of two
  std::vector<Entry> entries_ = std::vector<Entry>(mask_ + 1);
  std::size_t size_ = 0;
};

}  // namespace tenure::report
