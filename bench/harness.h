// Measures rows. A row is a named piece of work; a program hands each of its rows to a Runner,
// which measures those asked for on the command line (all of them by default) and prints lines of
// JSON: one per row, or one for each place the machine's cores were in (see core_distance.h).
//
//   void reduce(bench::Runner& runner) {
//     runner.row("sum_16m", [](bench::Row& row) {
//       const Tensor x = ones({1 << 24});
//       row.measure([&] { bench::use(sum(x)); });
//     });
//   }
//
// A program measures either time or memory, never both: counters would cost time. With --median
// among its arguments it tells the median of single iterations in place of the least: what a user
// of a busy machine meets; with --list it only names its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

// Makes the compiler believe that `value` is needed, and that all memory may have changed.
template <class T>
inline void use(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

struct Counts {
  std::int64_t allocations = 0;    // calls of malloc and its kin, new and mmap
  std::int64_t pool_requests = 0;  // blocks asked of Tenure's pool
  std::size_t peak_bytes = 0;      // the most tensor bytes alive at once, less those before
};

// How a program that measures memory counts between start() and stop().
struct Counters {
  void (*start)();
  Counts (*stop)();
};

using Loop = std::function<void(std::int64_t times)>;

class Row {
 public:
  Row(std::string_view name, const Counters* counters, bool median)
      : name_(name), counters_(counters), median_(median) {}

  // `fn` is one iteration, or `batch` of them; what is reported is for one.
  template <class F>
  void measure(const F& fn, int batch = 1) {
    run({loop_of(fn)}, batch);
  }
  // Takes turns with a peer in the same process.
  template <class F, class Peer>
  void measure_against(const F& fn, const Peer& peer, int batch = 1) {
    run({loop_of(fn), loop_of(peer)}, batch);
  }
  // Of a row about something else than the time of `fn`: what it allocates, in a program that
  // measures memory, and nothing elsewhere.
  template <class F>
  void count(const F& fn) {
    if (counters_ != nullptr) count(loop_of(fn), 1);
  }
  // The row's figures, in a program that does not measure memory: `figures` gives names and values.
  using Figures = std::vector<std::pair<const char*, double>>;
  void report(const std::function<Figures()>& figures) const;

 private:
  template <class F>
  static Loop loop_of(const F& fn) {
    return [&fn](std::int64_t times) {
      for (std::int64_t i = 0; i < times; ++i) fn();
    };
  }
  void run(const std::vector<Loop>& loops, int batch);
  void time(const std::vector<Loop>& loops, int batch);
  void time_median(const Loop& loop, int batch) const;
  void count(const Loop& loop, int batch) const;

  std::string name_;
  const Counters* counters_;
  bool median_;
};

class Runner {
 public:
  // Takes the names of rows from the command line.
  Runner(int argc, char** argv, const Counters* counters = nullptr);

  void row(std::string_view name, const std::function<void(Row&)>& body);
  // For main to return: not 0 when a name that was asked for is no row.
  int exit_code() const;

 private:
  std::vector<std::string> missing_;  // asked for and not met yet
  bool median_;
  bool lists_;
  bool all_;
  const Counters* counters_;
};

}  // namespace bench
