// Random numbers in traced functions.
#pragma once

#include <cstdint>

namespace tenure::ops {

// For OpDef::reseed: a traced node's counters start at those of its function's call. A seed of the
// user's own stays.
template <class A>
void reseed(void* attrs, std::uint64_t seed, std::uint64_t first) {
  A& own = *static_cast<A*>(attrs);
  if constexpr (requires { own.own_seed; }) {
    if (own.own_seed) return;
  }
  own.seed = seed;
  own.offset += first;
}

}  // namespace tenure::ops
