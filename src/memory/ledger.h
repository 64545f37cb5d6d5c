// What the runtime knows of itself: byte counters, and every live holder by listing the slabs.
//
// Only live bytes are counted as they change (peak and budgets need that moment); everything else
// is read off the live headers when somebody asks, so an op pays for one counter. Listing takes a
// look and a pin on each header in turn: what it reads is whole, and exact when no other thread is
// inside an op, whoever else is listing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "memory/fork.h"
#include "memory/header.h"
#include "memory/session.h"
#include "memory/slab.h"
#include "tenure/category.h"
#include "tenure/memory.h"

namespace tenure::detail {

std::uint64_t next_tensor_id() noexcept;  // of the next tensor to be born

struct Pinned {  // gives back a pin that was taken
  Header& header;
  ~Pinned() { unpin(header); }
};

// A saved value may get another storage, as a variable does that a traced function assigns. That
// happens under a lock, and so does a look at saved values that are not one's own.
RecursiveMutex& storage_moves() noexcept;

// Calls visit(header) for every header with bytes, tensor or saved, held and pinned meanwhile; also
// for one whose owner has dropped it while another thread was looking.
template <class Visit>
void for_each_header(Visit&& visit) {
  Slab<Header>::instance().for_each_live(
      [&](Header& header) {
        if (!try_pin(header)) return;
        const Pinned pinned{header};
        std::unique_lock lock(storage_moves(), std::defer_lock);
        if (header.role != Role::tensor) lock.lock();
        visit(header);
      },
      end_look);
}

// For every live holder.
template <class Visit>
void for_each_holder(Visit&& visit) {
  for_each_header([&](Header& header) {
    if (header.owners() != 0) visit(header);
  });
}

MemoryInfo memory_of(SessionState* session);  // null: the process
std::size_t live_bytes(
    const SessionState* session) noexcept;  // the same figure, at the price of a load

// The storages that hold most, each by one of its holders.
struct LargeHolder {
  std::size_t nbytes = 0;
  Category claim = Category::other;
  Story story;
};
std::vector<LargeHolder> largest_holders(std::size_t count, const SessionState* session);

// Whether a session pays for the bytes (null: the process pays for all). A tensor may show bytes
// that are not its session's: a traced function's result that is what the function holds.
inline bool is_charged_to(const SessionState* session, const Storage& storage) noexcept {
  return session == nullptr || storage.session.load(std::memory_order_relaxed) == session;
}

Holder holder_of(const Header& header);
std::vector<Holder> holders_of(const Storage& storage);

// Tests only: the nth allocation from now fails as if memory had run out (0 turns it off).
void fail_nth_allocation(std::int64_t nth);
std::int64_t allocation_count();

}  // namespace tenure::detail
