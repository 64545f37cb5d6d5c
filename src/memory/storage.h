// The bytes behind tensors, counted by their holders.
//
// A Storage and its block of memory stay together: freeing a storage puts the pair on its size
// class's list, so that allocating again is one pop. The count reaching zero frees at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "tenure/device.h"

namespace tenure::detail {

struct Form;
struct SessionState;
struct Span;

struct Storage {
  std::atomic<std::uint32_t> handles{0};  // holders; 0 while pooled
  std::uint16_t size_class = 0;
  Device device;
  std::byte* data = nullptr;
  std::size_t nbytes = 0;                       // asked for
  std::size_t capacity = 0;                     // what it is charged for; 0: memory from outside
  std::atomic<SessionState*> session{nullptr};  // charged; changes under storage_moves()
  Span* span = nullptr;
  Storage* next_free = nullptr;
  std::function<void()>* deleter = nullptr;  // of memory from outside
  std::atomic<Form*> forms{nullptr};         // made of the bytes: see forms.h
  std::atomic<std::uint32_t> slots{0};       // variables whose value it is

  bool is_external() const { return capacity == 0; }
};

// The handle count is already 1. Throws OutOfMemoryError; `session` (may be null: the default one)
// is charged.
Storage* allocate_storage(Device device, std::size_t nbytes, SessionState* session);
// The same, but nullptr where that would throw, and nothing else gives way to it.
Storage* try_allocate_storage(Device device, std::size_t nbytes, SessionState* session) noexcept;
// Memory from outside; `deleter` runs when the last holder lets go.
Storage* adopt_storage(Device device, void* data, std::size_t nbytes, SessionState* session,
                       std::function<void()> deleter);
// Moves the charge for the bytes to another session, unless it has no room for them; the default
// session (null) always has. The caller has a holder of the bytes pinned, and storage_moves().
bool try_move_storage(Storage& storage, SessionState* to) noexcept;

void free_storage(Storage* storage) noexcept;  // called by the last release only

inline void retain(Storage* storage) noexcept {
  storage->handles.fetch_add(1, std::memory_order_relaxed);
}
// True when this was the last holder: the bytes went back to the pool.
inline bool release(Storage* storage) noexcept {
  // Only holders take further counts, so one that is alone need not pay for a locked decrement.
  if (storage->handles.load(std::memory_order_acquire) == 1 ||
      storage->handles.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    free_storage(storage);
    return true;
  }
  return false;
}

// An owning pointer: an op in flight, or a kernel's scratch.
class StorageRef {
 public:
  StorageRef() = default;
  explicit StorageRef(Storage* owned) : storage_(owned) {}
  StorageRef(StorageRef&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
  StorageRef& operator=(StorageRef&& other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~StorageRef() {
    if (storage_ != nullptr) detail::release(storage_);
  }
  Storage* get() const { return storage_; }
  Storage* operator->() const { return storage_; }
  Storage* give() noexcept { return std::exchange(storage_, nullptr); }
  explicit operator bool() const { return storage_ != nullptr; }

 private:
  Storage* storage_ = nullptr;
};

}  // namespace tenure::detail
