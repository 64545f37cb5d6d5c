// Eager code in the middle of whatever is going on: no trace, no tape, no user's scope sees it.
// Weights are made so, wherever the first call of a layer stands.
#pragma once

#include "memory/context.h"
#include "memory/session.h"

namespace tenure::nn::detail {

class EagerScope {
 public:
  EagerScope() : context_(tenure::detail::context()), outer_(context_) {
    if (context_.trace != nullptr) context_.random = &tenure::detail::default_random();
    context_.scope = nullptr;
    context_.tapes = nullptr;
    context_.trace = nullptr;
    context_.trace_id = 0;
    context_.function = nullptr;
    context_.free = nullptr;
  }
  ~EagerScope() { context_ = outer_; }
  EagerScope(const EagerScope&) = delete;
  EagerScope& operator=(const EagerScope&) = delete;

 private:
  tenure::detail::Context& context_;
  tenure::detail::Context outer_;
};

// A job's work on another thread, in the session of whoever started it. The session may be closed
// as soon as the work is done, before the job is seen to be.
class SessionScope {
 public:
  explicit SessionScope(tenure::detail::SessionStay& stay)
      : stay_(stay), context_(tenure::detail::context()), outer_(context_.session) {
    context_.session = stay.get();
  }
  ~SessionScope() {
    context_.session = outer_;
    stay_.leave();
  }
  SessionScope(const SessionScope&) = delete;
  SessionScope& operator=(const SessionScope&) = delete;

 private:
  tenure::detail::SessionStay& stay_;
  tenure::detail::Context& context_;
  tenure::detail::SessionState* outer_;
};

}  // namespace tenure::nn::detail
