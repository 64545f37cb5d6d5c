// What a profile sees of memory: the bytes a task takes and gives back, and the tensors it makes.
//
// Watches hang on the context, innermost first, so that each sees its own task and no other; an
// inner one's share is the outer one's too. Where no context is at hand (storage comes and goes
// without one) a count of all watches is looked at first, and is zero.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenure::detail {

struct Context;

struct MemoryWatch {
  MemoryWatch* outer = nullptr;
  std::int64_t live = 0;            // taken less given back, since it began
  std::int64_t peak = 0;            // the most of that
  std::int64_t step_peak = 0;       // the most since it was set back
  std::vector<std::uint64_t> born;  // ids of tensors, rising
};

extern std::atomic<std::uint32_t> g_memory_watches;
inline bool memory_is_watched() { return g_memory_watches.load(std::memory_order_relaxed) != 0; }

// To the watches of the current task.
void note_bytes(std::int64_t change) noexcept;
void note_birth(const Context& context, std::uint64_t id) noexcept;

void add_watch(Context& context, MemoryWatch& watch) noexcept;
void remove_watch(Context& context, MemoryWatch& watch) noexcept;

}  // namespace tenure::detail
