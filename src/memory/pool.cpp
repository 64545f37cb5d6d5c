#include "memory/pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <mutex>
#include <utility>

#include "memory/events.h"
#include "memory/slab.h"

#if defined(__SANITIZE_ADDRESS__)
#define TENURE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENURE_ASAN 1
#endif
#endif
#if defined(TENURE_ASAN)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace tenure::detail {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kOwnSpan = std::size_t{64} << 10;

std::byte* map_pages(std::size_t bytes) noexcept {
  const bool huge = bytes >= kHugePage;
  const std::size_t padded = huge ? bytes + kHugePage : bytes;
  void* raw = mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* base = static_cast<std::byte*>(raw);
  if (!huge) return base;
  // Align to a huge page and give the padding back.
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  const std::size_t front = (kHugePage - address % kHugePage) % kHugePage;
  if (front != 0) munmap(base, front);
  const std::size_t tail = padded - bytes - front;
  if (tail != 0) munmap(base + front + bytes, tail);
  madvise(base + front, bytes, MADV_HUGEPAGE);
  return base + front;
}

void unmap_pages(std::byte* base, std::size_t bytes) noexcept { munmap(base, bytes); }

std::atomic<std::int64_t> g_fail_at{0};
std::atomic<std::int64_t> g_allocations{0};

bool should_fail() {
  const std::int64_t at = g_fail_at.load(std::memory_order_relaxed);
  if (at == 0) return false;
  return g_allocations.fetch_add(1, std::memory_order_relaxed) + 1 == at;
}

thread_local std::size_t t_given_back = 0;

}  // namespace

std::size_t last_given_back() { return std::exchange(t_given_back, 0); }

void fail_nth_allocation(std::int64_t nth) {
  g_allocations.store(0, std::memory_order_relaxed);
  g_fail_at.store(nth, std::memory_order_relaxed);
}

std::int64_t allocation_count() { return g_allocations.load(std::memory_order_relaxed); }

std::uint16_t Pool::size_class(std::size_t nbytes) {
  if (nbytes <= 64) return 0;
  if (nbytes <= 512) return static_cast<std::uint16_t>((nbytes - 1) / 64);
  const std::size_t last = nbytes - 1;  // so that a power of two closes its doubling
  const int doubling = std::bit_width(last) - 1;
  if (doubling < 20) {
    const auto step = (last >> (doubling - 2)) & 3;
    return static_cast<std::uint16_t>(8 + (doubling - 9) * 4 + static_cast<int>(step));
  }
  const auto step = (last >> (doubling - 3)) & 7;
  return static_cast<std::uint16_t>(52 + (doubling - 20) * 8 + static_cast<int>(step));
}

std::size_t Pool::class_bytes(std::uint16_t size_class) {
  if (size_class < 8) return 64 * (std::size_t{size_class} + 1);
  if (size_class < 52) {
    const int doubling = 9 + (size_class - 8) / 4;
    const int step = (size_class - 8) % 4;
    return static_cast<std::size_t>(5 + step) << (doubling - 2);
  }
  const int doubling = 20 + (size_class - 52) / 8;
  const int step = (size_class - 52) % 8;
  return static_cast<std::size_t>(9 + step) << (doubling - 3);
}

bool Pool::reserve(std::size_t bytes) noexcept {
  const std::size_t limit = budget();
  std::size_t reserved = reserved_.load(std::memory_order_relaxed);
  do {
    if (limit != 0 && (bytes > limit || reserved > limit - bytes)) return false;
  } while (!reserved_.compare_exchange_weak(reserved, reserved + bytes, std::memory_order_relaxed));
  return true;
}

Storage* Pool::pop(Class& list) noexcept {
  Storage* storage = list.head;
  if (storage == nullptr) return nullptr;
  list.head = storage->next_free;
  --list.count;
  --storage->span->free;
  return storage;
}

Storage* Pool::allocate(std::size_t nbytes) {
  if (should_fail()) [[unlikely]]
    return nullptr;
  if (nbytes > std::size_t{1} << 46) return nullptr;
  const std::uint16_t index = size_class(nbytes);
  Class& list = classes_[index];
  list.lock.lock();
  Storage* storage = pop(list);
  list.lock.unlock();
  // Again where other threads took the whole span first, or trimmed it.
  while (storage == nullptr) [[unlikely]] {
    const std::size_t bytes = class_bytes(index);
    const auto usual = static_cast<std::uint32_t>(std::clamp<std::size_t>(kOwnSpan / bytes, 1, 64));
    // A whole span, then with pooled memory given back, then a page's worth.
    const auto least = static_cast<std::uint32_t>(std::max<std::size_t>(kPage / bytes, 1));
    bool grown = grow(index, usual);
    if (!grown) {
      t_given_back = trim();
      grown = grow(index, usual) || (least < usual && grow(index, least));
    }
    if (!grown) return nullptr;
    const std::lock_guard guard(list.lock);
    storage = pop(list);
  }
  storage->nbytes = nbytes;
  ASAN_UNPOISON_MEMORY_REGION(storage->data, nbytes);
  storage->handles.store(1, std::memory_order_release);
  return storage;
}

