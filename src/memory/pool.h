// The pool: size classes over memory taken from a device in spans, kept when freed.
//
// Classes are multiples of 64 bytes up to 512, then four per doubling up to 1 MiB, then eight per
// doubling, so rounding wastes at most a quarter of a small block and an eighth of a large one.
// A small class carves spans of up to 64 blocks; from 64 KiB on a block is a span of its own.
// A span whose blocks are all free can go back to the device; `trim` does that, and only memory
// pressure or the user calls it. Free lists are of Storage objects, never threaded through the
// blocks themselves, so a pool works for memory the host cannot touch.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "memory/spin_lock.h"
#include "memory/storage.h"

namespace tenure::detail {

// Where a pool takes whole pages from.
struct MemorySource {
  std::byte* (*map)(std::size_t bytes) noexcept;  // nullptr when there is none to be had
  void (*unmap)(std::byte* base, std::size_t bytes) noexcept;
};

struct Span {
  std::byte* base;
  std::size_t bytes;
  std::size_t tail_bytes;  // too few for another block
  std::uint32_t blocks;
  std::uint32_t free;
};

class Pool {
 public:
  explicit Pool(Device device, MemorySource source) : device_(device), source_(source) {}

  // A storage of at least `nbytes` with a count of 1, or nullptr when neither the device nor the
  // budget allows one, even after trimming.
  Storage* allocate(std::size_t nbytes);
  void free(Storage* storage) noexcept;

  // Gives every wholly free span back; returns the bytes.
  std::size_t trim() noexcept;

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

 private:
  static constexpr int kClasses = 8 + 44 + 27 * 8;

  struct alignas(64) Class {
    SpinLock lock;
    Storage* head = nullptr;
    std::size_t count = 0;
  };

  bool reserve(std::size_t bytes) noexcept;
  bool grow(std::uint16_t size_class, std::uint32_t blocks);
  Storage* pop(Class& list) noexcept;
  void tell_size() noexcept;

  Device device_;
  MemorySource source_;
  std::array<Class, kClasses> classes_;
  std::atomic<std::size_t> reserved_{0};
  std::atomic<std::size_t> tail_bytes_{0};
  std::atomic<std::size_t> budget_{0};  // 0: none
};

Pool& pool(Device device);
// What the last allocation on this thread that found no memory gave back to the system first; once.
std::size_t last_given_back();

// Tests only: the nth allocation from now fails as if memory had run out (0 turns it off).
void fail_nth_allocation(std::int64_t nth);
std::int64_t allocation_count();

}  // namespace tenure::detail
