#include "memory/pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

#include "memory/sanitizer.h"

namespace tenure::detail {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// `bytes` at an address that is a multiple of `alignment`.
std::byte* map_aligned(std::size_t bytes, std::size_t alignment, int flags) noexcept {
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
  // A hole may be one mapping more than the system allows; then only the addresses stay taken.
  if (munmap(base, bytes) != 0) empty_pages(base, bytes);
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
  madvise(base, bytes, MADV_DONTNEED);
}

std::byte* map_objects(std::size_t bytes) {
  if (no_object_pages.load(std::memory_order_relaxed)) throw std::bad_alloc();
  std::byte* base = map_aligned(bytes, bytes, MAP_NORESERVE);
  if (base == nullptr) throw std::bad_alloc();
  LSAN_REGISTER_ROOT_REGION(base, bytes);
  return base;
}

}  // namespace tenure::detail
