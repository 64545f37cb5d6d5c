// Eager code in the middle of whatever is going on: no trace, no tape, no user's scope sees it.
// Weights are made so, wherever the first call of a layer stands.
#pragma once

#include "memory/context.h"
#include "memory/session.h"

namespace tenure::nn::detail {

struct EagerScope : tenure::detail::Meanwhile<tenure::detail::Context> {
  EagerScope() : Meanwhile(tenure::detail::context(), tenure::detail::context().eager()) {}
};

// A job's work on another thread, in the session of whoever started it. The session may be closed
// as soon as the work is done, before the job is seen to be.
class SessionScope {
 public:
  explicit SessionScope(tenure::detail::SessionStay& stay)
      : leaving_{stay}, session_(tenure::detail::context().session, stay.get()) {}

 private:
  struct Leaving {
    tenure::detail::SessionStay& stay;
    ~Leaving() { stay.leave(); }
  };
  Leaving leaving_;  // ends last
  tenure::detail::Meanwhile<tenure::detail::SessionState*> session_;
};

}  // namespace tenure::nn::detail
