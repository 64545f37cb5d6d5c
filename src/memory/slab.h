// Type-stable object slabs: memory that, once a T, stays a T for as long as the process lives.
//
// That promise lets a thread look at an object that another is freeing: it reads the object's
// `handles` count, which is 0 for a free one, and may take a handle only by raising it from a
// number above 0. It also lets all live objects be listed without keeping a list of them.
//
// Free objects wait in a per-thread cache, so that making and dropping a tensor takes no lock; a
// cache that grows past its bound gives half of it back.
//
// T needs `T* next_free`, and to be listed `std::atomic<std::uint32_t> handles` (0 while free).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "memory/spin_lock.h"

namespace tenure::detail {

template <class T>
class Slab {
 public:
  // The object is as its last owner left it (default-made when new); `handles` is 0. The caller
  // fills it in and then stores `handles` with release.
  T* allocate() {
    Cache& cache = t_cache;
    if (cache.head == nullptr) refill(cache);
    T* object = cache.head;
    cache.head = object->next_free;
    --cache.count;
    return object;
  }

  void free(T* object) noexcept {
    Cache& cache = t_cache;
    object->next_free = cache.head;
    cache.head = object;
    if (cache.retired) {
      spill(cache, 0);
    } else if (++cache.count > kCacheBound) {
      spill(cache, kCacheBound / 2);
    }
  }

  // Calls visit(object) for every object that is live at some moment during the call, holding a
  // handle on it meanwhile. `release(object)` gives the handle back.
  template <class Visit, class Release>
  void for_each_live(Visit&& visit, Release&& release) {
    for (Chunk* chunk = chunks_.load(std::memory_order_acquire); chunk != nullptr;
         chunk = chunk->next) {
      for (T& object : chunk->objects) {
        if (!try_retain(object)) continue;
        const Held<Release> held{object, release};
        visit(object);
      }
    }
  }

  // For a fork (fork.h): while locked, objects come and go only in threads' caches.
  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }
  // Calls visit(object) for all there are, free ones too.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (Chunk* chunk = chunks_.load(std::memory_order_acquire); chunk != nullptr;
         chunk = chunk->next) {
      for (T& object : chunk->objects) visit(object);
    }
  }

  // Objects that are not free. Those in other threads' caches count as such, so that the number
  // tells how many more or fewer there are while only this thread makes and frees them.
  std::size_t in_use() const noexcept {
    return taken_.load(std::memory_order_relaxed) - static_cast<std::size_t>(t_cache.count);
  }

  static bool try_retain(T& object) noexcept {
    std::uint32_t count = object.handles.load(std::memory_order_relaxed);
    while (count != 0) {
      if (object.handles.compare_exchange_weak(count, count + 1, std::memory_order_acquire,
                                               std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

 private:
  template <class Release>
  struct Held {  // visit may throw
    T& object;
    Release& release;
    ~Held() { release(&object); }
  };

  static constexpr int kChunkObjects = 64;
  static constexpr int kCacheBound = 128;

  struct Chunk {
    Chunk* next = nullptr;
    T objects[kChunkObjects];
  };

  // Plain data, so that reaching it needs no guard; Retire, made on the first refill, empties it
  // when the thread ends.
  struct Cache {
    T* head = nullptr;
    int count = 0;
    bool retired = false;  // the thread is ending: keep nothing
  };
  struct Retire {
    Slab& slab;
    Cache& cache;
    ~Retire() {
      cache.retired = true;
      slab.spill(cache, 0);
    }
  };

  [[gnu::noinline]] void refill(Cache& cache) {
    if (!cache.retired) {
      thread_local const Retire retire{*this, cache};
      (void)retire;
    }
    const std::lock_guard guard(lock_);
    if (free_ == nullptr) grow();
    while (free_ != nullptr && cache.count < kCacheBound / 2) {
      T* object = free_;
      free_ = object->next_free;
      object->next_free = cache.head;
      cache.head = object;
      ++cache.count;
      taken_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  [[gnu::noinline]] void spill(Cache& cache, int keep) noexcept {
    const std::lock_guard guard(lock_);
    while (cache.head != nullptr && (cache.retired || cache.count > keep)) {
      T* object = cache.head;
      cache.head = object->next_free;
      object->next_free = free_;
      free_ = object;
      --cache.count;
      taken_.fetch_sub(1, std::memory_order_relaxed);
    }
    if (cache.head == nullptr) cache.count = 0;
  }

  void grow() {
    auto* chunk = new Chunk;
    for (T& object : chunk->objects) {
      object.next_free = free_;
      free_ = &object;
    }
    chunk->next = chunks_.load(std::memory_order_relaxed);
    chunks_.store(chunk, std::memory_order_release);
  }

  SpinLock lock_;
  T* free_ = nullptr;
  std::atomic<std::size_t> taken_{0};  // by threads, from the list of free ones
  std::atomic<Chunk*> chunks_{nullptr};
  static constinit thread_local Cache t_cache;

 public:
  // Never destroyed: static objects may hold tensors until the very end of the process.
  static Slab& instance() {
    static Slab* slab = new Slab;
    return *slab;
  }
};

template <class T>
constinit thread_local typename Slab<T>::Cache Slab<T>::t_cache{};

}  // namespace tenure::detail
