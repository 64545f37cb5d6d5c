// No tape records while this is in scope, nor, in a trace, when what is traced meanwhile runs.
#pragma once

#include "memory/context.h"
#include "ops/tracer.h"

namespace tenure::ops {

class Unrecorded {
 public:
  Unrecorded() : context_(detail::context()), tapes_(context_.tapes, nullptr) {
    if (context_.trace != nullptr) ++context_.trace->unrecorded;
  }
  ~Unrecorded() {
    if (context_.trace != nullptr) --context_.trace->unrecorded;
    detail::leave_tapes(context_);  // those made meanwhile that are still there record no more
  }

 private:
  detail::Context& context_;
  detail::Meanwhile<Recorder*> tapes_;
};

}  // namespace tenure::ops