bool Pool::grow(std::uint16_t index, std::uint32_t blocks) {
  const std::size_t bytes = class_bytes(index);
  const std::size_t total = (bytes * blocks + kPage - 1) / kPage * kPage;
  blocks = static_cast<std::uint32_t>(total / bytes);
  const std::size_t tail_bytes = total - blocks * bytes;
  if (!reserve(total)) return false;
  std::byte* base = source_.map(total);
  if (base == nullptr) {
    reserved_.fetch_sub(total, std::memory_order_relaxed);
    return false;
  }
  Storage* head = nullptr;
  Storage* tail = nullptr;
  try {
    auto span = std::make_unique<Span>(Span{base, total, tail_bytes, blocks, blocks});
    for (std::uint32_t i = 0; i < blocks; ++i) {
      Storage* storage = Slab<Storage>::instance().allocate();
      storage->size_class = index;
      storage->device = device_;
      storage->data = base + i * bytes;
      storage->capacity = bytes;
      storage->span = span.get();
      storage->deleter = nullptr;
      storage->next_free = head;
      head = storage;
      if (tail == nullptr) tail = storage;
    }
    span.release();  // NOLINT(bugprone-unused-return-value): its storages own it from here
  } catch (...) {
    while (head != nullptr) {
      Storage* storage = head;
      head = storage->next_free;
      Slab<Storage>::instance().free(storage);
    }
    source_.unmap(base, total);
    reserved_.fetch_sub(total, std::memory_order_relaxed);
    throw;
  }
  ASAN_POISON_MEMORY_REGION(base, total);
  tail_bytes_.fetch_add(tail_bytes, std::memory_order_relaxed);
  Class& list = classes_[index];
  {
    const std::lock_guard guard(list.lock);
    tail->next_free = list.head;
    list.head = head;
    list.count += blocks;
  }
  tell_size();
  return true;
}

void Pool::free(Storage* storage) noexcept {
  storage->session = nullptr;
  storage->handles.store(0, std::memory_order_release);
  ASAN_POISON_MEMORY_REGION(storage->data, storage->capacity);
  Class& list = classes_[storage->size_class];
  list.lock.lock();
  storage->next_free = list.head;
  list.head = storage;
  ++list.count;
  ++storage->span->free;
  list.lock.unlock();
}

std::size_t Pool::trim() noexcept {
  std::size_t returned = 0;
  for (Class& list : classes_) {
    const std::lock_guard guard(list.lock);
    Storage** link = &list.head;
    while (*link != nullptr) {
      Storage* storage = *link;
      Span* span = storage->span;
      if (span->free != span->blocks) {
        link = &storage->next_free;
        continue;
      }
      // The span shrinks block by block as the walk meets them, and stays wholly free meanwhile.
      *link = storage->next_free;
      --list.count;
      const bool last = --span->blocks == 0;
      span->free = span->blocks;
      storage->span = nullptr;
      Slab<Storage>::instance().free(storage);
      if (last) {
        ASAN_UNPOISON_MEMORY_REGION(span->base, span->bytes);
        source_.unmap(span->base, span->bytes);
        reserved_.fetch_sub(span->bytes, std::memory_order_relaxed);
        tail_bytes_.fetch_sub(span->tail_bytes, std::memory_order_relaxed);
        returned += span->bytes;
        delete span;
      }
    }
  }
  if (returned != 0) tell_size();
  return returned;
}

void Pool::lock() noexcept {
  for (Class& list : classes_) list.lock.lock();
}

void Pool::unlock() noexcept {
  for (Class& list : classes_) list.lock.unlock();
}

void Pool::tell_size() noexcept {
  if (events::on()) events::cold::pool_changed(reserved_bytes(), pooled_bytes());
}

std::size_t Pool::pooled_bytes() noexcept {
  std::size_t bytes = 0;
  for (std::uint16_t index = 0; index < kClasses; ++index) {
    Class& list = classes_[index];
    const std::lock_guard guard(list.lock);
    bytes += list.count * class_bytes(index);
  }
  return bytes;
}

Pool& pool(Device device) {
  static Pool* cpu = new Pool(Device{}, MemorySource{map_pages, unmap_pages});
  (void)device;  // one device so far; a second one gets a pool beside this
  return *cpu;
}

}  // namespace tenure::detail
