// Type-stable object slabs: memory that, once a T, stays a T for as long as the process lives.
//
// That promise lets a thread look at an object that another is freeing: it reads the object's
// `handles` count, which is 0 for a free one, and may take a handle only by raising it from a
// number above 0. It also lets all live objects be listed without keeping a list of them; who lists
// takes a look, a handle that the object may count apart.
//
// Free objects wait in a per-thread cache, so that making and dropping a tensor takes no lock; a
// cache that grows past its bound gives half of it back.
//
// Objects come in chunks of a few pages, and chunks in blocks of 4 MiB that are never unmapped. A
// chunk none of whose objects is in use or in a cache is empty; beyond some 16,384 objects in such,
// the pages of those that have been empty longest go back to the system, and their objects are made
// anew before they are used again. Between the two nobody may look at them: listing skips such a
// chunk, and while somebody lists, no pages go back. So whoever looks at an object by any other way
// than listing must know that it is not free, or T must be one that keeps its pages.
//
// T needs `T* next_free`, and to be listed an atomic `handles` (0 while free) and `kLook`, by which
// a look raises it.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include "memory/intrusive_list.h"
#include "memory/pages.h"
#include "memory/spin_lock.h"

namespace tenure::detail {

struct Scope;

// A tensor that leaves its scope may take the lock of one that has just been freed (scope.h).
template <class T>
inline constexpr bool kKeepsPages = false;
template <>
inline constexpr bool kKeepsPages<Scope> = true;

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
    if (cache.head == nullptr) retire_with_thread(cache);
    object->next_free = cache.head;
    cache.head = object;
    if (cache.retired) {
      spill(cache, 0);
    } else if (++cache.count > kCacheBound) {
      spill(cache, kCacheBound / 2);
    }
  }

  // Gives the pages of every empty chunk back.
  void trim() noexcept {
    const std::lock_guard guard(lock_);
    give_back_beyond(0);
  }

  // Calls visit(object) for every object that is live at some moment during the call, with a look
  // on it meanwhile. `end_look(object)` gives the look back.
  template <class Visit, class EndLook>
  void for_each_live(Visit&& visit, EndLook&& end_look) {
    const Listing listing{listings_};
    for (Block* block = blocks_.load(std::memory_order_acquire); block != nullptr;
         block = block->next) {
      const int count = block->chunk_count.load(std::memory_order_acquire);
      for (int i = 0; i < count; ++i) {
        if (block->chunks[i].is_gone.load()) continue;
        T* objects = objects_of(*block, i);
        for (int k = 0; k < kChunkObjects; ++k) {
          if (!try_raise(objects[k], T::kLook)) continue;
          const Look<EndLook> look{objects[k], end_look};
          visit(objects[k]);
        }
      }
    }
  }

  // For a fork (fork.h): while locked, objects come and go only in threads' caches.
  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }
  // Calls visit(object) for all there are, free ones too.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (Block* block = blocks_.load(std::memory_order_acquire); block != nullptr;
         block = block->next) {
      const int count = block->chunk_count.load(std::memory_order_acquire);
      for (int i = 0; i < count; ++i) {
        if (block->chunks[i].is_gone.load()) continue;
        T* objects = objects_of(*block, i);
        for (int k = 0; k < kChunkObjects; ++k) visit(objects[k]);
      }
    }
  }

  // Objects that are not free. Those in other threads' caches count as such, so that the number
  // tells how many more or fewer there are while only this thread makes and frees them.
  std::size_t in_use() const noexcept {
    return taken_.load(std::memory_order_relaxed) - static_cast<std::size_t>(t_cache.count);
  }

  static bool try_retain(T& object) noexcept { return try_raise(object, 1); }

 private:
  template <class EndLook>
  struct Look {  // visit may throw
    T& object;
    EndLook& end_look;
    ~Look() { end_look(&object); }
  };

  template <class Count>
  static bool try_raise(T& object, Count by) noexcept {
    auto count = object.handles.load(std::memory_order_relaxed);
    while (count != 0) {
      if (object.handles.compare_exchange_weak(count, count + by, std::memory_order_acquire,
                                               std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  struct Listing {
    explicit Listing(std::atomic<int>& count) : listings(count) { listings.fetch_add(1); }
    ~Listing() { listings.fetch_sub(1); }
    Listing(const Listing&) = delete;
    Listing& operator=(const Listing&) = delete;
    std::atomic<int>& listings;
  };

  // Few objects, so that not many are kept for one in use; not so few that giving a chunk back
  // costs much for each.
  static constexpr std::size_t kChunkBytes = std::max(kPage, std::bit_ceil(32 * sizeof(T)));
  static constexpr int kChunkObjects = static_cast<int>(kChunkBytes / sizeof(T));
  static constexpr std::size_t kBlockBytes = std::size_t{4} << 20;
  static constexpr std::size_t kTableBytes = std::max(kChunkBytes, std::size_t{64} << 10);
  static constexpr int kBlockChunks = static_cast<int>((kBlockBytes - kTableBytes) / kChunkBytes);
  static constexpr std::size_t kKeptChunks = 16384 / kChunkObjects;
  static constexpr int kCacheBound = 128;

  // In one of the three lists, unless all its objects are taken.
  struct Chunk {
    T* free = nullptr;  // those in no cache
    int free_count = 0;
    std::atomic<bool> is_gone{false};  // its pages are
    Chunk* previous = nullptr;
    Chunk* next = nullptr;
  };

  // What is known of its chunks stands before them, and stays.
  struct Block {
    Block* next = nullptr;
    std::atomic<int> chunk_count{0};
    Chunk chunks[kBlockChunks];
  };
  static_assert(sizeof(Block) <= kTableBytes && kTableBytes % alignof(T) == 0);

  // Plain data, so that reaching it needs no guard; Retire, made before anything is in it, empties
  // it when the thread ends.
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

  static std::byte* place_of(Block& block, int chunk) noexcept {
    return reinterpret_cast<std::byte*>(&block) + kTableBytes +
           static_cast<std::size_t>(chunk) * kChunkBytes;
  }
  static T* objects_of(Block& block, int chunk) noexcept {
    return std::launder(reinterpret_cast<T*>(place_of(block, chunk)));
  }
  static std::size_t offset_of(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address) % kBlockBytes;
  }
  static Block& block_of(void* address) noexcept {
    std::byte* base = static_cast<std::byte*>(address) - offset_of(address);
    return *std::launder(reinterpret_cast<Block*>(base));
  }
  static Chunk& chunk_of(T* object) noexcept {
    return block_of(object).chunks[(offset_of(object) - kTableBytes) / kChunkBytes];
  }

  [[gnu::noinline]] void retire_with_thread(Cache& cache) noexcept {
    if (cache.retired) return;
    thread_local const Retire retire{*this, cache};
    (void)retire;
  }

  [[gnu::noinline]] void refill(Cache& cache) {
    retire_with_thread(cache);
    const std::lock_guard guard(lock_);
    Chunk& chunk = chunk_with_free();
    // The first so many, in their order.
    T* last = chunk.free;
    int count = 1;
    for (; count < kCacheBound / 2 && last->next_free != nullptr; ++count) last = last->next_free;
    cache.head = chunk.free;
    cache.count = count;
    chunk.free = last->next_free;
    chunk.free_count -= count;
    last->next_free = nullptr;
    if (chunk.free_count == 0) partly_.remove(chunk);
    taken_.fetch_add(static_cast<std::size_t>(count), std::memory_order_relaxed);
  }

  [[gnu::noinline]] void spill(Cache& cache, int keep) noexcept {
    const std::lock_guard guard(lock_);
    std::size_t spilled = 0;
    while (cache.head != nullptr && (cache.retired || cache.count > keep)) {
      T* object = cache.head;
      cache.head = object->next_free;
      --cache.count;
      ++spilled;
      Chunk& chunk = chunk_of(object);
      object->next_free = chunk.free;
      chunk.free = object;
      if (++chunk.free_count == 1) partly_.push_front(chunk);
      if (chunk.free_count == kChunkObjects) {
        partly_.remove(chunk);
        empty_.push_front(chunk);
        ++empty_count_;
      }
    }
    if (cache.head == nullptr) cache.count = 0;
    taken_.fetch_sub(spilled, std::memory_order_relaxed);
    // Several at a time: a system call for each would be felt.
    if (empty_count_ >= kKeptChunks + kKeptChunks / 4) give_back_beyond(kKeptChunks);
  }

  // One of partly_.
  Chunk& chunk_with_free() {
    if (partly_.empty()) {
      Chunk* chunk = empty_.front;
      if (chunk != nullptr) {
        empty_.remove(*chunk);
        --empty_count_;
      } else {
        chunk = &make_chunk();
      }
      partly_.push_front(*chunk);
    }
    return *partly_.front;
  }

  Chunk& make_chunk() {
    Chunk* chunk = gone_.front;
    if (chunk != nullptr) {
      gone_.remove(*chunk);
      Block& block = block_of(chunk);
      fill(*chunk, place_of(block, static_cast<int>(chunk - block.chunks)));
      chunk->is_gone.store(false);
      return *chunk;
    }
    Block* block = blocks_.load(std::memory_order_relaxed);
    if (block == nullptr || block->chunk_count.load(std::memory_order_relaxed) == kBlockChunks) {
      Block* older = block;
      block = new (map_objects(kBlockBytes)) Block;
      block->next = older;
      blocks_.store(block, std::memory_order_release);
    }
    const int index = block->chunk_count.load(std::memory_order_relaxed);
    fill(block->chunks[index], place_of(*block, index));
    block->chunk_count.store(index + 1, std::memory_order_release);
    return block->chunks[index];
  }

  static void fill(Chunk& chunk, std::byte* place) {
    T* next = nullptr;
    for (int i = kChunkObjects - 1; i >= 0; --i) {
      T* object = new (place + static_cast<std::size_t>(i) * sizeof(T)) T;
      object->next_free = next;
      next = object;
    }
    chunk.free = next;
    chunk.free_count = kChunkObjects;
  }

  void give_back_beyond(std::size_t kept) noexcept {
    if constexpr (kKeepsPages<T>) return;
    Pages run;
    while (empty_count_ > kept) {
      Chunk& chunk = *empty_.back;
      // Whoever begins to list after this skips the chunk; whoever began before is counted.
      chunk.is_gone.store(true);
      if (listings_.load() != 0) {
        chunk.is_gone.store(false);
        break;
      }
      empty_.remove(chunk);
      --empty_count_;
      gone_.push_front(chunk);
      Block& block = block_of(&chunk);
      const int index = static_cast<int>(&chunk - block.chunks);
      T* objects = objects_of(block, index);
      for (int i = 0; i < kChunkObjects; ++i) objects[i].~T();
      if (!run.add(place_of(block, index))) {
        run.empty();
        run = {};
        run.add(place_of(block, index));
      }
    }
    run.empty();
  }

  // Chunks side by side, for one system call.
  struct Pages {
    std::byte* begin = nullptr;
    std::byte* end = nullptr;

    bool add(std::byte* chunk) noexcept {
      if (begin == nullptr) begin = end = chunk;
      if (chunk == end) {
        end += kChunkBytes;
      } else if (chunk + kChunkBytes == begin) {
        begin = chunk;
      } else {
        return false;
      }
      return true;
    }
    void empty() const noexcept {
      if (begin != nullptr) empty_pages(begin, static_cast<std::size_t>(end - begin));
    }
  };

  SpinLock lock_;
  IntrusiveList<Chunk> partly_;  // with objects free and objects taken
  IntrusiveList<Chunk> empty_;   // with all objects free, the latest first
  IntrusiveList<Chunk> gone_;    // without pages
  std::size_t empty_count_ = 0;
  std::atomic<std::size_t> taken_{0};  // by threads
  std::atomic<int> listings_{0};       // under way
  std::atomic<Block*> blocks_{nullptr};
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
