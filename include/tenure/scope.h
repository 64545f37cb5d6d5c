// tidy and keep: everything made inside a tidy is disposed at its end, except what it returns.
//
//   tenure::Tensor y = tenure::tidy("step", [&] { return tenure::tanh(x) * tenure::sigmoid(x); });
//
// A tidy may return void, a number, a string, a Tensor, a Variable, a Job, or vectors, arrays,
// pairs, tuples, optionals and maps of these. For a struct of your own, say once where its tensors
// are, in the struct's namespace:
//
//   struct Pair { tenure::Tensor mean, deviation; };
//   void walk_tensors(Pair& p, auto&& visit) { visit(p.mean); visit(p.deviation); }
//
// A tidy of a function that returns a Task (tenure/task.h) is a Task, and ends when that one does.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tenure/callable.h"
#include "tenure/export.h"
#include "tenure/tensor.h"

namespace tenure {

class Variable;

namespace detail {

template <class T>
struct Walk;  // Walk<T>::each(value, visit) calls visit(Tensor&) for every tensor in value

template <class T>
concept CustomWalk = requires(T& value, void (*visit)(Tensor&)) { walk_tensors(value, visit); };

template <class T, class Visit>
void walk(T& value, Visit&& visit) {
  Walk<std::remove_cvref_t<T>>::each(value, visit);
}

template <class T>
struct Walk {
  template <class Visit>
  static void each(T& value, Visit&& visit) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      // no tensors in a number
    } else if constexpr (CustomWalk<T>) {
      walk_tensors(value, [&visit](auto& part) { walk(part, visit); });
    } else {
      static_assert(sizeof(T) == 0,
                    "tidy cannot see the tensors in this type: define "
                    "walk_tensors(YourType&, visit) in its namespace (see tenure/scope.h)");
    }
  }
};

template <>
struct Walk<Tensor> {
  static void each(Tensor& value, auto&& visit) { visit(value); }
};
template <>
struct Walk<Variable> {
  static void each(Variable&, auto&&) {}  // no scope owns a variable
};
template <class T>
struct Walk<Job<T>> {
  static void each(Job<T>&, auto&&) {}  // what it will give was not made here
};
template <>
struct Walk<std::string> {
  static void each(std::string&, auto&&) {}
};

struct WalkRange {
  static void each(auto& range, auto&& visit) {
    for (auto& value : range) walk(value, visit);
  }
};
template <class T, class A>
struct Walk<std::vector<T, A>> : WalkRange {};
template <class A>
struct Walk<std::vector<bool, A>> {
  static void each(std::vector<bool, A>&, auto&&) {}
};
template <class T, std::size_t N>
struct Walk<std::array<T, N>> : WalkRange {};

struct WalkMap {
  static void each(auto& map, auto&& visit) {
    for (auto& [key, value] : map) walk(value, visit);
  }
};
template <class K, class V, class C, class A>
struct Walk<std::map<K, V, C, A>> : WalkMap {};
template <class K, class V, class H, class E, class A>
struct Walk<std::unordered_map<K, V, H, E, A>> : WalkMap {};

struct WalkTuple {
  static void each(auto& tuple, auto&& visit) {
    std::apply([&visit](auto&... values) { (walk(values, visit), ...); }, tuple);
  }
};
template <class A, class B>
struct Walk<std::pair<A, B>> : WalkTuple {};
template <class... Ts>
struct Walk<std::tuple<Ts...>> : WalkTuple {};

template <class T>
struct Walk<std::optional<T>> {
  static void each(std::optional<T>& value, auto&& visit) {
    if (value) walk(*value, visit);
  }
};

struct Scope;

class TENURE_API ScopeGuard {
 public:
  ScopeGuard(std::string_view name, std::source_location site);
  ~ScopeGuard();  // closes it; one out of order is a warning here
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;
  void pass_outward(const Tensor& tensor) noexcept;
  // A ScopeError if it is not the innermost of this task; it and no other has ended all the same.
  void close();

 private:
  Scope* scope_;
};

// All of them or none: the user's walk may throw, and then the scope keeps what it was to give.
template <class T>
void pass_outward(ScopeGuard& scope, T& result) {
  if constexpr (std::is_same_v<T, Tensor>) {
    scope.pass_outward(result);
  } else {
    std::vector<Tensor> tensors;
    walk(result, [&tensors](Tensor& tensor) { tensors.push_back(tensor); });
    for (const Tensor& tensor : tensors) scope.pass_outward(tensor);
  }
}

// In tenure/task.h: the scope is open from the task's start to its end.
template <class F>
std::invoke_result_t<F&> tidy_task(std::string name, F fn, std::source_location site);

}  // namespace detail

template <class F>
auto tidy(std::string_view name, F&& fn,
          std::source_location site = std::source_location::current()) {
  using Result = std::invoke_result_t<F>;
  detail::check_function("tidy", fn, site);
  if constexpr (detail::kIsTask<Result>) {
    return detail::tidy_task<std::decay_t<F>>(std::string(name), std::forward<F>(fn), site);
  } else if constexpr (std::is_void_v<Result>) {
    detail::ScopeGuard scope(name, site);
    std::forward<F>(fn)();
    scope.close();
  } else {
    detail::ScopeGuard scope(name, site);
    auto result = std::forward<F>(fn)();
    detail::pass_outward(scope, result);
    scope.close();
    return result;
  }
}

template <class F>
auto tidy(F&& fn, std::source_location site = std::source_location::current()) {
  return tidy(std::string_view(), std::forward<F>(fn), site);
}

// Takes a tensor out of every scope around it. Its life is the caller's from here on.
TENURE_API Tensor keep(Tensor tensor, std::source_location site = std::source_location::current());

}  // namespace tenure
