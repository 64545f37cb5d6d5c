// Orders of elements, row by row.
//
// Elements are compared by an integer of the same order (order_key.h) and then by their place, so
// every order is total and each result unique.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "backend/cpu/elementwise.h"
#include "backend/cpu/first_beyond.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/order_key.h"
#include "backend/cpu/parallel.h"
#include "ops/sorting_attrs.h"

namespace tenure::cpu {
namespace {

template <class T>
struct Entry {
  OrderKey<T> key;  // as it is, or with all bits turned where the largest come first
  std::int32_t place;
  friend bool operator<(const Entry& a, const Entry& b) {
    return a.key != b.key ? a.key < b.key : a.place < b.place;
  }
};

// Smaller keys come first.
template <class T>
OrderKey<T> rank_of(T value, bool largest_first) {
  const auto key = order_key(value);
  return largest_first ? static_cast<OrderKey<T>>(~key) : key;
}

struct Rows {
  std::int64_t size, count;
  explicit Rows(const Shape& shape) : size(shape[-1]) {
    count = size > 0 ? shape.numel() / size : 0;
  }
};

std::int64_t rows_worth_a_thread(std::int64_t elements) {
  return kSerialMathElements / std::max<std::int64_t>(elements, 1) + 1;
}

// Where the next element stands that may rank before `last`.
template <class T>
std::int64_t next_candidate(const T* src, std::int64_t from, std::int64_t size, T limit,
                            OrderKey<T> last, bool largest) {
  if constexpr (std::is_floating_point_v<T>) {
    return from + first_beyond(src + from, size - from, limit, largest);
  } else {
    while (from < size && rank_of(src[from], largest) >= last) ++from;
    return from;
  }
}

// The k best so far are a heap with the worst of them on top.
template <class T>
void top_k_row(const T* src, std::int64_t size, const ops::TopKAttrs& attrs, Entry<T>* best,
               T* values, std::int32_t* indices) {
  const std::int64_t k = attrs.k;
  for (std::int64_t i = 0; i < k; ++i) {
    best[i] = {rank_of(src[i], attrs.largest), static_cast<std::int32_t>(i)};
  }
  std::make_heap(best, best + k);
  for (std::int64_t i = k;; ++i) {
    i = next_candidate(src, i, size, src[best[0].place], best[0].key, attrs.largest);
    if (i >= size) break;
    const Entry<T> entry{rank_of(src[i], attrs.largest), static_cast<std::int32_t>(i)};
    if (!(entry < best[0])) continue;
    // The top gives way: its place goes down the heap until the new entry fits in.
    std::int64_t hole = 0;
    for (std::int64_t child = 1; child < k; child = 2 * hole + 1) {
      if (child + 1 < k && best[child] < best[child + 1]) ++child;
      if (!(entry < best[child])) break;
      best[hole] = best[child];
      hole = child;
    }
    best[hole] = entry;
  }
  if (attrs.sorted) std::sort(best, best + k);
  for (std::int64_t i = 0; i < k; ++i) {
    indices[i] = best[i].place;
    values[i] = src[best[i].place];
  }
}

template <class T>
std::size_t top_k_scratch(const ops::KernelArgs& args) noexcept {
  return static_cast<std::size_t>(args.out[0].numel()) * sizeof(Entry<T>);
}

template <class T>
void top_k(const ops::KernelArgs& args) noexcept {
  const auto& attrs = args.attrs.as<ops::TopKAttrs>();
  if (args.out[0].numel() == 0) return;
  const Rows rows(*args.in[0].shape);
  const T* src = args.in[0].as<T>();
  auto* best = reinterpret_cast<Entry<T>*>(args.scratch);
  T* values = args.out[0].as<T>();
  std::int32_t* indices = args.out[1].as<std::int32_t>();
  parallel_for(rows.count, rows_worth_a_thread(rows.size),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t r = begin; r < end; ++r) {
                   top_k_row(src + r * rows.size, rows.size, attrs, best + r * attrs.k,
                             values + r * attrs.k, indices + r * attrs.k);
                 }
               });
}

// Short keys and places share one integer, whose digits are sorted from the last to the first.
constexpr std::int64_t kRadixSize = 1024;  // shorter rows are sorted by comparing
constexpr int kDigitBits = 11;
constexpr int kDigits = 3;

