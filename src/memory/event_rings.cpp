#include "memory/event_rings.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "memory/events.h"
#include "memory/fork.h"

namespace tenure::detail::events {
namespace {

struct Shared {
  std::vector<Ring*> rings;
  std::vector<Ring*> spare;  // drained, and their threads have ended
  std::uint32_t threads = 0;
  std::mutex bell_mutex;
  std::condition_variable bell;
  bool rung = false;
};

// Guards the lists.
ProcessMutex& lists_mutex() {
  static ProcessMutex mutex;
  return mutex;
}

// Replaced by a new one in the child of a fork, which has neither the threads nor the drain.
constinit std::atomic<Shared*> g_shared{nullptr};

constinit std::atomic<std::size_t> g_ring_bytes{0};
constinit std::atomic<bool> g_failed{false};

constinit thread_local Ring* t_ring = nullptr;

void leave(void* ring) noexcept {
  t_ring = nullptr;
  static_cast<Ring*>(ring)->left.store(true, std::memory_order_release);
}

// Its destructor runs when a thread ends, after those of thread-locals, which may drop tensors.
// The main thread's does not run: statics that die at exit go on in the same ring.
pthread_key_t leaving() {
  static const pthread_key_t key = [] {
    pthread_key_t fresh = 0;
    pthread_key_create(&fresh, leave);
    return fresh;
  }();
  return key;
}

void in_child() {
  g_on.store(false);
  t_ring = nullptr;
  pthread_setspecific(leaving(), nullptr);
  g_shared.store(new Shared);
}

Shared& shared() {
  static const bool is_ready = [] {
    g_shared.store(new Shared);
    leaving();
    pthread_atfork(nullptr, nullptr, in_child);
    return true;
  }();
  (void)is_ready;
  return *g_shared.load(std::memory_order_acquire);
}

Ring* new_ring() noexcept {
  try {
    Shared& all = shared();
    const std::lock_guard lock(lists_mutex());
    Ring* ring = nullptr;
    if (!all.spare.empty()) {
      ring = all.spare.back();
      all.rings.push_back(ring);
      all.spare.pop_back();
    } else {
      all.rings.reserve(all.rings.size() + 1);
      all.spare.reserve(all.rings.size() + 1);
      ring = new Ring;
      all.rings.push_back(ring);
    }
    ring->thread = all.threads++;
    ring->left.store(false, std::memory_order_relaxed);
    return ring;
  } catch (const std::bad_alloc&) {
    g_failed.store(true, std::memory_order_relaxed);
    return nullptr;
  }
}

Ring* ring_of_thread() noexcept {
  if (t_ring != nullptr) [[likely]]
    return t_ring;
  t_ring = new_ring();
  if (t_ring != nullptr) pthread_setspecific(leaving(), t_ring);
  return t_ring;
}

bool map_bytes(Ring& ring) noexcept {
  void* bytes =
      mmap(nullptr, kRingBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (bytes == MAP_FAILED) {
    g_failed.store(true, std::memory_order_relaxed);
    return false;
  }
  ring.bytes = static_cast<std::byte*>(bytes);
  g_ring_bytes.fetch_add(kRingBytes, std::memory_order_relaxed);
  return true;
}

// Waits until `size` bytes are free.
void wait_for_room(Ring& ring, std::uint64_t head, std::size_t size) noexcept {
  ring.seen_tail = ring.tail.load(std::memory_order_acquire);
  while (head + size - ring.seen_tail > kRingBytes) {
    ring_bell();
    ring.tail.wait(ring.seen_tail, std::memory_order_acquire);
    ring.seen_tail = ring.tail.load(std::memory_order_acquire);
  }
}

void drain_ring(Ring& ring, RecordVisitor& visitor) {
  const std::uint64_t head = ring.head.load(std::memory_order_acquire);
  std::uint64_t tail = ring.tail.load(std::memory_order_relaxed);
  while (tail != head) {
    const auto& record = *reinterpret_cast<const Record*>(ring.bytes + tail % kRingBytes);
    if (record.kind != 0) visitor.visit(record, ring.thread);
    tail += record.size;
    // Now and then, so that a thread that waits need not wait for the whole ring.
    if (tail == head || tail % (kRingBytes / 16) < record.size) {
      ring.tail.store(tail, std::memory_order_release);
      ring.tail.notify_one();
    }
  }
}

}  // namespace

std::int64_t now() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Place::Place(std::size_t size) noexcept : ring_(ring_of_thread()), size_(size) {
  if (ring_ == nullptr) return;
  ring_->busy.store(true, std::memory_order_seq_cst);
  if (!g_on.load(std::memory_order_seq_cst)) return;
  if (ring_->bytes == nullptr && !map_bytes(*ring_)) return;
  time_ = now();
  std::uint64_t head = ring_->head.load(std::memory_order_relaxed);
  const std::size_t to_end = kRingBytes - head % kRingBytes;
  const std::size_t skipped = to_end < size ? to_end : 0;
  if (head + skipped + size - ring_->seen_tail > kRingBytes) {
    wait_for_room(*ring_, head, skipped + size);
  }
  if (skipped != 0) {
    auto* skip = new (ring_->bytes + head % kRingBytes) Record;
    skip->size = static_cast<std::uint32_t>(skipped);
    head += skipped;
    ring_->head.store(head, std::memory_order_release);
  }
  at_ = ring_->bytes + head % kRingBytes;
}

Place::~Place() {
  if (ring_ == nullptr) return;
  if (at_ != nullptr) {
    const std::uint64_t head = ring_->head.load(std::memory_order_relaxed);
    ring_->head.store(head + size_, std::memory_order_release);
    // Once per half: the drain is called before the ring is full.
    constexpr std::uint64_t kHalf = kRingBytes / 2;
    if (head / kHalf != (head + size_) / kHalf) ring_bell();
  }
  ring_->busy.store(false, std::memory_order_release);
}

void start_rings() {
  shared();
  g_failed.store(false, std::memory_order_relaxed);
  g_on.store(true, std::memory_order_seq_cst);
}

void turn_off() noexcept { g_on.store(false, std::memory_order_seq_cst); }

// Allocates nothing, for a thread that could not tell anybody. Others only add to the end of the
// list; those are seen in the next round.
void drain(RecordVisitor& visitor) {
  Shared& all = shared();
  std::unique_lock lock(lists_mutex());
  std::size_t count = all.rings.size();
  for (std::size_t i = 0; i < count;) {
    Ring* ring = all.rings[i];
    lock.unlock();
    const bool left = ring->left.load(std::memory_order_acquire);
    drain_ring(*ring, visitor);
    lock.lock();
    if (left) {
      all.rings.erase(all.rings.begin() + static_cast<std::ptrdiff_t>(i));
      all.spare.push_back(ring);  // new_ring made room
      --count;
    } else {
      ++i;
    }
  }
}

void finish_rings(RecordVisitor& visitor) {
  Shared& all = shared();
  for (bool busy = true; busy;) {
    busy = false;
    {
      const std::lock_guard lock(lists_mutex());
      for (const Ring* ring : all.rings) busy |= ring->busy.load(std::memory_order_seq_cst);
    }
    drain(visitor);
    if (busy) std::this_thread::yield();
  }
  const std::lock_guard lock(lists_mutex());
  for (auto* list : {&all.rings, &all.spare}) {
    for (Ring* ring : *list) {
      if (ring->bytes == nullptr) continue;
      munmap(ring->bytes, kRingBytes);
      ring->bytes = nullptr;
      g_ring_bytes.fetch_sub(kRingBytes, std::memory_order_relaxed);
    }
  }
}

bool rings_failed() noexcept { return g_failed.load(std::memory_order_relaxed); }

void wait_for_bell(std::int64_t milliseconds) {
  Shared& all = shared();
  std::unique_lock lock(all.bell_mutex);
  all.bell.wait_for(lock, std::chrono::milliseconds(milliseconds), [&] { return all.rung; });
  all.rung = false;
}

void ring_bell() noexcept {
  Shared& all = shared();
  {
    const std::lock_guard lock(all.bell_mutex);
    all.rung = true;
  }
  all.bell.notify_one();
}

std::size_t ring_bytes() noexcept { return g_ring_bytes.load(std::memory_order_relaxed); }

}  // namespace tenure::detail::events
