// In which order the bodies of control flow run, for how long, and at which counter they draw
// random numbers: once, for values of any kind. Where these lie and how a body is run is the
// world's: on tensors (control_now.cpp), or in a program's arena (control_run.cpp).
#pragma once

#include "core/raise.h"
#include "graph/control.h"
#include "memory/context.h"

namespace tenure::graph {

// Where the generator stands.
inline std::int64_t current_counter() {
  return static_cast<std::int64_t>(detail::context().random->next.load(std::memory_order_relaxed));
}

// Puts it at a counter, to draw what was drawn from there before.
inline void set_counter(detail::OwnRandom& random, std::int64_t counter) {
  random.set(static_cast<std::uint64_t>(counter));
}

// One of the bodies of a branch, or the one of a call.
template <class World>
void run_call(const Flow& flow, World& world) {
  detail::OwnRandom random;
  if (flow.has_counter) set_counter(random, world.counter(0));
  if (flow.tells_counter) world.tell_counter(0, current_counter());
  world.call();
}

template <class World>
void run_loop(const Flow& flow, World& world) {
  if (flow.tells_counter) world.tell_counter(0, current_counter());
  for (std::int64_t step = 0; step != flow.steps && world.goes_on(); ++step) world.advance();
}

// The loop once more, keeping the states that its steps begin with, then back through them.
template <class World>
void run_loop_grad(const Flow& flow, World& world) {
  detail::OwnRandom random;
  if (flow.has_counter) set_counter(random, world.counter(0));
  for (std::int64_t step = 0; step != flow.steps && world.goes_on(); ++step) {
    world.keep(current_counter());
    world.advance();
  }
  for (world.turn_back(); world.has_kept(); world.drop()) {
    set_counter(random, world.kept_counter());
    world.go_back();
  }
}

template <class World>
void run_scan(const Flow& flow, World& world) {
  detail::OwnRandom random;
  for (std::int64_t step = 0; step < flow.steps; ++step) {
    const auto at = static_cast<std::size_t>(flow.reverse ? flow.steps - 1 - step : step);
    if (flow.has_counter) set_counter(random, world.counter(at));
    if (flow.tells_counter) world.tell_counter(at, current_counter());
    world.step(at);
  }
}

// The body that an index chooses.
inline std::size_t chosen(std::int64_t index, std::size_t branches) {
  if (index < 0 || static_cast<std::size_t>(index) >= branches) {
    raise<ValueError>("switch_case: index {} for {} branches", index, branches);
  }
  return static_cast<std::size_t>(index);
}

}  // namespace tenure::graph
