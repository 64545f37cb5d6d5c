// What tells one call of a traced function from another: the shapes and dtypes of the tensors in
// its arguments, and the values of everything else. Included by tenure/function.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/export.h"
#include "tenure/scope.h"
#include "tenure/tensor.h"

namespace tenure::detail {

// A list whose first N elements need no allocation.
template <class T, std::size_t N>
class InlineList {
 public:
  void push_back(T value) {
    if (size_ < N) {
      inline_[size_++] = std::move(value);
      return;
    }
    if (size_ == N) {
      heap_.reserve(2 * N);
      for (T& each : inline_) heap_.push_back(std::move(each));
    }
    heap_.push_back(std::move(value));
    ++size_;
  }
  void resize(std::size_t size) {
    while (size_ < size) push_back(T());
  }
  std::size_t size() const { return size_; }
  std::span<T> span() { return {size_ <= N ? inline_.data() : heap_.data(), size_}; }
  std::span<const T> span() const { return {size_ <= N ? inline_.data() : heap_.data(), size_}; }

 private:
  std::array<T, N> inline_{};
  std::vector<T> heap_;
  std::size_t size_ = 0;
};

// A plain argument that is not made of words: how to compare and to keep it.
struct PlainArgument {
  const void* value = nullptr;
  bool (*equal)(const void* a, const void* b) = nullptr;
  std::shared_ptr<const void> (*copy)(const void* value) = nullptr;
};

// What tells one trace of a function from another: shapes and dtypes, and plain values.
class Key {
 public:
  void add(std::int64_t word) {
    words_.push_back(word);
    kinds_.push_back(word);
  }
  TENURE_API void add(const Tensor& tensor);
  TENURE_API void add(std::string_view text);
  template <class T>
  void add_plain(const T& value) {
    add(static_cast<std::int64_t>(std::hash<T>()(value)));
    plain_.push_back({&value,
                      [](const void* a, const void* b) {
                        return *static_cast<const T*>(a) == *static_cast<const T*>(b);
                      },
                      [](const void* from) -> std::shared_ptr<const void> {
                        return std::make_shared<const T>(*static_cast<const T*>(from));
                      }});
  }
  std::span<const std::int64_t> words() const { return words_.span(); }
  std::span<const std::int64_t> kinds() const { return kinds_.span(); }  // all but tensors' sizes
  std::span<const PlainArgument> plain() const { return plain_.span(); }

 private:
  InlineList<std::int64_t, 40> words_;
  InlineList<std::int64_t, 24> kinds_;
  InlineList<PlainArgument, 2> plain_;
};

using TensorList = InlineList<Tensor, 8>;

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
concept RangeArgument = requires(T& value) {
  value.begin();
  value.end();
  value.size();
} && !std::is_convertible_v<const T&, std::string_view>;
template <class T>
concept MapArgument = RangeArgument<T> && requires { typename T::mapped_type; };
template <class T>
concept TupleArgument = requires { std::tuple_size<T>::value; } && !RangeArgument<T>;

// Adds an argument to the key, and its tensors to `in`.
template <class T>
void add_argument(Key& key, TensorList& in, T& value) {
  static_assert(!std::is_pointer_v<T>,
                "a traced function is never keyed by an address: pass the value");
  if constexpr (std::is_same_v<T, Tensor>) {
    key.add(value);
    in.push_back(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    const auto wide = static_cast<double>(value);
    std::int64_t bits;
    static_assert(sizeof bits == sizeof wide);
    __builtin_memcpy(&bits, &wide, sizeof bits);
    key.add(bits);
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    key.add(static_cast<std::int64_t>(value));
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    key.add(std::string_view(value));
  } else if constexpr (kIsOptional<T>) {
    key.add(value ? 1 : 0);
    if (value) add_argument(key, in, *value);
  } else if constexpr (MapArgument<T>) {
    key.add(static_cast<std::int64_t>(value.size()));
    for (auto& [name, each] : value) {
      add_argument(key, in, name);
      add_argument(key, in, each);
    }
  } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
    key.add(static_cast<std::int64_t>(value.size()));
    for (const bool each : value) key.add(each ? 1 : 0);
  } else if constexpr (RangeArgument<T>) {
    key.add(static_cast<std::int64_t>(value.size()));
    for (auto& each : value) add_argument(key, in, each);
  } else if constexpr (TupleArgument<T>) {
    std::apply([&](auto&... each) { (add_argument(key, in, each), ...); }, value);
  } else if constexpr (CustomWalk<T>) {
    walk_tensors(value, [&](auto& part) { add_argument(key, in, part); });
  } else {
    static_assert(
        requires { std::hash<T>()(value); },
        "a traced function cannot tell two of these arguments apart: give the type "
        "std::hash and ==, or walk_tensors (see tenure/scope.h)");
    key.add_plain(value);
  }
}

// Calls visit(Tensor&) for the tensors in an argument or a result.
template <class T, class Visit>
void visit_argument(T& value, Visit&& visit) {
  if constexpr (requires { std::hash<T>()(value); } && !CustomWalk<T> && !kIsOptional<T>) {
    // plain
  } else {
    walk(value, visit);
  }
}

}  // namespace tenure::detail
