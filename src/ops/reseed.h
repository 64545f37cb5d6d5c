// Random numbers in traced functions.
//
// While a function is traced, its generator counts within segments: a new one begins wherever a
// branch or a loop draws a number of times that only a call can tell. A counter carries its segment
// in its high bits. A call knows where each segment's numbers begin.
#pragma once

#include <cstdint>
#include <span>

namespace tenure::ops {

inline constexpr int kSegmentShift = 48;
inline constexpr std::uint64_t kMostSegments = std::uint64_t{1} << (64 - kSegmentShift);
inline constexpr std::uint64_t kSegmentMask = (std::uint64_t{1} << kSegmentShift) - 1;

// For OpDef::reseed: `attrs` becomes `traced`, with the counters of a call. A seed of the user's
// own stays.
template <class A>
void reseed(void* attrs, const void* traced, std::uint64_t seed,
            std::span<const std::uint64_t> segments) {
  A& fields = *static_cast<A*>(attrs);
  const std::uint64_t counter = static_cast<const A*>(traced)->offset;
  if constexpr (requires { fields.own_seed; }) {
    if (fields.own_seed) return;
  }
  fields.seed = seed;
  fields.offset = segments[counter >> kSegmentShift] + (counter & kSegmentMask);
}

}  // namespace tenure::ops
