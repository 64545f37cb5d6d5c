// No tape records while this is in scope, nor, in a trace, when what is traced meanwhile runs.
#pragma once

#include <utility>

#include "memory/context.h"
#include "ops/tracer.h"

namespace tenure::ops {

class Unrecorded {
 public:
  Unrecorded() : context_(detail::context()), tapes_(std::exchange(context_.tapes, nullptr)) {
    if (context_.trace != nullptr) ++context_.trace->unrecorded;
  }
  ~Unrecorded() {
    if (context_.trace != nullptr) --context_.trace->unrecorded;
    detail::leave_tapes(context_);  // those made meanwhile that are still there record no more
    context_.tapes = tapes_;
  }
  Unrecorded(const Unrecorded&) = delete;
  Unrecorded& operator=(const Unrecorded&) = delete;

 private:
  detail::Context& context_;
  Recorder* tapes_;
};

}  // namespace tenure::ops
