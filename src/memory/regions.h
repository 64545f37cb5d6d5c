// Runs of pages for a pool's small spans, carved out of regions of 1 MiB.
//
// A span of a few pages cannot be mapped and unmapped by itself: each hole among its neighbours
// would be a mapping more, and the system allows some 65,000. A run that is given back loses its
// memory at once and its addresses wait here for the next; a region without any run is unmapped.
//
// Not for several threads at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "memory/intrusive_list.h"
#include "memory/pages.h"

namespace tenure::detail {

// Where a pool takes whole pages from.
struct MemorySource {
  std::byte* (*map)(std::size_t bytes) noexcept;  // nullptr when there is none to be had
  void (*unmap)(std::byte* base, std::size_t bytes) noexcept;
  // What was mapped, or its first pages and more, with their memory where it can be: maybe at
  // another address. nullptr, and nothing has changed, when it cannot be done.
  std::byte* (*resize)(std::byte* base, std::size_t from, std::size_t to) noexcept;
  // Takes the memory of pages and leaves their addresses mapped.
  void (*empty)(std::byte* base, std::size_t bytes) noexcept;
};

struct Region {
  static constexpr std::uint32_t kPages = 256;
  static constexpr std::size_t kBytes = kPages * kPage;

  std::byte* base = nullptr;
  std::array<std::uint64_t, kPages / 64> used{};  // a bit for each page
  std::uint32_t used_pages = 0;
  std::uint32_t longest = kPages;  // no free run is longer
  Region* previous = nullptr;
  Region* next = nullptr;
};

class Regions {
 public:
  explicit Regions(MemorySource source) : source_(source) {}

  struct Run {
    std::byte* base = nullptr;  // null: there is no memory
    Region* region = nullptr;
  };
  Run take(std::uint32_t pages);
  void give_back(Run run, std::uint32_t pages) noexcept;

 private:
  MemorySource source_;
  IntrusiveList<Region> open_;  // those with a free page
};

}  // namespace tenure::detail