void radix_sort(std::uint64_t* data, std::uint64_t* other, std::int64_t size) {
  constexpr std::size_t kBuckets = std::size_t{1} << kDigitBits;
  std::array<std::array<std::int64_t, kBuckets>, kDigits> counts{};
  const auto digit = [](std::uint64_t entry, int d) {
    return static_cast<std::size_t>(entry >> (32 + d * kDigitBits)) & (kBuckets - 1);
  };
  for (std::int64_t i = 0; i < size; ++i) {
    for (int d = 0; d < kDigits; ++d) ++counts[static_cast<std::size_t>(d)][digit(data[i], d)];
  }
  std::uint64_t* from = data;
  std::uint64_t* to = other;
  for (int d = 0; d < kDigits; ++d) {
    auto& starts = counts[static_cast<std::size_t>(d)];
    if (starts[digit(from[0], d)] == size) continue;  // all have the same
    std::int64_t start = 0;
    for (std::int64_t& count : starts) start += std::exchange(count, start);
    for (std::int64_t i = 0; i < size; ++i) to[starts[digit(from[i], d)]++] = from[i];
    std::swap(from, to);
  }
  if (from != data) std::copy_n(from, size, data);
}

template <class T>
constexpr bool kShort = sizeof(OrderKey<T>) == 4;

template <class T>
std::size_t sort_scratch(const ops::KernelArgs& args) noexcept {
  const auto count = static_cast<std::size_t>(args.in[0].numel());
  return count * (kShort<T> ? 2 * sizeof(std::uint64_t) : sizeof(Entry<T>));
}

template <class T>
void sort_row(const T* src, std::int64_t size, bool descending, std::byte* scratch, T* values,
              std::int32_t* indices) {
  if constexpr (kShort<T>) {
    auto* entries = reinterpret_cast<std::uint64_t*>(scratch);
    for (std::int64_t i = 0; i < size; ++i) {
      const auto key = static_cast<std::uint32_t>(rank_of(src[i], descending)) ^ 0x80000000U;
      entries[i] = std::uint64_t{key} << 32 | static_cast<std::uint64_t>(i);
    }
    if (size < kRadixSize) {
      std::sort(entries, entries + size);
    } else {
      radix_sort(entries, entries + size, size);
    }
    for (std::int64_t i = 0; i < size; ++i) indices[i] = static_cast<std::int32_t>(entries[i]);
  } else {
    auto* entries = reinterpret_cast<Entry<T>*>(scratch);
    for (std::int64_t i = 0; i < size; ++i) {
      entries[i] = {rank_of(src[i], descending), static_cast<std::int32_t>(i)};
    }
    std::sort(entries, entries + size);
    for (std::int64_t i = 0; i < size; ++i) indices[i] = entries[i].place;
  }
  for (std::int64_t i = 0; i < size; ++i) values[i] = src[indices[i]];
}

template <class T>
void sort(const ops::KernelArgs& args) noexcept {
  const bool descending = args.attrs.as<ops::SortAttrs>().descending;
  if (args.in[0].numel() == 0) return;
  const Rows rows(*args.in[0].shape);
  const T* src = args.in[0].as<T>();
  const std::size_t row_scratch = sort_scratch<T>(args) /
                                  static_cast<std::size_t>(args.in[0].numel()) *
                                  static_cast<std::size_t>(rows.size);
  T* values = args.out[0].as<T>();
  std::int32_t* indices = args.out[1].as<std::int32_t>();
  parallel_for(rows.count, rows_worth_a_thread(rows.size * 8),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t r = begin; r < end; ++r) {
                   const std::int64_t first = r * rows.size;
                   sort_row(src + first, rows.size, descending,
                            args.scratch + static_cast<std::size_t>(r) * row_scratch,
                            values + first, indices + first);
                 }
               });
}

// Rows that differ, by a table of the places where each was first seen. Elements are equal as their
// keys are: NaN equals NaN, and -0 equals 0.
template <class T>
class RowTable {
 public:
  RowTable(const ops::KernelArgs& args)
      : src_(args.in[0].as<T>()),
        rows_((*args.in[0].shape)[0]),
        width_((*args.in[0].shape)[1]),
        slots_(reinterpret_cast<std::int32_t*>(args.scratch)),
        mask_(slots_for(rows_) - 1) {
    std::fill_n(slots_, mask_ + 1, -1);
    numbers_ = slots_ + mask_ + 1;
  }

  static std::uint64_t slots_for(std::int64_t rows) {
    std::uint64_t slots = 16;
    while (slots < 2 * static_cast<std::uint64_t>(rows)) slots *= 2;
    return slots;
  }
  static std::size_t scratch_bytes(const ops::KernelArgs& args) noexcept {
    const std::int64_t rows = (*args.in[0].shape)[0];
    return (static_cast<std::size_t>(slots_for(rows)) + static_cast<std::size_t>(rows)) *
           sizeof(std::int32_t);
  }

