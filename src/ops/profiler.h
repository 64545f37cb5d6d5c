// What profiles an operation on its way down the one road, or as a step of a traced function.
//
// An operation is measured from its first step to its last; one that runs others inside (a
// checkpointed call) is charged for what it does itself. All watches of the context are told, so
// that a profile within a profile is part of both.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <source_location>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "memory/context.h"
#include "memory/label.h"
#include "memory/memory_watch.h"
#include "ops/kernel.h"
#include "tenure/profile.h"

namespace tenure::detail {

// An operation that runs, as those who are told of it name it.
struct RunningOp {
  const char* op = "";
  const UserCall* call = nullptr;  // around it; may be empty
  Label* function = nullptr;       // the traced function it is a step of
  std::source_location site;       // of the operation, where there is no call

  bool is_called() const { return call != nullptr && call->op != nullptr; }
  std::source_location user_site() const { return is_called() ? call->site : site; }
};

using Views = std::span<const ops::KernelView>;

class Profiler : public MemoryWatch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Profiler(Context& home);
  ~Profiler();
  Profiler(const Profiler&) = delete;
  Profiler& operator=(const Profiler&) = delete;
  Profile finish();

  void begin();
  void end(const RunningOp& ran, Views in, Views out) noexcept;
  void abandon() noexcept;  // it failed

 private:
  struct Open {
    Clock::time_point begun;
    Clock::duration inside{0};  // of the operations it ran
    std::int64_t live = 0;
    std::int64_t outer_peak = 0;
  };
  struct Sum : ProfiledOp {
    std::int64_t peak = 0;
    LabelRef held;  // the function's: what a key points at stays what it is
  };
  // By what the compiler placed: equal texts at different addresses only make two rows of one.
  using Key = std::tuple<const char*, const char*, const void*, const char*, std::uint32_t, bool>;

  Open close() noexcept;
  void add(const RunningOp& ran, Views in, Views out, std::chrono::nanoseconds time,
           std::int64_t bytes, std::int64_t highest);
  void leave() noexcept;

  Context* home_;
  std::size_t bytes_before_;
  Clock::time_point begun_ = Clock::now();
  std::vector<Open> open_;
  std::map<Key, Sum> sums_;
};

// An operation while it runs, for every watch of the context. Most contexts have none.
class OpWatch {
 public:
  explicit OpWatch(MemoryWatch* watches) : first_(watches) {
    if (first_ != nullptr) [[unlikely]]
      begin();
  }
  ~OpWatch() {
    if (first_ != nullptr) [[unlikely]]
      abandon();
  }
  OpWatch(const OpWatch&) = delete;
  OpWatch& operator=(const OpWatch&) = delete;
  explicit operator bool() const { return first_ != nullptr; }
  void end(const RunningOp& ran, Views in, Views out) noexcept;

 private:
  void begin();
  void abandon() noexcept;
  MemoryWatch* first_;
};

}  // namespace tenure::detail
