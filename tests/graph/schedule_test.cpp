// Orders of tasks, judged by a count of bytes that shares nothing with the code that makes them.
#include "graph/passes/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace tenure::graph {
namespace {

using Order = std::vector<int>;
using Random = std::mt19937_64;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

bool has(const std::vector<int>& list, int what) {
  return std::ranges::find(list, what) != list.end();
}

Order as_written(const Schedule& schedule) {
  Order order(schedule.tasks.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// Each task once, and after all that it needs.
bool can_run(const Schedule& schedule, const Order& order) {
  Order sorted = order;
  std::ranges::sort(sorted);
  if (sorted != as_written(schedule)) return false;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Task& task = schedule.tasks[at(order[i])];
    for (std::size_t later = i + 1; later < order.size(); ++later) {
      if (has(task.after, order[later])) return false;
      for (const int buffer : schedule.tasks[at(order[later])].writes) {
        if (has(task.reads, buffer)) return false;
      }
    }
  }
  return true;
}

// At each task, buffer by buffer: whether it is alive.
std::int64_t counted_peak(const Schedule& schedule, const Order& order) {
  std::vector<int> begin(schedule.bytes.size(), -1), end(schedule.bytes.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const int buffer : schedule.tasks[at(order[i])].writes)
      begin[at(buffer)] = static_cast<int>(i);
    for (const int buffer : schedule.tasks[at(order[i])].writes)
      end[at(buffer)] = static_cast<int>(i);
    for (const int buffer : schedule.tasks[at(order[i])].reads)
      end[at(buffer)] = static_cast<int>(i);
  }
  std::int64_t peak = 0;
  for (int i = 0; i < static_cast<int>(order.size()); ++i) {
    const Task& task = schedule.tasks[at(order[at(i)])];
    std::int64_t alive = task.extra;
    for (std::size_t b = 0; b < begin.size(); ++b) {
      if (begin[b] >= 0 && begin[b] <= i && i <= end[b]) alive += schedule.bytes[b];
    }
    for (const int buffer : task.takes) {
      if (end[at(buffer)] != i) continue;
      alive -= schedule.bytes[at(task.writes[0])];
      break;
    }
    peak = std::max(peak, alive);
  }
  return peak;
}

Schedule drawn(Random& random, int tasks) {
  const auto draw = [&](int most) { return static_cast<int>(random() % at(most + 1)); };
  Schedule schedule;
  schedule.bytes = {50, 60};  // there from the start
  for (int t = 0; t < tasks; ++t) {
    Task task;
    const int known = static_cast<int>(schedule.bytes.size());
    for (int i = draw(3); i >= 0; --i) {
      const int buffer = std::max(0, known - 1 - draw(std::min(known - 1, 5)));
      if (!has(task.reads, buffer)) task.reads.push_back(buffer);
    }
    for (int i = draw(5) == 0 ? 1 : 0; i >= 0; --i) {
      task.writes.push_back(static_cast<int>(schedule.bytes.size()));
      schedule.bytes.push_back(draw(10));
    }
    for (const int buffer : task.reads) {
      const bool alike = schedule.bytes[at(buffer)] == schedule.bytes[at(task.writes[0])];
      if (buffer >= 2 && alike) task.takes.push_back(buffer);
    }
    if (t > 0 && draw(7) == 0) task.after.push_back(draw(t - 1));
    if (draw(3) == 0) task.extra = draw(8);
    schedule.tasks.push_back(std::move(task));
  }
  return schedule;
}

TEST(Schedule, peaks_are_those_of_a_plain_count) {
  Random random(1);
  for (int trial = 0; trial < 500; ++trial) {
    const Schedule schedule = drawn(random, 1 + trial % 40);
    const Order order = as_written(schedule);
    ASSERT_EQ(peak_bytes(schedule, order), counted_peak(schedule, order));
  }
}

TEST(Schedule, orders_can_run_and_are_never_worse_than_the_written_one) {
  Random random(2);
  for (int trial = 0; trial < 500; ++trial) {
    const Schedule schedule = drawn(random, 1 + trial % 60);
    const Order order = best_order(schedule);
    ASSERT_TRUE(can_run(schedule, order));
    ASSERT_LE(counted_peak(schedule, order), counted_peak(schedule, as_written(schedule)));
  }
}

// All orders of up to eight tasks: the best one is found most of the time.
TEST(Schedule, is_close_to_the_best_of_all_orders) {
  Random random(3);
  int best_found = 0, written_best = 0;
  double excess = 0;
  constexpr int kTrials = 300;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Schedule schedule = drawn(random, 4 + trial % 5);
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    Order order = as_written(schedule);
    do {
      if (can_run(schedule, order)) best = std::min(best, counted_peak(schedule, order));
    } while (std::ranges::next_permutation(order).found);
    const std::int64_t found = counted_peak(schedule, best_order(schedule));
    ASSERT_GE(found, best);
    best_found += found == best ? 1 : 0;
    written_best += counted_peak(schedule, as_written(schedule)) == best ? 1 : 0;
    if (best > 0) excess += static_cast<double>(found - best) / static_cast<double>(best);
  }
  RecordProperty("best_found", best_found);
  EXPECT_GT(best_found, written_best);
  EXPECT_GE(best_found, kTrials * 9 / 10);
  EXPECT_LE(excess / kTrials, 0.02);
}

}  // namespace
}  // namespace tenure::graph