  // Calls found(row, number) for each row with the number of those that differ it is, and
  // fresh(row) for the first of each. Returns how many there are.
  template <class Fresh, class Found>
  std::int64_t walk(Fresh fresh, Found found) {
    std::int32_t count = 0;
    for (std::int64_t row = 0; row < rows_; ++row) {
      std::uint64_t slot = hash(row) & mask_;
      while (slots_[slot] >= 0 && !equal(slots_[slot], row)) slot = (slot + 1) & mask_;
      if (slots_[slot] < 0) {
        slots_[slot] = static_cast<std::int32_t>(row);
        numbers_[row] = count++;
        fresh(row);
      }
      found(row, numbers_[slots_[slot]]);
    }
    return count;
  }

 private:
  std::uint64_t hash(std::int64_t row) const {
    std::uint64_t h = 0x9e3779b97f4a7c15;
    for (std::int64_t i = 0; i < width_; ++i) {
      h ^= static_cast<std::uint64_t>(key(src_[row * width_ + i]));
      h *= 0xff51afd7ed558ccd;
      h ^= h >> 32;
    }
    return h;
  }
  bool equal(std::int64_t a, std::int64_t b) const {
    for (std::int64_t i = 0; i < width_; ++i) {
      if (key(src_[a * width_ + i]) != key(src_[b * width_ + i])) return false;
    }
    return true;
  }
  static auto key(T value) { return order_key(value); }

  const T* src_;
  std::int64_t rows_, width_;
  std::int32_t* slots_;
  std::uint64_t mask_;
  std::int32_t* numbers_;
};

template <class T>
void count_unique(const ops::KernelArgs& args, std::span<std::int64_t> sizes) noexcept {
  sizes[0] = RowTable<T>(args).walk([](std::int64_t) {}, [](std::int64_t, std::int32_t) {});
}

template <class T>
void unique(const ops::KernelArgs& args) noexcept {
  std::int32_t* kept = args.out[0].as<std::int32_t>();
  std::int32_t* inverse = args.out[1].as<std::int32_t>();
  RowTable<T>(args).walk([&](std::int64_t row) { *kept++ = static_cast<std::int32_t>(row); },
                         [&](std::int64_t row, std::int32_t number) { inverse[row] = number; });
}

template <class T>
void searchsorted(const ops::KernelArgs& args) noexcept {
  const bool right = args.attrs.as<ops::SearchAttrs>().right;
  const Shape& sorted_shape = *args.in[0].shape;
  const std::int64_t size = sorted_shape[-1];
  const std::int64_t count = args.in[1].numel();
  // One row for all values, or one for each row of them.
  const std::int64_t per_row = sorted_shape.rank() == 1 ? count : (*args.in[1].shape)[-1];
  const T* sorted = args.in[0].as<T>();
  const T* values = args.in[1].as<T>();
  std::int32_t* dst = args.out[0].as<std::int32_t>();
  parallel_for(count, kSerialMathElements, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* row = sorted + i / per_row * size;
      const T value = values[i];
      std::int64_t low = 0, high = size;
      while (low < high) {
        const std::int64_t middle = (low + high) / 2;
        if (right ? row[middle] <= value : row[middle] < value) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      dst[i] = static_cast<std::int32_t>(low);
    }
  });
}

template <class T>
constexpr auto order_rows() {
  constexpr DType dtype = dtype_of<T>;
  return std::array{
      ops::KernelRow{"top_k", dtype, top_k<T>, top_k_scratch<T>},
      ops::KernelRow{"sort", dtype, sort<T>, sort_scratch<T>},
      ops::KernelRow{"unique", dtype, unique<T>, RowTable<T>::scratch_bytes, count_unique<T>},
  };
}

template <class T>
constexpr ops::KernelRow search_row() {
  return {"searchsorted", dtype_of<T>, searchsorted<T>};
}

constexpr std::array kOrders = {
    order_rows<float>(),        order_rows<double>(),       order_rows<std::int32_t>(),
    order_rows<std::int64_t>(), order_rows<std::uint8_t>(), order_rows<std::int8_t>(),
    order_rows<bool>(),         order_rows<Float16>(),      order_rows<BFloat16>()};
constexpr std::array kSearches = {search_row<float>(),        search_row<double>(),
                                  search_row<std::int32_t>(), search_row<std::int64_t>(),
                                  search_row<std::uint8_t>(), search_row<std::int8_t>()};

}  // namespace

std::span<const ops::KernelRow> sorting_kernels() {
  static constexpr auto rows = [] {
    std::array<ops::KernelRow, kOrders.size() * kOrders[0].size() + kSearches.size()> all{};
    std::size_t at = 0;
    for (const auto& of_dtype : kOrders) {
      for (const ops::KernelRow& row : of_dtype) all[at++] = row;
    }
    for (const ops::KernelRow& row : kSearches) all[at++] = row;
    return all;
  }();
  return rows;
}

}  // namespace tenure::cpu
