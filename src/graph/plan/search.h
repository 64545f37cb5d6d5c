// The exact search: a plan that fits, or the knowledge that there is none.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/plan/plan.h"

namespace tenure::plan {

enum class Found { plan, none, out_of_time };

// Looks for offsets with which all buffers lie below `capacity`.
Found search(std::span<const Buffer> buffers, std::int64_t capacity,
             std::chrono::steady_clock::time_point deadline, std::vector<std::int64_t>& offsets);

}  // namespace tenure::plan
