#include "memory/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

#include "memory/sanitizer.h"

namespace tenure::detail {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// The system gives and takes pages of its own size: on some arm64 64 KiB, many of kPage.
std::size_t system_page() noexcept { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

std::size_t to_page_end(std::uintptr_t address) noexcept { return -address % system_page(); }

struct WholePages {
  std::byte* base;
  std::size_t bytes;
};

// The system's pages that lie in a range whole. What the range has of others is zeroed here: asked
// for a part of a page, the system takes all of it.
WholePages whole_pages_in(std::byte* base, std::size_t bytes) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  const std::size_t front = std::min(bytes, to_page_end(address));
  const std::size_t back = (bytes - front) % system_page();
  std::memset(base, 0, front);
  std::memset(base + bytes - back, 0, back);
  return {base + front, bytes - front - back};
}

// `bytes` at an address that is a multiple of `alignment`.
std::byte* map_aligned(std::size_t bytes, std::size_t alignment, int flags) noexcept {
  bytes += to_page_end(bytes);
  const std::size_t padded = bytes + alignment;
  void* raw =
      mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* base = static_cast<std::byte*>(raw);
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  const std::size_t front = (alignment - address % alignment) % alignment;
  if (front != 0) munmap(base, front);
  const std::size_t tail = padded - bytes - front;
  if (tail != 0) munmap(base + front + bytes, tail);
  return base + front;
}

}  // namespace

std::byte* map_pages(std::size_t bytes) noexcept {
  if (bytes >= kHugePage) {
    std::byte* base = map_aligned(bytes, kHugePage, 0);
    if (base != nullptr) madvise(base, bytes, MADV_HUGEPAGE);
    return base;
  }
  void* raw = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return raw == MAP_FAILED ? nullptr : static_cast<std::byte*>(raw);
}

void unmap_pages(std::byte* base, std::size_t bytes) noexcept {
  // Nothing else is mapped after it on its last page.
  bytes += to_page_end(reinterpret_cast<std::uintptr_t>(base) + bytes);
  const WholePages pages = whole_pages_in(base, bytes);
  if (pages.bytes == 0) return;
  // A hole may be one mapping more than the system allows; then only the addresses stay taken.
  if (munmap(pages.base, pages.bytes) != 0) empty_pages(pages.base, pages.bytes);
}

std::byte* resize_pages(std::byte* base, std::size_t from, std::size_t to) noexcept {
  if (to <= from) {
    if (to < from) unmap_pages(base + to, from - to);
    return base;
  }
  // Both at huge pages, so that such pages move whole.
  std::byte* target = map_pages(to);
  if (target == nullptr) return nullptr;
  if (mremap(base, from, to, MREMAP_MAYMOVE | MREMAP_FIXED, target) == MAP_FAILED) {
    unmap_pages(target, to);
    return nullptr;
  }
  if (to >= kHugePage) madvise(target, to, MADV_HUGEPAGE);
  return target;
}

void empty_pages(std::byte* base, std::size_t bytes) noexcept {
  const WholePages pages = whole_pages_in(base, bytes);
  if (pages.bytes != 0) madvise(pages.base, pages.bytes, MADV_DONTNEED);
}

std::byte* map_objects(std::size_t bytes) {
  if (no_object_pages.load(std::memory_order_relaxed)) throw std::bad_alloc();
  std::byte* base = map_aligned(bytes, bytes, MAP_NORESERVE);
  if (base == nullptr) throw std::bad_alloc();
  LSAN_REGISTER_ROOT_REGION(base, bytes);
  return base;
}

}  // namespace tenure::detail
