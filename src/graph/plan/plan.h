// Where each buffer of a program lies in one arena: a pure function from lifetimes and sizes to
// offsets. Two buffers whose lifetimes overlap never share a byte.
//
//   plan::Plan plan = plan::make_plan(buffers, {.alignment = 64});
//   std::byte* data = arena + plan.offsets[i];
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tenure::plan {

struct Buffer {
  std::int64_t lower = 0;  // lives on [lower, upper)
  std::int64_t upper = 0;
  std::int64_t size = 0;
};

struct Options {
  std::int64_t alignment = 1;  // of every offset
  // Stop at the first plan that is no higher. By default: look for the lowest there is.
  std::int64_t capacity = 0;
  std::chrono::milliseconds budget{4};  // for greedy plans, which come first, and the search
};

struct Plan {
  std::vector<std::int64_t> offsets;  // of each buffer
  std::int64_t height = 0;            // bytes the arena needs
  std::int64_t lower_bound = 0;       // the most bytes alive at once: no plan is lower
};

Plan make_plan(std::span<const Buffer> buffers, const Options& options = {});

}  // namespace tenure::plan
