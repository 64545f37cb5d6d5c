#include "graph/passes/schedule.h"

#include <algorithm>
#include <numeric>
#include <queue>

namespace tenure::graph {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Who reads and writes each buffer, and who waits for whom.
struct Edges {
  explicit Edges(const Schedule& schedule)
      : writer(schedule.bytes.size(), -1),
        readers(schedule.bytes.size()),
        before(schedule.tasks.size()),
        behind(schedule.tasks.size()) {
    for (std::size_t t = 0; t < schedule.tasks.size(); ++t) {
      const Task& task = schedule.tasks[t];
      for (const int buffer : task.writes) writer[at(buffer)] = static_cast<int>(t);
      for (const int buffer : task.reads) {
        readers[at(buffer)].push_back(static_cast<int>(t));
        if (writer[at(buffer)] >= 0) before[t].push_back(writer[at(buffer)]);
      }
      before[t].insert(before[t].end(), task.after.begin(), task.after.end());
      for (const int first : before[t]) behind[at(first)].push_back(static_cast<int>(t));
    }
  }

  std::vector<int> writer;                // of buffers; -1 for one that is there from the start
  std::vector<std::vector<int>> readers;  // of buffers
  std::vector<std::vector<int>> before;   // of tasks: those they wait for
  std::vector<std::vector<int>> behind;   // of tasks: those that wait for them
};

// Tasks that may run next, the one with the most gain first, and of equals the first as written.
// A gain that changes is pushed again, and the old entry is skipped.
class Ready {
 public:
  void push(std::int64_t gain, int rank, int task) { heap_.push({gain, -rank, task}); }
  int pop(const std::vector<std::int64_t>& gain, const std::vector<bool>& done) {
    for (;;) {
      const auto [score, rank, task] = heap_.top();
      heap_.pop();
      if (!done[at(task)] && gain[at(task)] == score) return task;
    }
  }

