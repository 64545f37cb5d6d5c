#include "memory/pool.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <mutex>
#include <utility>

#include "memory/events.h"
#include "memory/sanitizer.h"
#include "memory/slab.h"

namespace tenure::detail {
namespace {

constexpr std::size_t kOwnPages = std::size_t{256} << 10;  // a span from here on is no region's
constexpr std::size_t kSlack = std::size_t{12} << 20;      // may be kept whatever was live
constexpr std::size_t kLeastKept = std::size_t{8} << 20;   // of free memory, whatever is reserved
constexpr int kFurthestLoan = 16;                          // classes: four times the size
constexpr std::size_t kStretch = 2;  // times what may be kept, until a load is another one

constexpr std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// A span has the fewest pages of which its blocks leave at most a sixteenth: the fewer blocks in a
// span, the fewer keep its pages from going back.
std::size_t span_bytes(std::size_t block) {
  std::size_t bytes = whole_pages(block);
  while (bytes % block > bytes / 16) bytes += kPage;
  return bytes;
}

std::size_t object_bytes(const Span& span) { return sizeof(Span) + span.blocks * sizeof(Storage); }

// Under a lock: others only look.
void add(std::atomic<std::uint32_t>& count, std::uint32_t change) noexcept {
  count.store(count.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
}

thread_local std::size_t t_given_back = 0;

}  // namespace

std::size_t last_given_back() { return std::exchange(t_given_back, 0); }

std::uint16_t Pool::size_class(std::size_t nbytes) {
  if (nbytes <= 64) return 0;
  if (nbytes <= 512) return static_cast<std::uint16_t>((nbytes - 1) / 64);
  const std::size_t last = nbytes - 1;  // so that a power of two closes its doubling
  const int doubling = std::bit_width(last) - 1;
  if (doubling < 20) {
    const auto step = (last >> (doubling - 2)) & 3;
    return static_cast<std::uint16_t>(8 + (doubling - 9) * 4 + static_cast<int>(step));
  }
  const auto step = (last >> (doubling - 3)) & 7;
  return static_cast<std::uint16_t>(52 + (doubling - 20) * 8 + static_cast<int>(step));
}

std::size_t Pool::class_bytes(std::uint16_t size_class) {
  if (size_class < 8) return 64 * (std::size_t{size_class} + 1);
  if (size_class < 52) {
    const int doubling = 9 + (size_class - 8) / 4;
    const int step = (size_class - 8) % 4;
    return static_cast<std::size_t>(5 + step) << (doubling - 2);
  }
  const int doubling = 20 + (size_class - 52) / 8;
  const int step = (size_class - 52) % 8;
  return static_cast<std::size_t>(9 + step) << (doubling - 3);
}

Pool::Pool(Device device, MemorySource source)
    : device_(device), source_(source), regions_(source) {
  for (std::uint16_t index = 0; index < kClasses; ++index) {
    const std::size_t block = class_bytes(index);
    classes_[index].single = span_bytes(block) < 2 * block;
  }
}

[[gnu::always_inline]] inline Storage* Pool::pop(Class& list) noexcept {
  Storage* storage = list.head;
  if (storage == nullptr) {
    storage = pop_from_lists(list);
    if (storage == nullptr) return nullptr;
  }
  list.head = storage->next_free;
  add(list.free_blocks, -1u);
  return storage;
}

// The first block of a span, which is now the current one.
[[gnu::noinline]] Storage* Pool::pop_from_lists(Class& list) noexcept {
  Span* span = list.partly.front;
  if (span != nullptr) {
    list.partly.remove(*span);
  } else {
    span = list.empty.front;
    if (span == nullptr) return nullptr;
    remove_empty(list, *span);
  }
  list.current = span;
  span->free = 0;
  return std::exchange(span->head, nullptr);
}

void Pool::push_empty(Class& list, Span& span) noexcept {
  list.empty.push_front(span);
  add(list.empty_pages, static_cast<std::uint32_t>(span.bytes / kPage));
}

void Pool::remove_empty(Class& list, Span& span) noexcept {
  list.empty.remove(span);
  add(list.empty_pages, -static_cast<std::uint32_t>(span.bytes / kPage));
}

// What `head` holds goes to the lists.
void Pool::list_head(Class& list) noexcept {
  if (!list.single) {
    Span* span = std::exchange(list.current, nullptr);
    if (list.head == nullptr) return;
    span->head = std::exchange(list.head, nullptr);
    for (Storage* storage = span->head; storage != nullptr; storage = storage->next_free) {
      ++span->free;
    }
    if (span->free == span->blocks) {
      span->emptied = grown_.load(std::memory_order_relaxed);
      push_empty(list, *span);
    } else {
      list.partly.push_front(*span);
    }
    return;
  }
  Storage* oldest = nullptr;  // the list the other way round
  while (Storage* storage = list.head) {
    list.head = storage->next_free;
    storage->next_free = oldest;
    oldest = storage;
  }
  while (Storage* storage = oldest) {
    oldest = storage->next_free;
    storage->next_free = nullptr;
    Span& span = *storage->span;
    span.head = storage;
    span.free = 1;
    push_empty(list, span);
  }
}

Storage* Pool::allocate(std::size_t nbytes) {
  if (nbytes > std::size_t{1} << 46) return nullptr;
  const std::uint16_t index = size_class(nbytes);
  lock_.lock();
  Storage* storage = pop(classes_[index]);
  if (storage != nullptr) [[likely]]
    count_live(nbytes);
  lock_.unlock();
  if (storage == nullptr) [[unlikely]] {
    storage = allocate_new(index, nbytes);
    if (storage == nullptr) return nullptr;
  }
  storage->nbytes = nbytes;
  ASAN_UNPOISON_MEMORY_REGION(storage->data, nbytes);
  storage->handles.store(1, std::memory_order_release);
  return storage;
}

[[gnu::always_inline]] inline void Pool::count_live(std::size_t nbytes) noexcept {
  const std::size_t live = live_.load(std::memory_order_relaxed) + nbytes;
  live_.store(live, std::memory_order_relaxed);
  if (live > peak_.load(std::memory_order_relaxed)) peak_.store(live, std::memory_order_relaxed);
}

[[gnu::noinline]] Storage* Pool::allocate_new(std::uint16_t index, std::size_t nbytes) {
  Storage* storage = nullptr;
  {
    const std::lock_guard guard(sizing_);
    storage = take_new(index, nbytes);
    if (storage != nullptr) {
      const std::lock_guard counts(lock_);
      count_live(nbytes);
    }
  }
  tell_size();
  return storage;
}

Storage* Pool::take_new(std::uint16_t index, std::size_t nbytes) {
  Class& list = classes_[index];
  const std::size_t block = class_bytes(index);
  const std::size_t total = span_bytes(block);
  t_given_back = 0;
  {
    const std::lock_guard guard(lock_);  // another thread may have grown the class
    if (Storage* storage = pop(list)) return storage;
  }
  update_limit(live_bytes() + nbytes);
  const std::size_t limit = limit_.load(std::memory_order_relaxed);
  if (taken_.load(std::memory_order_relaxed) + total > limit) {
    if (Storage* storage = borrow(index, total)) return storage;
    if (Storage* storage = reshape(index, total)) return storage;
    give_back_beyond(limit - std::min(limit, total));
  }
  for (;;) {
    if (Storage* storage = grow(index, total)) return storage;
    const std::size_t given_back = t_given_back;
    if (Storage* storage = make_room(index, total)) return storage;
    if (t_given_back == given_back) break;
  }
  const std::size_t least = whole_pages(block);
  return least < total ? grow(index, least) : nullptr;
}

// A block of the class, or as much given back as `total` more takes. All that is free at one moment
// is looked at, so that a thread that frees one block and takes another is never between the two.
Storage* Pool::make_room(std::uint16_t index, std::size_t total) {
  const std::size_t limit = budget();
  const bool over_budget = limit != 0 && reserved_bytes() + total > limit;
  const std::size_t wanted =
      over_budget ? reserved_bytes() + total - limit : std::numeric_limits<std::size_t>::max();
  lock_.lock();
  Storage* storage = pop(classes_[index]);
  IntrusiveList<Span> spans;
  if (storage == nullptr) spans = detach_oldest(wanted, 0);
  lock_.unlock();
  t_given_back += retire(spans);
  return storage;
}

// A free block of a class somewhat larger, as it is. Where there is a budget, what it has too much
// could be missing elsewhere.
Storage* Pool::borrow(std::uint16_t index, std::size_t total) noexcept {
  if (total < kOwnPages || budget() != 0) return nullptr;
  for (int larger = index + 1; larger <= std::min(index + kFurthestLoan, kClasses - 1); ++larger) {
    Class& list = classes_[static_cast<std::size_t>(larger)];
    if (list.free_blocks.load(std::memory_order_relaxed) == 0) continue;
    const std::lock_guard guard(lock_);
    if (Storage* storage = pop(list)) {
      storage->capacity = class_bytes(index);
      return storage;
    }
  }
  return nullptr;
}

// The block of another class's span, made to fit.
Storage* Pool::reshape(std::uint16_t index, std::size_t total) noexcept {
  if (total < kOwnPages) return nullptr;
  Span* span = take_near(index);
  if (span == nullptr) return nullptr;
  const std::size_t from = span->bytes;
  ASAN_UNPOISON_MEMORY_REGION(span->base, from);
  const std::size_t limit = budget();
  const bool is_over_budget = limit != 0 && reserved_bytes() - from + total > limit;
  std::byte* base = is_over_budget ? nullptr : source_.resize(span->base, from, total);
  if (base == nullptr) {
    IntrusiveList<Span> spans;
    spans.push_front(*span);
    retire(spans);
    return nullptr;
  }
  count(*span, total, 0);
  span->base = base;
  Storage* storage = std::exchange(span->head, nullptr);
  span->free = 0;
  storage->size_class = index;
  storage->data = base;
  storage->capacity = total;
  ASAN_POISON_MEMORY_REGION(base, total);
  give_back_beyond(limit_.load(std::memory_order_relaxed));
  return storage;
}

// The span longest out of use of the nearest class that has one, not more than eight away.
Span* Pool::take_near(std::uint16_t index) noexcept {
  const int least = size_class(kOwnPages);
  for (int distance = 1; distance <= 8; ++distance) {
    for (const int near : {index + distance, index - distance}) {
      if (near < least || near >= kClasses) continue;
      Class& list = classes_[static_cast<std::size_t>(near)];
      const std::lock_guard guard(lock_);
      if (list.free_blocks.load(std::memory_order_relaxed) == 0) continue;
      list_head(list);
      Span* span = list.empty.back;
      remove_empty(list, *span);
      add(list.free_blocks, -1u);
      return span;
    }
  }
  return nullptr;
}

// The span is of so many bytes now.
void Pool::count(Span& span, std::size_t bytes, std::size_t tail_bytes) noexcept {
  reserved_.fetch_add(bytes - span.bytes, std::memory_order_relaxed);
  taken_.fetch_add(bytes - span.bytes, std::memory_order_relaxed);
  tail_bytes_.fetch_add(tail_bytes - span.tail_bytes, std::memory_order_relaxed);
  span.bytes = bytes;
  span.tail_bytes = tail_bytes;
  if (bytes == 0) return;
  grown_.fetch_add(1, std::memory_order_relaxed);
  stretch_bytes_ += bytes;
}

// One block of a new span; the others are for whoever comes next.
Storage* Pool::grow(std::uint16_t index, std::size_t total) {
  const std::size_t limit = budget();
  if (limit != 0 && (total > limit || reserved_bytes() > limit - total)) return nullptr;
  const std::size_t block = class_bytes(index);
  const auto blocks = static_cast<std::uint32_t>(total / block);
  Span* span = Slab<Span>::instance().allocate();
  *span = {.blocks = blocks};
  try {
    for (std::uint32_t i = 0; i < blocks; ++i) {
      Storage* storage = Slab<Storage>::instance().allocate();
      storage->next_free = span->head;
      span->head = storage;
    }
    if (total < kOwnPages) {
      const Regions::Run run = regions_.take(static_cast<std::uint32_t>(total / kPage));
      span->base = run.base;
      span->region = run.region;
    } else {
      span->base = source_.map(total);
    }
  } catch (...) {
    free_objects(*span);
    throw;
  }
  if (span->base == nullptr) {
    free_objects(*span);
    return nullptr;
  }
  std::byte* data = span->base;
  for (Storage* storage = span->head; storage != nullptr; storage = storage->next_free) {
    storage->size_class = index;
    storage->device = device_;
    storage->data = std::exchange(data, data + block);
    storage->capacity = block;
    storage->span = span;
    storage->deleter = nullptr;
  }
  ASAN_POISON_MEMORY_REGION(span->base, total);
  taken_.fetch_add(object_bytes(*span), std::memory_order_relaxed);
  count(*span, total, total - blocks * block);
  Storage* first = span->head;
  span->head = first->next_free;
  span->free = blocks - 1;
  if (blocks > 1) {
    Class& list = classes_[index];
    const std::lock_guard guard(lock_);
    add(list.free_blocks, span->free);
    list.partly.push_front(*span);
  }
  return first;
}

void Pool::free_objects(Span& span) noexcept {
  while (span.head != nullptr) {
    Storage* storage = span.head;
    span.head = storage->next_free;
    storage->span = nullptr;
    Slab<Storage>::instance().free(storage);
  }
  Slab<Span>::instance().free(&span);
}

void Pool::free(Storage* storage) noexcept {
  storage->session.store(nullptr, std::memory_order_relaxed);
  storage->handles.store(0, std::memory_order_release);
  ASAN_POISON_MEMORY_REGION(storage->data, storage->capacity);
  Class& list = classes_[storage->size_class];
  Span* span = storage->span;
  bool emptied = false;
  lock_.lock();
  live_.store(live_.load(std::memory_order_relaxed) - storage->nbytes, std::memory_order_relaxed);
  add(list.free_blocks, 1);
  if (list.single || span == list.current) {
    storage->next_free = list.head;
    list.head = storage;
    emptied = list.single;
    if (emptied) storage->capacity = class_bytes(storage->size_class);  // it may have been lent
    if (emptied) span->emptied = grown_.load(std::memory_order_relaxed);
  } else {
    emptied = push_to_span(list, *span, *storage);
  }
  lock_.unlock();
  if (emptied && taken_.load(std::memory_order_relaxed) > limit_.load(std::memory_order_relaxed))
      [[unlikely]] {
    give_back_excess();
  }
}

// Whether it was the last block of the span in use.
[[gnu::noinline]] bool Pool::push_to_span(Class& list, Span& span, Storage& storage) noexcept {
  storage.next_free = span.head;
  span.head = &storage;
  ++span.free;
  if (span.free == span.blocks) {
    if (span.blocks > 1) list.partly.remove(span);
    span.emptied = grown_.load(std::memory_order_relaxed);
    push_empty(list, span);
    return true;
  }
  if (span.free == 1) list.partly.push_front(span);
  return false;
}

std::size_t Pool::empty_bytes() const noexcept {
  std::size_t bytes = 0;
  for (std::uint16_t index = 0; index < kClasses; ++index) {
    const Class& list = classes_[index];
    bytes += list.single ? list.free_blocks.load(std::memory_order_relaxed) * class_bytes(index)
                         : list.empty_pages.load(std::memory_order_relaxed) * kPage;
  }
  return bytes;
}

// Spans that together have so many bytes, out of what is wholly free beyond `keep`: those longest
// out of use, and of these the largest.
IntrusiveList<Span> Pool::detach_oldest(std::size_t bytes, std::size_t keep) noexcept {
  struct Oldest {
    std::uint64_t emptied;
    std::size_t index;
  };
  const auto is_later = [](const Oldest& a, const Oldest& b) {
    return a.emptied != b.emptied ? a.emptied > b.emptied : a.index < b.index;
  };
  std::array<Oldest, kClasses> heap;
  std::size_t count = 0;
  std::size_t pooled = 0;
  for (std::size_t index = 0; index < kClasses; ++index) {
    Class& list = classes_[index];
    list_head(list);
    if (list.empty.empty()) continue;
    heap[count++] = {list.empty.back->emptied, index};
    pooled += list.empty_pages.load(std::memory_order_relaxed) * kPage;
  }
  std::make_heap(heap.begin(), heap.begin() + count, is_later);
  IntrusiveList<Span> spans;
  std::size_t detached = 0;
  while (count != 0 && detached < bytes && pooled - detached > keep) {
    std::pop_heap(heap.begin(), heap.begin() + count, is_later);
    Oldest& oldest = heap[count - 1];
    Class& list = classes_[oldest.index];
    Span& span = *list.empty.back;
    remove_empty(list, span);
    add(list.free_blocks, -span.blocks);
    detached += span.bytes;
    spans.push_front(span);
    if (list.empty.empty()) {
      --count;
    } else {
      oldest.emptied = list.empty.back->emptied;
      std::push_heap(heap.begin(), heap.begin() + count, is_later);
    }
  }
  return spans;
}

std::size_t Pool::retire(IntrusiveList<Span> spans) noexcept {
  std::size_t bytes = 0;
  for (Span* next = spans.front; next != nullptr;) {
    Span& span = *next;
    next = span.next;
    bytes += span.bytes;
    ASAN_UNPOISON_MEMORY_REGION(span.base, span.bytes);
    if (span.region != nullptr) {
      regions_.give_back({span.base, span.region}, static_cast<std::uint32_t>(span.bytes / kPage));
    } else {
      source_.unmap(span.base, span.bytes);
    }
    count(span, 0, 0);
    taken_.fetch_sub(object_bytes(span), std::memory_order_relaxed);
    free_objects(span);
  }
  return bytes;
}

std::size_t Pool::give_back_beyond(std::size_t limit) noexcept {
  const std::size_t taken = taken_.load(std::memory_order_relaxed);
  if (taken <= limit || empty_bytes() <= kLeastKept) return 0;
  lock_.lock();
  const IntrusiveList<Span> spans = detach_oldest(taken - limit, kLeastKept);
  lock_.unlock();
  return retire(spans);
}

[[gnu::noinline]] void Pool::give_back_excess() noexcept {
  std::size_t given_back = 0;
  {
    const std::lock_guard guard(sizing_);
    update_limit(live_bytes());
    given_back = give_back_beyond(limit_.load(std::memory_order_relaxed));
  }
  if (given_back != 0) tell_size();
}

// Looks at what was live, with `live` now.
void Pool::update_limit(std::size_t live) noexcept {
  const auto limit_of = [&] {
    const std::size_t peak =
        std::max({live, peak_.load(std::memory_order_relaxed), load_peaks_[0], load_peaks_[1]});
    return peak + peak / 2 + kSlack;
  };
  std::size_t limit = limit_of();
  if (stretch_bytes_ / kStretch > limit) {
    note_peak();
    load_peaks_ = {0, load_peaks_[0]};
    stretch_bytes_ = 0;
    limit = limit_of();
  }
  limit_.store(limit, std::memory_order_relaxed);
}

// Lets peak_ begin again.
void Pool::note_peak() noexcept {
  const std::lock_guard guard(lock_);
  const std::size_t peak = peak_.exchange(live_bytes(), std::memory_order_relaxed);
  told_peak_ = std::max(told_peak_, peak);
  load_peaks_[0] = std::max(load_peaks_[0], peak);
}

std::size_t Pool::peak_bytes() noexcept {
  const std::lock_guard guard(sizing_);
  return std::max(told_peak_, peak_.load(std::memory_order_relaxed));
}

void Pool::reset_peak() noexcept {
  const std::lock_guard guard(sizing_);
  note_peak();
  told_peak_ = 0;
}

std::size_t Pool::trim() noexcept {
  std::size_t returned = 0;
  {
    const std::lock_guard guard(sizing_);
    note_peak();
    load_peaks_ = {};
    stretch_bytes_ = 0;
    lock_.lock();
    const IntrusiveList<Span> spans = detach_oldest(std::numeric_limits<std::size_t>::max(), 0);
    lock_.unlock();
    returned = retire(spans);
    update_limit(live_bytes());
  }
  if (returned != 0) tell_size();
  return returned;
}

void Pool::lock() noexcept {
  sizing_.lock();
  lock_.lock();
}

void Pool::unlock() noexcept {
  lock_.unlock();
  sizing_.unlock();
}

void Pool::tell_size() noexcept {
  if (events::on()) events::cold::pool_changed(reserved_bytes(), pooled_bytes());
}

std::size_t Pool::pooled_bytes() noexcept {
  std::size_t bytes = 0;
  for (std::uint16_t index = 0; index < kClasses; ++index) {
    const Class& list = classes_[index];
    bytes += list.free_blocks.load(std::memory_order_relaxed) * class_bytes(index);
  }
  return bytes;
}

Pool& pool(Device device) {
  static Pool* cpu =
      new Pool(Device{}, MemorySource{map_pages, unmap_pages, resize_pages, empty_pages});
  (void)device;  // one device so far; a second one gets a pool beside this
  return *cpu;
}

}  // namespace tenure::detail
