// A memory domain: name, budget, counters. The default session is the null pointer: its figures
// are the process's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "memory/fork.h"
#include "memory/label.h"

namespace tenure::detail {

struct SessionState {
  std::atomic<std::uint32_t> refs{1};  // Session objects, and every holder born in it
  LabelRef label;
  std::atomic<std::size_t> budget{0};  // 0: none
  std::atomic<std::size_t> in_use{0};  // block bytes
  std::atomic<std::size_t> live{0};
  std::atomic<std::size_t> peak{0};
  std::atomic<std::source_location> ran_at{};  // the last run that began
  std::source_location closed_at;              // guarded by storage_moves(), as closing is

  void retain() noexcept { refs.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // Who works in it (runs, tasks, jobs), and whether it is closed, under one lock: of a run and a
  // close at the same time one comes first, and the other sees that.
  bool try_enter(Worker worker);  // false: it is closed
  // True for the last to leave one that was abandoned, who has to end it.
  bool leave(Worker worker) noexcept;
  std::size_t inside() noexcept;
  bool is_closed() const noexcept { return closed_.load(std::memory_order_acquire); }
  // False when somebody is inside, or it was closed before.
  bool try_close() noexcept;
  // After try_close(): it goes on.
  void reopen() noexcept { closed_.store(false, std::memory_order_release); }
  // Its Session object is gone. True when the caller has to end it: it is open and nobody inside.
  bool abandon() noexcept;

 private:
  bool is_left() noexcept;

  std::vector<Worker> workers_;
  std::atomic<bool> closed_{false};
  bool abandoned_ = false;
};

// Ends one that was abandoned, and that nobody is in.
void end_abandoned(SessionState& session) noexcept;

// Keeps one from being deleted; null: the default one, which never is.
class SessionRef {
 public:
  explicit SessionRef(SessionState* session) : session_(session) {
    if (session_ != nullptr) session_->retain();
  }
  ~SessionRef() {
    if (session_ != nullptr) session_->release();
  }
  SessionRef(const SessionRef&) = delete;
  SessionRef& operator=(const SessionRef&) = delete;

 private:
  SessionState* session_;
};

// A run of a session that is open in a context. One that ends before inner ones do is left for
// these to take away.
struct SessionRun {
  SessionRun(SessionState* session, SessionState* outside, SessionRun* run,
             std::source_location began)
      : held(session), outer_session(outside), outer(run), site(began) {}

  const SessionRef held;  // its Session may be destroyed while it runs
  SessionState* outer_session;
  SessionRun* outer;
  std::source_location site;
  std::atomic<bool> ended{false};
};

// Work in the session that is current where this is made, done elsewhere or later: the session
// stays open for it. Whoever makes one is inside, so that there is nothing to refuse.
class SessionStay {
 public:
  SessionStay(SessionState* current, Worker worker) : session_(current), worker_(worker) {
    if (session_ == nullptr) return;
    session_->try_enter(worker_);
    session_->retain();
  }
  ~SessionStay() { leave(); }
  SessionStay(const SessionStay&) = delete;
  SessionStay& operator=(const SessionStay&) = delete;
  SessionState* get() const { return session_; }
  void leave() noexcept {
    SessionState* left = std::exchange(session_, nullptr);
    if (left == nullptr) return;
    if (left->leave(worker_)) end_abandoned(*left);
    left->release();
  }

 private:
  SessionState* session_;
  const Worker worker_;
};

// Whether what the library holds for somebody (a function's capture, a tape's value) may be used in
// a session: if it is of that one, or of the process, which every session is part of. A user's
// tensor has to be of that very session.
inline bool lends_to(const SessionState* home, const SessionState* current) {
  return home == nullptr || home == current;
}

std::string session_name(const SessionState* session);
[[noreturn]] void raise_closed(const SessionState& session, std::string_view op,
                               std::source_location site, std::string_view todo);

}  // namespace tenure::detail