 private:
  struct Entry {
    std::int64_t gain;
    int rank;
    int task;
    bool operator<(const Entry& other) const {
      return gain != other.gain ? gain < other.gain : rank < other.rank;
    }
  };
  std::priority_queue<Entry> heap_;
};

std::vector<int> waiting_for(const std::vector<std::vector<int>>& edges) {
  std::vector<int> counts(edges.size());
  std::ranges::transform(edges, counts.begin(),
                         [](const auto& list) { return static_cast<int>(list.size()); });
  return counts;
}

// All tasks, one after the other of those that wait for none: the one with the most gain, of equals
// the one that comes first when `direction` is 1, the last when it is -1. `take(task, offer)` tells
// what a task that is taken changes, and offers those whose gain that is.
template <class Take>
std::vector<int> order_by_gain(std::vector<std::int64_t>& gain, std::vector<int>& waits,
                               const std::vector<std::vector<int>>& behind, int direction,
                               Take&& take) {
  const std::size_t count = gain.size();
  std::vector<bool> done(count, false);
  std::vector<int> order;
  order.reserve(count);
  Ready ready;
  const auto offer = [&](int task) {
    if (waits[at(task)] == 0 && !done[at(task)]) {
      ready.push(gain[at(task)], direction * task, task);
    }
  };
  for (std::size_t t = 0; t < count; ++t) offer(static_cast<int>(t));
  while (order.size() < count) {
    const int task = ready.pop(gain, done);
    done[at(task)] = true;
    order.push_back(task);
    take(task, offer);
    for (const int next : behind[at(task)]) {
      --waits[at(next)];
      offer(next);
    }
  }
  return order;
}

// The gain of a task: the bytes it reads as the last one, less those it writes for others.
std::vector<int> order_onwards(const Schedule& schedule, const Edges& edges) {
  std::vector<std::int64_t> gain(schedule.tasks.size(), 0);
  std::vector<int> waits = waiting_for(edges.before), left = waiting_for(edges.readers);
  std::vector<int> who(schedule.bytes.size(), 0);  // the readers that are left, xored
  for (std::size_t b = 0; b < schedule.bytes.size(); ++b) {
    if (edges.writer[b] < 0) continue;
    for (const int reader : edges.readers[b]) who[b] ^= reader;
    if (left[b] == 1) gain[at(who[b])] += schedule.bytes[b];
    if (left[b] > 0) gain[at(edges.writer[b])] -= schedule.bytes[b];
  }
  return order_by_gain(gain, waits, edges.behind, 1, [&](int task, const auto& offer) {
    for (const int buffer : schedule.tasks[at(task)].reads) {
      const std::size_t b = at(buffer);
      who[b] ^= task;
      if (--left[b] != 1 || edges.writer[b] < 0) continue;
      gain[at(who[b])] += schedule.bytes[b];
      offer(who[b]);
    }
  });
}

// Backwards a task ends the buffers it writes and begins those it reads that nobody behind it does.
std::vector<int> order_backwards(const Schedule& schedule, const Edges& edges) {
  std::vector<std::int64_t> gain(schedule.tasks.size(), 0);
  std::vector<bool> alive(schedule.bytes.size(), false);
  std::vector<int> waits = waiting_for(edges.behind);
  for (std::size_t b = 0; b < schedule.bytes.size(); ++b) {
    if (edges.writer[b] < 0) continue;
    for (const int reader : edges.readers[b]) gain[at(reader)] -= schedule.bytes[b];
    if (!edges.readers[b].empty()) gain[at(edges.writer[b])] += schedule.bytes[b];
  }
  std::vector<int> order =
      order_by_gain(gain, waits, edges.before, -1, [&](int task, const auto& offer) {
        for (const int buffer : schedule.tasks[at(task)].reads) {
          const std::size_t b = at(buffer);
          if (edges.writer[b] < 0 || alive[b]) continue;
          alive[b] = true;
          for (const int reader : edges.readers[b]) {
            gain[at(reader)] += schedule.bytes[b];
            offer(reader);
          }
        }
      });
  std::ranges::reverse(order);
  return order;
}

// The same order, with tasks that end nobody's bytes, since all they read is there from the start,
// just before the first task that waits for them.
std::vector<int> with_sources_late(const Edges& edges, const std::vector<int>& order) {
  std::vector<bool> is_source(order.size()), done(order.size(), false);
  for (const int task : order) {
    is_source[at(task)] = std::ranges::all_of(edges.before[at(task)],
                                              [&](int first) { return is_source[at(first)]; });
  }
  std::vector<int> late, stack;
  std::vector<std::size_t> looked(order.size(), 0);  // at how many of those a task waits for
  late.reserve(order.size());
  for (const int task : order) {
    if (is_source[at(task)] && !edges.behind[at(task)].empty()) continue;
    stack.push_back(task);
    while (!stack.empty()) {
      const int top = stack.back();
      const std::vector<int>& before = edges.before[at(top)];
      if (std::size_t& next = looked[at(top)]; next < before.size()) {
        if (const int first = before[next++]; !done[at(first)]) stack.push_back(first);
        continue;
      }
      done[at(top)] = true;
      late.push_back(top);
      stack.pop_back();
    }
  }
  return late;
}

std::int64_t peak_bytes(const Schedule& schedule, const Edges& edges, std::span<const int> order) {
  std::vector<int> left = waiting_for(edges.readers);
  std::int64_t alive = 0, peak = 0;
  for (const int t : order) {
    const Task& task = schedule.tasks[at(t)];
    std::int64_t ends = 0;
    for (const int buffer : task.reads) {
      if (--left[at(buffer)] == 0 && edges.writer[at(buffer)] >= 0) {
        ends += schedule.bytes[at(buffer)];
      }
    }
    for (const int buffer : task.writes) alive += schedule.bytes[at(buffer)];
    const bool takes =
        std::ranges::any_of(task.takes, [&](int buffer) { return left[at(buffer)] == 0; });
    const std::int64_t shared = takes ? schedule.bytes[at(task.writes[0])] : 0;
    peak = std::max(peak, alive + task.extra - shared);
    alive -= ends;
    for (const int buffer : task.writes) {
      if (left[at(buffer)] == 0) alive -= schedule.bytes[at(buffer)];
    }
  }
  return peak;
}

}  // namespace

std::int64_t peak_bytes(const Schedule& schedule, std::span<const int> order) {
  return peak_bytes(schedule, Edges(schedule), order);
}

std::vector<int> best_order(const Schedule& schedule) {
  const Edges edges(schedule);
  std::vector<int> best(schedule.tasks.size());
  std::iota(best.begin(), best.end(), 0);
  std::int64_t lowest = peak_bytes(schedule, edges, best);
  const auto consider = [&](std::vector<int> order) {
    const std::int64_t peak = peak_bytes(schedule, edges, order);
    if (peak >= lowest) return;
    lowest = peak;
    best = std::move(order);
  };
  consider(with_sources_late(edges, best));
  for (const auto make : {order_onwards, order_backwards}) {
    std::vector<int> order = make(schedule, edges);
    std::vector<int> late = with_sources_late(edges, order);
    consider(std::move(order));
    consider(std::move(late));
  }
  return best;
}

}  // namespace tenure::graph
