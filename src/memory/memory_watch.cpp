#include "memory/memory_watch.h"

#include <algorithm>
#include <new>

#include "memory/context.h"

namespace tenure::detail {

std::atomic<std::uint32_t> g_memory_watches{0};

void note_bytes(std::int64_t change) noexcept {
  for (MemoryWatch* watch = context().watch; watch != nullptr; watch = watch->outer) {
    watch->live += change;
    watch->peak = std::max(watch->peak, watch->live);
    watch->step_peak = std::max(watch->step_peak, watch->live);
  }
}

void note_birth(const Context& context, std::uint64_t id) noexcept {
  for (MemoryWatch* watch = context.watch; watch != nullptr; watch = watch->outer) {
    try {
      watch->born.push_back(id);
    } catch (const std::bad_alloc&) {  // one tensor less is told of
    }
  }
}

void add_watch(Context& context, MemoryWatch& watch) noexcept {
  watch.outer = context.watch;
  context.watch = &watch;
  g_memory_watches.fetch_add(1, std::memory_order_relaxed);
}

void remove_watch(Context& context, MemoryWatch& watch) noexcept {
  for (MemoryWatch** link = &context.watch; *link != nullptr; link = &(*link)->outer) {
    if (*link != &watch) continue;
    *link = watch.outer;
    g_memory_watches.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
}

}  // namespace tenure::detail
