#include "faults.h"

#include <atomic>
#include <cstdlib>
#include <new>

#include "memory/pool.h"

namespace {

std::atomic<long> g_news{0};
std::atomic<long> g_fail_new_at{0};
thread_local bool t_armed = false;

void* allocate(std::size_t size, std::size_t alignment) {
  if (t_armed) {
    const long count = g_news.fetch_add(1) + 1;
    if (count == g_fail_new_at.load()) return nullptr;
  }
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size == 0 ? 1 : size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

}  // namespace

// The compiler pairs new with delete by name and does not see that both are ours.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

void* operator new(std::size_t size) {
  if (void* block = allocate(size, 1)) return block;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  if (void* block = allocate(size, static_cast<std::size_t>(alignment))) return block;
  throw std::bad_alloc();
}
// Whoever asks so can do without: no failure is made of it.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }

namespace tenure::testing {

void fail_nth_new(long n) {
  g_news = 0;
  g_fail_new_at = n;
  t_armed = true;
}

long news() { return g_news; }

void disarm() {
  t_armed = false;
  g_fail_new_at = 0;
  detail::fail_nth_allocation(0);
}

}  // namespace tenure::testing
