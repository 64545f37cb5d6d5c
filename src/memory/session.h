// A memory domain: name, budget, counters. The default session is the null pointer: its figures
// are the process's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <utility>

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

  // How many work in it (runs, tasks, jobs), and whether it is closed, in one word: of a run and a
  // close at the same time one comes first, and the other sees that.
  bool try_enter() noexcept {  // false: it is closed
    std::uint32_t gate = gate_.load(std::memory_order_relaxed);
    do {
      if ((gate & kClosed) != 0) return false;
    } while (!gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire,
                                          std::memory_order_relaxed));
    return true;
  }
  // True for the last to leave one that was abandoned, who has to end it.
  bool leave() noexcept {
    return gate_.fetch_sub(1, std::memory_order_acq_rel) == (kAbandoned | 1);
  }
  std::uint32_t inside() const noexcept {
    return gate_.load(std::memory_order_relaxed) & ~(kClosed | kAbandoned);
  }
  bool is_closed() const noexcept { return (gate_.load(std::memory_order_acquire) & kClosed) != 0; }
  // False when somebody is inside, or it was closed before.
  bool try_close() noexcept {
    std::uint32_t nobody = 0;
    return gate_.compare_exchange_strong(nobody, kClosed, std::memory_order_acq_rel,
                                         std::memory_order_relaxed);
  }
  // After try_close(): it goes on.
  void reopen() noexcept { gate_.fetch_and(~kClosed, std::memory_order_release); }
  // Its Session object is gone. True when nobody is inside, and the caller has to end it.
  bool abandon() noexcept { return gate_.fetch_or(kAbandoned, std::memory_order_acq_rel) == 0; }

 private:
  static constexpr std::uint32_t kClosed = 1u << 31;
  static constexpr std::uint32_t kAbandoned = 1u << 30;  // the Session object is gone
  std::atomic<std::uint32_t> gate_{0};
};

// Ends one that was abandoned, and that nobody is in.
void end_abandoned(SessionState& session) noexcept;

// Work in the session that is current where this is made, done elsewhere or later: the session
// stays open for it. Whoever makes one is inside, so that there is nothing to refuse.
class SessionStay {
 public:
  explicit SessionStay(SessionState* current) noexcept : session_(current) {
    if (session_ == nullptr) return;
    session_->retain();
    session_->try_enter();
  }
  ~SessionStay() { leave(); }
  SessionStay(const SessionStay&) = delete;
  SessionStay& operator=(const SessionStay&) = delete;
  SessionState* get() const { return session_; }
  void leave() noexcept {
    SessionState* left = std::exchange(session_, nullptr);
    if (left == nullptr) return;
    if (left->leave()) end_abandoned(*left);
    left->release();
  }

 private:
  SessionState* session_;
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
