// What a piece of work costs: time and memory, operation by operation.
//
//   auto [y, profile] = tenure::profile([&] { return model(x); });
//   std::cout << profile;                                   // a table, the costliest first
//   tenure::Profile step = tenure::profile([&] { train(); });   // a function that returns nothing
//
// It sees what the function does on its own task, traced functions and backward passes included,
// and not what it starts in the background. A profile within a profile is part of both. With a
// function that returns a Task it is a Task.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/export.h"
#include "tenure/task.h"

namespace tenure {

// One operation at one line of the program.
struct ProfiledOp {
  std::string op;        // "matmul"
  std::string call;      // what was called there where that is something else: "gradient of tanh"
  std::string function;  // the traced function it ran in, "" for none
  std::source_location site;
  std::uint64_t count = 0;
  std::chrono::nanoseconds time{0};      // of all
  std::chrono::nanoseconds max_time{0};  // of the costliest
  std::size_t result_bytes = 0;          // of all results
  std::int64_t new_bytes = 0;            // live afterwards less live before, over all
  std::size_t peak_bytes = 0;            // most bytes live at once while one ran
  std::string shapes;                    // of the inputs of the costliest: "[32, 4] [4, 2]"
};

struct Profile {
  std::chrono::nanoseconds time{0};
  std::uint64_t kernels_run = 0;
  std::size_t new_tensors = 0;   // it made them and they live on
  std::int64_t new_bytes = 0;    // live afterwards less live before; may be negative
  std::size_t bytes_before = 0;  // live when it began
  std::size_t peak_bytes = 0;    // most bytes live at once while it ran
  std::vector<ProfiledOp> ops;   // by time, the costliest first

  TENURE_API std::vector<std::string> kernels() const;        // names, each once, sorted
  TENURE_API std::string table(std::size_t rows = 20) const;  // the first so many
};
TENURE_API std::ostream& operator<<(std::ostream& out, const Profile& profile);

template <class T>
struct Profiled {
  T result;
  Profile profile;
};

// A tidy may return these.
void walk_tensors(Profile&, auto&&) {}
template <class T>
void walk_tensors(Profiled<T>& profiled, auto&& visit) {
  visit(profiled.result);
}

namespace detail {

class Profiler;

// Watches the current task for as long as it lives.
class TENURE_API ProfileGuard {
 public:
  ProfileGuard();
  ~ProfileGuard();
  ProfileGuard(const ProfileGuard&) = delete;
  ProfileGuard& operator=(const ProfileGuard&) = delete;
  Profile finish();  // watches no more

 private:
  std::unique_ptr<Profiler> profiler_;
};

template <class T>
struct ProfileOf {
  using type = Profiled<T>;
};
template <>
struct ProfileOf<void> {
  using type = Profile;
};

template <class F>
Task<typename ProfileOf<ValueOfTask<F>>::type> profile_task(F fn) {
  ProfileGuard guard;
  if constexpr (std::is_void_v<ValueOfTask<F>>) {
    co_await fn();
    co_return guard.finish();
  } else {
    auto result = co_await fn();
    Profile profile = guard.finish();
    co_return Profiled<ValueOfTask<F>>{std::move(result), std::move(profile)};
  }
}

}  // namespace detail

// Runs fn once. What it throws passes through.
template <class F>
auto profile(F&& fn, std::source_location site = std::source_location::current()) {
  using Result = std::invoke_result_t<F>;
  detail::check_function("profile", fn, site);
  if constexpr (detail::kIsTask<Result>) {
    return detail::profile_task<std::decay_t<F>>(std::forward<F>(fn));
  } else if constexpr (std::is_void_v<Result>) {
    detail::ProfileGuard guard;
    std::forward<F>(fn)();
    return guard.finish();
  } else {
    detail::ProfileGuard guard;
    std::decay_t<Result> result = std::forward<F>(fn)();
    Profile measured = guard.finish();
    return Profiled<std::decay_t<Result>>{std::move(result), std::move(measured)};
  }
}

}  // namespace tenure
