// A memory domain with a name, a budget and counters of its own.
//
//   tenure::Session render({.name = "render", .budget = 64 << 20});
//   tenure::Tensor t = render.run([&] { return tenure::zeros({1024}); });   // belongs to render
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/callable.h"
#include "tenure/export.h"
#include "tenure/memory.h"
#include "tenure/story.h"
#include "tenure/tensor.h"

namespace tenure {

namespace detail {
struct Context;
struct SessionRun;
struct SessionState;
enum class Worker : std::uint64_t;
}  // namespace detail
class Tensor;

struct SessionOptions {
  std::string name = "session";
  std::size_t budget = 0;  // bytes, rounded to blocks; 0 for no bound
};

// What became of what a session still owned when it was closed.
struct SessionReport {
  std::vector<Story> disposed;  // its tensors, as they were
  // What somebody else held, by the holder's name: a function's captures and constants, values
  // saved by a tape, a read in flight, a span, a DLPack export. Now of the default session.
  std::vector<Holder> passed_on;

  bool empty() const { return disposed.empty() && passed_on.empty(); }
  TENURE_API std::string text() const;  // a line for each
};
TENURE_API std::ostream& operator<<(std::ostream& out, const SessionReport& report);

// Closing (or destroying) a session disposes the tensors and variables that it still owns. What
// others hold of it stays valid and passes to the default session. One that is destroyed while it
// runs elsewhere ends when the last run does. Not copyable.
class TENURE_API Session {
 public:
  explicit Session(SessionOptions options = {},
                   std::source_location site = std::source_location::current());
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  static Session& process();  // the one that is current when no other is

  std::string name() const;
  MemoryInfo memory() const;  // pooled_bytes is 0: idle memory belongs to no session

  // Runs fn with this session current: tensors born in it belong to the session. With an fn that
  // returns a Task it is a Task, which the session must outlive.
  template <class F>
  auto run(F&& fn, std::source_location site = std::source_location::current()) {
    detail::check_function("run", fn, site);
    if constexpr (detail::kIsTask<std::invoke_result_t<F>>) {
      return run_task<std::decay_t<F>>(*this, std::forward<F>(fn), site);
    } else {
      Entered entered(*this, site);
      if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
        std::forward<F>(fn)();
        entered.leave();
      } else {
        auto result = std::forward<F>(fn)();
        entered.leave();
        return result;
      }
    }
  }

  // Ends the session and tells what it still owned. BusyError while it is running somewhere. A
  // second call does nothing.
  SessionReport close(std::source_location site = std::source_location::current());

 private:
  friend TENURE_API void transfer(const Tensor& tensor, Session& to, std::source_location site);
  explicit Session(detail::SessionState* state) : state_(state) {}
  template <class F>
  static std::invoke_result_t<F&> run_task(Session& session, F fn, std::source_location site);
  class TENURE_API Entered {
   public:
    Entered(Session& session, std::source_location site);
    ~Entered();  // leaves it; out of order is a warning here
    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;
    // A ScopeError if it is not the innermost run of this task; it and no other has ended all the
    // same.
    void leave();

   private:
    detail::SessionState* state_;
    detail::Worker worker_;
    detail::SessionRun* run_;
    detail::Context* home_;
  };

  detail::SessionState* state_;
};

// Moves a tensor, handles and all, into another session without copying it; that one then owns it,
// no longer a tidy it was born in. A ValueError when others (views, saved values) hold its bytes
// too, a DisposedError when that session is closed.
TENURE_API void transfer(const Tensor& tensor, Session& to,
                         std::source_location site = std::source_location::current());

}  // namespace tenure
