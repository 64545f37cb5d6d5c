// What every row allocates. malloc and its kin are replaced for the whole process, libraries
// included (operator new calls malloc), and so is mmap. glibc's own mmap inside malloc is not seen:
// that malloc has been counted.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "memory/ledger.h"
#include "rows.h"
#include "tenure/memory.h"

namespace {

std::atomic<bool> g_counting{false};
std::atomic<std::int64_t> g_allocations{0};
std::size_t g_bytes_before = 0;

void count_allocation() {
  if (g_counting.load(std::memory_order_relaxed)) {
    g_allocations.fetch_add(1, std::memory_order_relaxed);
  }
}

void start() {
  tenure::reset_peak();
  g_bytes_before = tenure::memory().live_bytes;
  tenure::detail::fail_nth_allocation(-1);  // counts, and never comes to the one that fails
  g_allocations = 0;
  g_counting = true;
}

bench::Counts stop() {
  g_counting = false;
  bench::Counts counts;
  counts.allocations = g_allocations;
  counts.pool_requests = tenure::detail::allocation_count();
  counts.peak_bytes = tenure::memory().peak_bytes - g_bytes_before;
  tenure::detail::fail_nth_allocation(0);
  return counts;
}

}  // namespace

#define REPLACED __attribute__((visibility("default")))

extern "C" {

void* __libc_malloc(std::size_t size) noexcept;
void* __libc_calloc(std::size_t count, std::size_t size) noexcept;
void* __libc_realloc(void* old, std::size_t size) noexcept;
void* __libc_memalign(std::size_t alignment, std::size_t size) noexcept;

REPLACED void* malloc(std::size_t size) noexcept {
  count_allocation();
  return __libc_malloc(size);
}

REPLACED void* calloc(std::size_t count, std::size_t size) noexcept {
  count_allocation();
  return __libc_calloc(count, size);
}

REPLACED void* realloc(void* old, std::size_t size) noexcept {
  count_allocation();
  return __libc_realloc(old, size);
}

REPLACED void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  count_allocation();
  return __libc_memalign(alignment, size);
}

REPLACED void* memalign(std::size_t alignment, std::size_t size) noexcept {
  count_allocation();
  return __libc_memalign(alignment, size);
}

REPLACED int posix_memalign(void** result, std::size_t alignment, std::size_t size) noexcept {
  count_allocation();
  *result = __libc_memalign(alignment, size);
  return *result == nullptr && size != 0 ? ENOMEM : 0;
}

REPLACED void* mmap(void* address, std::size_t size, int protection, int flags, int file,
                    off_t offset) noexcept {
  count_allocation();
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, size, protection, flags, file, offset));
}

REPLACED void* mmap64(void* address, std::size_t size, int protection, int flags, int file,
                      off64_t offset) noexcept {
  return mmap(address, size, protection, flags, file, offset);
}

}  // extern "C"

int main(int argc, char** argv) {
  const bench::Counters counters{start, stop};
  bench::Runner runner(argc, argv, &counters);
  bench::public_rows(runner);
  bench::internal_rows(runner);
  return runner.exit_code();
}
