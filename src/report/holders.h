// Who holds the bytes at a moment, and what the time and the bytes of a run went to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/run.h"

namespace tenure::report {

enum class By : std::uint8_t { site, op, scope, thread, category };

// The storages alive at a moment, put together by what their holder has in common. A storage counts
// once: for the largest tensor that holds it, or else the saved value, or else (a workspace) the
// call that asked for it.
struct HolderRow {
  std::string key;             // loop.cpp:12
  std::string detail;          // matmul, float32 [32, 10]; of what most of its bytes are
  std::uint32_t site = kNone;  // of most of its bytes
  std::uint64_t bytes = 0;
  std::uint64_t storages = 0;
  std::uint64_t tensors = 0;      // live holders of those storages, saved values too
  std::int64_t oldest = 0;        // when the oldest of them was born
  std::uint32_t example = kNone;  // a tensor of that kind: the largest
};
std::vector<HolderRow> holders_at(const Run& run, std::int64_t time, By by);  // largest first

struct OpTotal {
  std::string op;
  std::uint64_t calls = 0;
  std::int64_t time = 0;
  std::int64_t longest = 0;
  std::uint64_t bytes = 0;  // of all results
};
std::vector<OpTotal> op_totals(const Run& run);  // longest in sum first

struct SpanTotal {
  std::string label;  // tidy "step"
  std::uint32_t site = kNone;
  std::uint64_t count = 0;
  std::int64_t time = 0;
  std::int64_t longest = 0;
};
std::vector<SpanTotal> span_totals(const Run& run);  // longest in sum first; open ones to the end

}  // namespace tenure::report
