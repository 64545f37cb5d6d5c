// One buffer after another, each as low as it goes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/plan/plan.h"

namespace tenure::plan {

// The plan that taking the buffers in this order gives.
std::vector<std::int64_t> place_in_order(std::span<const Buffer> buffers,
                                         std::span<const std::size_t> order);

// The plan that an allocator would arrive at which is given the buffers in the order of time (or
// backwards) and takes the smallest gap that fits. In time that is near-linear in their number.
enum class Direction : std::uint8_t { forwards, backwards };
std::vector<std::int64_t> place_by_time(std::span<const Buffer> buffers, Direction direction);

// Above so many buffers, whatever looks at pairs of them takes too long.
inline constexpr std::size_t kManyBuffers = 4096;

// The best of several orders; stops at the first that is no higher than `enough`.
std::vector<std::int64_t> place_greedily(std::span<const Buffer> buffers, std::int64_t enough);

std::int64_t height_of(std::span<const Buffer> buffers, std::span<const std::int64_t> offsets);

}  // namespace tenure::plan
