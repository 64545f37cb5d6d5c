#include "memory/context.h"

#include "memory/transfer.h"
#include "memory/warn.h"

namespace tenure::detail {

constinit thread_local Context* t_context = nullptr;

namespace {

std::atomic<std::uint32_t> g_threads{0};

// Kept apart from the pointer above, so that the common path needs no guard. A thread-local that
// dies after it may still drop tensors; it gets the shared last-resort context.
struct ThreadContext {
  Context context;
  ~ThreadContext();
};

Context& last_resort() {
  static Context* context = [] {
    auto* fallback = new Context;
    fallback->random = &default_random();
    return fallback;
  }();
  return *context;
}

ThreadContext::~ThreadContext() {
  leave_tapes(context);
  t_context = &last_resort();
}

}  // namespace

RandomState& default_random() {
  static RandomState* state = new RandomState;
  return *state;
}

Context Context::eager() const {
  return {.session = session,
          .call = call,
          .random = trace != nullptr ? &default_random() : random,
          .watch = watch,
          .thread = thread};
}

Context& make_context() {
  static const bool initialised = (initialise_runtime(), true);
  (void)initialised;
  thread_local ThreadContext holder;
  holder.context.random = &default_random();
  holder.context.thread = g_threads.fetch_add(1, std::memory_order_relaxed);
  t_context = &holder.context;
  static const bool recording = (record_from_environment(), true);
  (void)recording;
  static std::atomic<bool> told{false};
  if (!told.exchange(true)) warn_of_start();
  return holder.context;
}

}  // namespace tenure::detail
