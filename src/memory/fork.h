// What the child of a fork has: the thread that called it, and a copy of everything that the others
// had under way. Here is what makes the library go on working there.
//
// Locks that are held for a few instructions and guard what the whole process shares (the pool, the
// slabs, scopes, names, forms, every ProcessMutex) are taken before a fork and let go after it: the
// child finds what they guard whole. A Mutex (tenure/job.h) is part of a thing, and may be held for
// as long as a training step takes; a fork does not wait for it. The child takes over one whose
// holder it does not have; what that one had half done stays so, as a step that failed would leave
// it. Threads are made again by those who need them, when they see that forks() has changed.
//
// Whatever says that somebody is inside a thing (trains a model, works in a session) says who, by a
// Worker, and the child asks whether that one is still there. What threads do to single tensors
// for a few instructions (pins, a donation under way) has no name; of that the child is made free.
#pragma once

#include <atomic>
#include <cstdint>

#include "memory/spin_lock.h"
#include "tenure/job.h"

namespace tenure::detail {

// How many forks lie between this process and the one that loaded the library.
std::uint32_t forks() noexcept;
// Whether this thread called fork, and went on in the child.
bool came_through_fork() noexcept;

// A thread, or work that is given to threads of the background. No two are the same, ever.
enum class Worker : std::uint64_t { none };
Worker this_thread() noexcept;
Worker in_background() noexcept;  // a new one
// Whether this process is a fork's child that does not have it. A thread that calls fork goes on in
// the child, threads of the background do not.
bool is_left_behind(Worker worker) noexcept;

// A Mutex that its holder may take again.
class RecursiveMutex {
 public:
  RecursiveMutex() = default;
  RecursiveMutex(const RecursiveMutex&) = delete;
  RecursiveMutex& operator=(const RecursiveMutex&) = delete;
  void lock() noexcept;
  bool try_lock() noexcept;
  void unlock() noexcept;

 private:
  void enter(Worker thread) noexcept;

  Mutex mutex_;
  std::atomic<Worker> holder_{Worker::none};
  std::uint32_t depth_ = 0;
};

// One that guards what the whole process shares, for a short time: a fork waits for it. Lasts as
// long as the process.
class ProcessMutex : public RecursiveMutex {
 public:
  ProcessMutex() noexcept;

 private:
  friend struct ForkHandlers;
  ProcessMutex* next_ = nullptr;
};

SpinLock& forms_lock() noexcept;  // in forms.cpp
SpinLock& names_lock() noexcept;  // in header.cpp

}  // namespace tenure::detail
