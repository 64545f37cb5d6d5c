// Rings: how records get from the threads where things happen to the one that writes them down.
//
// Each thread has a ring of its own, which it alone writes and the drain alone reads; a full ring
// makes its thread wait, so that nothing is lost and memory is bounded. A ring's bytes are there
// while a recording runs; the ring itself is small and stays, for the next thread or recording.
//
// The end of a recording must not race with a hook that is in the middle of a record. A thread
// marks its ring busy and looks again whether it is to record; whoever ends the recording turns
// that off and waits, draining, until no ring is busy.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "memory/event_records.h"

namespace tenure::detail::events {

inline constexpr std::size_t kRingBytes = std::size_t{1} << 20;

struct Ring {
  std::atomic<bool> busy{false};
  std::atomic<bool> left{false};  // by its thread, which has ended
  std::uint32_t thread = 0;       // no other one's: a thread that only drops tensors has no context
  std::byte* bytes = nullptr;
  // Counted in bytes from the start of time; a place in the ring is the remainder.
  std::uint64_t seen_tail = 0;                     // by the thread
  alignas(64) std::atomic<std::uint64_t> head{0};  // the thread's
  alignas(64) std::atomic<std::uint64_t> tail{0};  // the drain's
};

// A place for a record of this thread, which is told when the place is gone.
class Place {
 public:
  explicit Place(std::size_t size) noexcept;  // a multiple of kRecordStep
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  std::byte* at() const { return at_; }  // null: nothing is to be recorded
  std::int64_t time() const { return time_; }

 private:
  Ring* ring_;
  std::size_t size_;
  std::byte* at_ = nullptr;
  std::int64_t time_ = 0;
};

// The drain's side. One drain at a time.

// Sees the records of each thread in their order.
class RecordVisitor {
 public:
  virtual ~RecordVisitor() = default;
  virtual void visit(const Record& record, std::uint32_t thread) noexcept = 0;
};

void start_rings();                         // hooks record from here on
void turn_off() noexcept;                   // and no longer
void drain(RecordVisitor& visitor);         // all that is there
void finish_rings(RecordVisitor& visitor);  // after turn_off: the rest, and the bytes go back
bool rings_failed() noexcept;               // there was no memory for one: a record is missing
// Until somebody wants a drain, or for that long.
void wait_for_bell(std::int64_t milliseconds);
void ring_bell() noexcept;

// How many bytes the rings of all threads take.
std::size_t ring_bytes() noexcept;

}  // namespace tenure::detail::events
