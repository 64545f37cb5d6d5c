// What is current: one Context behind one thread-local pointer. A task carries its own and swaps it
// in while it runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <source_location>

namespace tenure::ops {
class Recorder;
class Tracer;
}  // namespace tenure::ops

namespace tenure::detail {

struct FreeSizes;
struct Label;
struct MemoryWatch;
struct Scope;
struct SessionState;

struct RandomState {
  std::atomic<std::uint64_t> seed{0};
  std::atomic<std::uint64_t> next{0};  // the first counter nobody has used
};

// The user's outermost call into the library, while one that calls other operations is running:
// what it makes is born at the user's line, under the name the user wrote.
struct UserCall {
  const char* op = nullptr;  // null: no such call
  bool backward = false;
  std::source_location site;
  const char* function = nullptr;  // which UserLine says, also where op is null
};

struct Context {
  SessionState* session = nullptr;  // null: the default one
  Scope* scope = nullptr;           // innermost
  ops::Recorder* tapes = nullptr;   // those that record, innermost first
  ops::Tracer* trace = nullptr;     // the function being traced, innermost
  std::uint64_t trace_id = 0;       // 0: eager code
  Label* function = nullptr;        // the one being traced
  const FreeSizes* free = nullptr;  // of a function traced for any size
  UserCall call;
  RandomState* random = nullptr;
  MemoryWatch* watch = nullptr;  // what profiles this task (memory_watch.h), innermost first
  std::uint32_t thread = 0;
};

extern constinit thread_local Context* t_context;
Context& make_context();
inline Context& context() {
  Context* current = t_context;
  return current != nullptr ? *current : make_context();
}

inline std::uint64_t current_trace() { return context().trace_id; }

// The thread or task ends: tapes that it made and did not destroy record no more. Defined beside
// them, in ops.
void leave_tapes(Context& context) noexcept;

RandomState& default_random();

// Marks a public function that is made of others as the user's call. Inner ones change nothing.
class CallScope {
 public:
  CallScope(const char* op, std::source_location site, bool backward = false)
      : context_(context()), outer_(context_.call) {
    if (outer_.op == nullptr) context_.call = {op, backward, site, outer_.function};
  }
  ~CallScope() { context_.call = outer_; }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  Context& context_;
  UserCall outer_;
};

// The line that a public function was called on. Errors thrown while this is in scope tell it; what
// is made meanwhile keeps its own. Inner ones change nothing. `function` is what the user called,
// if that is not what errors begin with.
class UserLine {
 public:
  explicit UserLine(std::source_location site, const char* function = nullptr)
      : site_(site), call_(context().call), outer_(call_.site), outer_function_(call_.function) {
    if (outer_.line() != 0) return;
    call_.site = site;
    call_.function = function;
  }
  ~UserLine() {
    call_.site = outer_;
    call_.function = outer_function_;
  }
  UserLine(const UserLine&) = delete;
  UserLine& operator=(const UserLine&) = delete;
  operator std::source_location() const { return site_; }

 private:
  std::source_location site_;
  UserCall& call_;
  std::source_location outer_;
  const char* outer_function_;
};

// User code called back by the library: its own lines count again.
class CallbackScope {
 public:
  CallbackScope() : context_(context()), outer_(context_.call) { context_.call = {}; }
  ~CallbackScope() { context_.call = outer_; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

 private:
  Context& context_;
  UserCall outer_;
};

// What the library makes for itself joins no scope.
class NoScope {
 public:
  explicit NoScope(Context& context) : context_(context), outer_(context.scope) {
    context_.scope = nullptr;
  }
  ~NoScope() { context_.scope = outer_; }
  NoScope(const NoScope&) = delete;
  NoScope& operator=(const NoScope&) = delete;

 private:
  Context& context_;
  Scope* outer_;
};

}  // namespace tenure::detail
