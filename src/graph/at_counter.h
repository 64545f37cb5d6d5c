// Random numbers drawn again: a body in a gradient draws what it drew before.
#pragma once

#include <cstdint>

#include "memory/context.h"

namespace tenure::graph {

// Where the generator stands.
inline std::int64_t current_counter() {
  return static_cast<std::int64_t>(detail::context().random->next.load(std::memory_order_relaxed));
}

// Puts the generator at a counter for as long as this is in scope.
class AtCounter {
 public:
  AtCounter() : context_(detail::context()), outer_(context_.random) {}
  ~AtCounter() { context_.random = outer_; }
  AtCounter(const AtCounter&) = delete;
  AtCounter& operator=(const AtCounter&) = delete;
  void set(std::int64_t counter) {
    own_.seed.store(outer_->seed.load(std::memory_order_relaxed), std::memory_order_relaxed);
    own_.next.store(static_cast<std::uint64_t>(counter), std::memory_order_relaxed);
    context_.random = &own_;
  }

 private:
  detail::Context& context_;
  detail::RandomState* outer_;
  detail::RandomState own_;
};

}  // namespace tenure::graph
