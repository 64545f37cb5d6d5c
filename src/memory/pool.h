// The pool: size classes over memory taken from a device in spans, kept when freed.
//
// Classes are multiples of 64 bytes up to 512, then four per doubling up to 1 MiB, then eight per
// doubling, so rounding wastes at most a quarter of a small block and an eighth of a large one.
// The spans of a small class are as few pages as its blocks fill well, runs of a region
// (regions.h); from 256 KiB on a block is a span of its own, in pages of its own. Free lists are of
// Storage objects, never threaded through the blocks themselves, so a pool works for memory the
// host cannot touch.
//
// What it keeps. A pool that grows, and one that has more than this in a span that has just become
// free, gives spans without a block in use back, those longest out of use first, so that it has
// taken no more than half as much again as was live at once, and 12 MiB (or, where the blocks in
// use alone come to more, 8 MiB beside them). What was live at once counts for as long as the
// load stays what it is: it is forgotten after the pool has grown by several times what it may
// keep without coming near to it again, or when the user trims. A steady load does not grow, and
// makes no system calls. Where a large block would be too much, a free one of up to four times its
// size is lent instead, so that values of many sizes, one after another, live in the same few
// blocks; or one of nearly its size is resized: sizes that vary from step to step use the same
// pages again.
//
// Allocating and freeing take one lock, which is also what makes the count of live bytes and its
// peak exact: a counter of their own would be two more locked instructions for an operation. All
// that changes how much is reserved happens under one more, so that no thread fails for memory that
// another is about to give back.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "memory/intrusive_list.h"
#include "memory/regions.h"
#include "memory/spin_lock.h"
#include "memory/storage.h"

namespace tenure::detail {

struct Span {
  Storage* head = nullptr;  // of its free blocks
  std::uint32_t free = 0;
  std::uint32_t blocks = 0;
  Span* previous = nullptr;  // in a list of its class, if it is in one
  Span* next = nullptr;
  std::uint64_t emptied = 0;  // how often the pool had grown when its last block became free
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  std::size_t tail_bytes = 0;  // too few for another block
  Region* region = nullptr;    // null: pages of its own
  Span* next_free = nullptr;
};

class Pool {
 public:
  Pool(Device device, MemorySource source);

  // A storage of at least `nbytes` with a count of 1, or nullptr when neither the device nor the
  // budget allows one, even with all that is free given back.
  Storage* allocate(std::size_t nbytes);
  void free(Storage* storage) noexcept;

  // Gives every wholly free span back, and forgets how much was live; returns the bytes.
  std::size_t trim() noexcept;

  std::size_t live_bytes() const { return live_.load(std::memory_order_relaxed); }
  std::size_t peak_bytes() noexcept;  // the highest of these since the start, or since it was reset
  void reset_peak() noexcept;
  std::size_t pooled_bytes() noexcept;
  std::size_t reserved_bytes() const { return reserved_.load(std::memory_order_relaxed); }
  std::size_t tail_bytes() const { return tail_bytes_.load(std::memory_order_relaxed); }
  std::size_t budget() const { return budget_.load(std::memory_order_relaxed); }
  void set_budget(std::size_t bytes) { budget_.store(bytes, std::memory_order_relaxed); }

  // All of it, for a fork (fork.h).
  void lock() noexcept;
  void unlock() noexcept;

  static std::uint16_t size_class(std::size_t nbytes);
  static std::size_t class_bytes(std::uint16_t size_class);
  static std::size_t block_bytes(std::size_t nbytes) { return class_bytes(size_class(nbytes)); }

 private:
  static constexpr int kClasses = 8 + 44 + 27 * 8;

  // The free blocks that are taken first stand in `head`: those of the span `current`, whose blocks
  // can so come and go without a look at it, and where a span has one block, all that were freed
  // since `empty` was last looked at. Any other span is in one of the two lists, or has no free
  // block.
  struct Class {
    bool single = false;  // its spans have one block; then only `head` and `empty` are used
    std::atomic<std::uint32_t> free_blocks{0};  // of all its spans
    Storage* head = nullptr;                    // the latest first, as everywhere here
    Span* current = nullptr;
    IntrusiveList<Span> partly;                 // spans with blocks free and blocks in use
    IntrusiveList<Span> empty;                  // wholly free
    std::atomic<std::uint32_t> empty_pages{0};  // of the spans in `empty`
  };

  // In these the caller has `lock_`.
  void count_live(std::size_t nbytes) noexcept;
  static Storage* pop(Class& list) noexcept;
  static Storage* pop_from_lists(Class& list) noexcept;
  bool push_to_span(Class& list, Span& span, Storage& storage) noexcept;
  static void push_empty(Class& list, Span& span) noexcept;
  static void remove_empty(Class& list, Span& span) noexcept;
  void list_head(Class& list) noexcept;

  // In these the caller has `sizing_`, and where it says so `lock_`.
  Storage* take_new(std::uint16_t index, std::size_t nbytes);
  Storage* grow(std::uint16_t index, std::size_t total);
  Storage* borrow(std::uint16_t index, std::size_t total) noexcept;
  Storage* reshape(std::uint16_t index, std::size_t total) noexcept;
  Span* take_near(std::uint16_t index) noexcept;
  void count(Span& span, std::size_t bytes, std::size_t tail_bytes) noexcept;
  Storage* make_room(std::uint16_t index, std::size_t total);
  std::size_t empty_bytes() const noexcept;
  std::size_t give_back_beyond(std::size_t limit) noexcept;
  IntrusiveList<Span> detach_oldest(std::size_t bytes, std::size_t keep) noexcept;  // so here
  std::size_t retire(IntrusiveList<Span> spans) noexcept;
  static void free_objects(Span& span) noexcept;  // it and its storages, all free
  void update_limit(std::size_t live) noexcept;
  void note_peak() noexcept;

  Storage* allocate_new(std::uint16_t index, std::size_t nbytes);
  void give_back_excess() noexcept;
  void tell_size() noexcept;

  Device device_;
  MemorySource source_;

  alignas(64) SpinLock lock_;         // of these
  std::atomic<std::size_t> live_{0};  // others may look at the two
  std::atomic<std::size_t> peak_{0};  // of live_, since note_peak
  std::array<Class, kClasses> classes_;

  alignas(64) std::atomic<std::size_t> taken_{0};  // reserved_, and the objects' bytes
  std::atomic<std::size_t> limit_{0};              // of taken_, as of the last look
  std::atomic<std::size_t> reserved_{0};
  std::atomic<std::uint64_t> grown_{0};  // how often
  std::atomic<std::size_t> tail_bytes_{0};
  std::atomic<std::size_t> budget_{0};  // 0: none

  std::mutex sizing_;
  Regions regions_;
  std::size_t told_peak_ = 0;                // before peak_, since the user reset it
  std::array<std::size_t, 2> load_peaks_{};  // before peak_: of this stretch of the load, the last
  std::size_t stretch_bytes_ = 0;            // grown by in this one
};

Pool& pool(Device device);
// What the last allocation on this thread that found no memory gave back to the system first; once.
std::size_t last_given_back();

}  // namespace tenure::detail
