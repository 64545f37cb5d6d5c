#include "memory/fork.h"

#include <pthread.h>

#include "memory/forms.h"
#include "memory/header.h"
#include "memory/pool.h"
#include "memory/scope.h"
#include "memory/slab.h"
#include "tenure/job.h"

namespace tenure::detail {
namespace {

constinit std::atomic<std::uint32_t> g_forks{0};
constinit thread_local bool t_came_through = false;

constexpr std::uint32_t kHeld = 1;
constexpr std::uint32_t kAwaited = 2;  // some wait: whoever lets go wakes one

std::uint32_t held_now() noexcept { return forks() << 2 | kHeld; }
bool is_of_gone_thread(std::uint32_t word) noexcept { return word >> 2 != held_now() >> 2; }

constinit std::atomic<std::uint64_t> g_workers{0};
// Of the fork that made this process: who there had been by then, and who called it.
constinit std::atomic<std::uint64_t> g_workers_before{0};
constinit std::atomic<Worker> g_forker{Worker::none};

Worker new_worker() noexcept {
  return Worker{g_workers.fetch_add(1, std::memory_order_relaxed) + 1};
}

constinit std::atomic<ProcessMutex*> g_mutexes{nullptr};

}  // namespace

std::uint32_t forks() noexcept { return g_forks.load(std::memory_order_relaxed); }
bool came_through_fork() noexcept { return t_came_through; }

// Addresses of threads are used again, these are not.
Worker this_thread() noexcept {
  thread_local const Worker worker = new_worker();
  return worker;
}

Worker in_background() noexcept { return new_worker(); }

bool is_left_behind(Worker worker) noexcept {
  return static_cast<std::uint64_t>(worker) <= g_workers_before.load(std::memory_order_relaxed) &&
         worker != g_forker.load(std::memory_order_relaxed);
}

bool Mutex::try_lock() noexcept {
  std::uint32_t word = 0;
  if (word_.compare_exchange_strong(word, held_now(), std::memory_order_acquire,
                                    std::memory_order_relaxed)) [[likely]] {
    return true;
  }
  return word != 0 && is_of_gone_thread(word) &&
         word_.compare_exchange_strong(word, held_now(), std::memory_order_acquire,
                                       std::memory_order_relaxed);
}

void Mutex::lock() noexcept {
  if (!try_lock()) wait_and_lock();
}

void Mutex::wait_and_lock() noexcept {
  for (;;) {
    std::uint32_t word = word_.load(std::memory_order_relaxed);
    if (word == 0 || is_of_gone_thread(word)) {
      // Others may be waiting still: they are woken in turn.
      if (word_.compare_exchange_weak(word, held_now() | kAwaited, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
        return;
      }
      continue;
    }
    if ((word & kAwaited) == 0 &&
        !word_.compare_exchange_weak(word, word | kAwaited, std::memory_order_relaxed)) {
      continue;
    }
    word_.wait(word | kAwaited, std::memory_order_relaxed);
  }
}

void Mutex::unlock() noexcept {
  if ((word_.exchange(0, std::memory_order_release) & kAwaited) != 0) word_.notify_one();
}

void RecursiveMutex::enter(Worker thread) noexcept {
  holder_.store(thread, std::memory_order_relaxed);
  depth_ = 1;
}

void RecursiveMutex::lock() noexcept {
  const Worker thread = this_thread();
  if (holder_.load(std::memory_order_relaxed) == thread) {
    ++depth_;
    return;
  }
  mutex_.lock();
  enter(thread);
}

bool RecursiveMutex::try_lock() noexcept {
  const Worker thread = this_thread();
  if (holder_.load(std::memory_order_relaxed) == thread) {
    ++depth_;
    return true;
  }
  if (!mutex_.try_lock()) return false;
  enter(thread);
  return true;
}

void RecursiveMutex::unlock() noexcept {
  if (--depth_ != 0) return;
  holder_.store(Worker::none, std::memory_order_relaxed);
  mutex_.unlock();
}

ProcessMutex::ProcessMutex() noexcept {
  next_ = g_mutexes.load(std::memory_order_relaxed);
  while (!g_mutexes.compare_exchange_weak(next_, this, std::memory_order_release,
                                          std::memory_order_relaxed)) {
  }
}

struct ForkHandlers {
  static void before() {
    // All of them or none: whoever has one may be waiting for another.
    ProcessMutex* first = g_mutexes.load(std::memory_order_acquire);
    for (ProcessMutex* mutex = first; mutex != nullptr;) {
      if (mutex->try_lock()) {
        mutex = mutex->next_;
        continue;
      }
      unlock(first, mutex);
      mutex->lock();
      mutex->unlock();
      first = mutex = g_mutexes.load(std::memory_order_acquire);
    }
    taken = first;
    forms_lock().lock();
    names_lock().lock();
    pool({}).lock();  // which takes spans and storages from their slabs
    Slab<Form>::instance().lock();
    Slab<Span>::instance().lock();
    Slab<Storage>::instance().lock();
    Slab<Header>::instance().lock();
    Slab<Scope>::instance().lock();
    Slab<Scope>::instance().for_each([](Scope& scope) { scope.lock.lock(); });
  }

  static void after() {
    Slab<Scope>::instance().for_each([](Scope& scope) { scope.lock.unlock(); });
    Slab<Scope>::instance().unlock();
    Slab<Header>::instance().unlock();
    Slab<Storage>::instance().unlock();
    Slab<Span>::instance().unlock();
    Slab<Form>::instance().unlock();
    pool({}).unlock();
    names_lock().unlock();
    forms_lock().unlock();
    unlock(taken, nullptr);
  }

  static void in_child() {
    after();
    Slab<Header>::instance().for_each([](Header& header) { leave_uses_behind(header); });
    t_came_through = true;
    g_workers_before.store(g_workers.load(std::memory_order_relaxed), std::memory_order_relaxed);
    g_forker.store(this_thread(), std::memory_order_relaxed);
    g_forks.fetch_add(1, std::memory_order_relaxed);
  }

  static void unlock(ProcessMutex* first, const ProcessMutex* end) noexcept {
    for (ProcessMutex* mutex = first; mutex != end; mutex = mutex->next_) mutex->unlock();
  }

  static constinit ProcessMutex* taken;  // the first of those; guarded by them
};
constinit ProcessMutex* ForkHandlers::taken = nullptr;

namespace {

// As soon as the library is loaded: handlers of locks that are taken outside of these come later,
// and run before.
[[gnu::constructor]] void watch_forks() {
  pthread_atfork(ForkHandlers::before, ForkHandlers::after, ForkHandlers::in_child);
}

}  // namespace
}  // namespace tenure::detail
