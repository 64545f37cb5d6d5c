// The order of tasks that keeps few bytes alive at once, as a pure function: it knows no graph and
// no kernel, so that it can be judged alone.
//
// The best order is hard to find in general. Two greedy ones are made, one from the first task
// onwards and one from the last task backwards, each of which takes the task that frees the most
// bytes beyond those it allocates. Of these and the written order, each also with tasks that free
// nothing moved to where they are needed, the one with the lowest peak is kept, and the written one
// where it is as good. The time is near-linear in the number of edges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tenure::graph {

struct Task {
  std::vector<int> reads;   // buffers, each once
  std::vector<int> writes;  // buffers that begin here, and that no other task writes
  std::vector<int> takes;   // of `reads`: writes[0] takes over one that nobody reads later
  std::vector<int> after;   // tasks that come first for other reasons than what they write
  std::int64_t extra = 0;   // bytes in use only while it runs
};

struct Schedule {
  std::vector<std::int64_t> bytes;  // of buffers; those that no task writes do not count
  std::vector<Task> tasks;          // in an order in which they can run, the written one
};

// The most bytes alive at once. A buffer lives from the task that writes it to the last that reads
// it.
std::int64_t peak_bytes(const Schedule& schedule, std::span<const int> order);

std::vector<int> best_order(const Schedule& schedule);

}  // namespace tenure::graph
