// What is current: one Context behind one thread-local pointer. A task carries its own and swaps it
// in while it runs.
#pragma once

#include <atomic>
#include <cstdint>
#include <source_location>
#include <type_traits>

namespace tenure::ops {
class Recorder;
class Tracer;
}  // namespace tenure::ops

namespace tenure::detail {

struct FreeSizes;
struct Label;
struct MemoryWatch;
struct Scope;
struct SessionRun;
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
  SessionRun* runs = nullptr;       // innermost
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

  // For eager code in the middle of anything: no trace, no tape and no scope sees it.
  Context eager() const;
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

// Puts back what was there, whatever it is set to meanwhile: all that is current, or a part of it.
template <class T>
class Meanwhile {
 public:
  explicit Meanwhile(T& what) : what_(what), outer_(what) {}
  Meanwhile(T& what, std::type_identity_t<T> value) : what_(what), outer_(what) { what = value; }
  ~Meanwhile() { what_ = outer_; }
  Meanwhile(const Meanwhile&) = delete;
  Meanwhile& operator=(const Meanwhile&) = delete;
  T& now() const { return what_; }
  const T& outer() const { return outer_; }

 private:
  T& what_;
  const T outer_;
};

// Marks a public function that is made of others as the user's call. Inner ones change nothing.
class CallScope {
 public:
  CallScope(const char* op, std::source_location site, bool backward = false)
      : call_(context().call) {
    const UserCall& outer = call_.outer();
    if (outer.op == nullptr) call_.now() = {op, backward, site, outer.function};
  }

 private:
  Meanwhile<UserCall> call_;
};

// The line that a public function was called on. Errors thrown while this is in scope tell it; what
// is made meanwhile keeps its own. Inner ones change nothing. `function` is what the user called,
// if that is not what errors begin with.
class UserLine {
 public:
  explicit UserLine(std::source_location site, const char* function = nullptr)
      : UserLine(context().call, site, function) {}
  operator std::source_location() const { return site_; }

 private:
  UserLine(UserCall& call, std::source_location site, const char* function)
      : site_(site), outer_site_(call.site), outer_function_(call.function) {
    if (outer_site_.outer().line() != 0) return;
    call.site = site;
    call.function = function;
  }

  std::source_location site_;
  Meanwhile<std::source_location> outer_site_;
  Meanwhile<const char*> outer_function_;
};

// User code called back by the library: its own lines count again.
struct CallbackScope : Meanwhile<UserCall> {
  CallbackScope() : Meanwhile(context().call, {}) {}
};

// What the library makes for itself joins no scope.
struct NoScope : Meanwhile<Scope*> {
  explicit NoScope(Context& context) : Meanwhile(context.scope, nullptr) {}
};

// Random numbers from elsewhere, once it is set.
class OwnRandom {
 public:
  OwnRandom() : random_(context().random) {}
  void set(std::uint64_t seed, std::uint64_t next) {
    own_.seed.store(seed, std::memory_order_relaxed);
    own_.next.store(next, std::memory_order_relaxed);
    random_.now() = &own_;
  }
  // At another counter of the same numbers.
  void set(std::uint64_t next) { set(outer().seed.load(std::memory_order_relaxed), next); }
  std::uint64_t next() const { return own_.next.load(std::memory_order_relaxed); }
  RandomState& outer() const { return *random_.outer(); }

 private:
  Meanwhile<RandomState*> random_;
  RandomState own_;
};

}  // namespace tenure::detail
