#include "ops/recorder.h"

namespace tenure::ops {

void list_tape(detail::Context& context, Recorder& tape) noexcept {
  drop_stopped(context);
  tape.retain();
  tape.outer = context.tapes;
  context.tapes = &tape;
}

// The list of a task that its caller waits for ends in the caller's tapes, which stay where they
// are: the caller's own list begins with them.
void drop_stopped(detail::Context& context) noexcept {
  for (Recorder** link = &context.tapes; *link != nullptr && (*link)->is_of(context);) {
    Recorder* tape = *link;
    if (tape->records() || tape->walks != 0) {
      link = &tape->outer;
      continue;
    }
    *link = tape->outer;
    tape->release();
  }
}

void Recording::begin(const detail::Context& context, const OpDef& op, std::span<const Tensor> in,
                      AttrsRef attrs, std::source_location site) {
  const std::source_location user = context.call.op != nullptr ? context.call.site : site;
  each([](Recorder& tape) { ++tape.walks; });
  try {
    each([&](Recorder& tape) {
      if (tape.pending == nullptr && tape.before(op, in, attrs, user)) tape.pending = this;
    });
  } catch (...) {
    end();
    throw;
  }
}

void Recording::end() noexcept {
  each([this](Recorder& tape) {
    if (tape.pending == this) {
      tape.abandon();
      tape.pending = nullptr;
    }
    --tape.walks;
  });
}

}  // namespace tenure::ops

namespace tenure::detail {

void leave_tapes(Context& context) noexcept {
  for (ops::Recorder* tape = context.tapes; tape != nullptr && tape->is_of(context);) {
    ops::Recorder* outer = tape->outer;
    tape->stop();
    tape->release();
    tape = outer;
  }
  context.tapes = nullptr;
}

}  // namespace tenure::detail
