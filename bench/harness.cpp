#include "harness.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <map>

#include "core_distance.h"

namespace bench {
namespace {

// Many short repetitions find the moments in which a shared machine is quiet; few long ones may
// miss them all.
constexpr double kRepetitionSeconds = 0.01;
constexpr double kRowSeconds = 0.25;
constexpr double kMedianSeconds = 3;
constexpr int kLeastRepetitions = 9;
constexpr int kWarmIterations = 16;  // before counting
constexpr int kCountedIterations = 8;

double seconds(const Loop& loop, std::int64_t times) {
  const auto start = std::chrono::steady_clock::now();
  loop(times);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Warms the loop up; returns how many times make a repetition. Judges by the best of a few runs, as
// one interruption must not pass for a slow loop.
std::int64_t calibrate(const Loop& loop) {
  std::int64_t times = 1;
  for (;; times *= 2) {
    double best = seconds(loop, times);
    for (int i = 0; i < 2; ++i) best = std::min(best, seconds(loop, times));
    if (best >= kRepetitionSeconds) return times;
  }
}

const char* name(Cores place) {
  switch (place) {
    case Cores::near:
      return "near";
    case Cores::apart:
      return "apart";
    case Cores::unknown:
      break;
  }
  return "unknown";
}

}  // namespace

void Row::run(const std::vector<Loop>& loops, int batch) {
  if (counters_ != nullptr) {
    count(loops.front(), batch);
  } else if (median_) {
    time_median(loops.front(), batch);
  } else {
    time(loops, batch);
  }
}

void Row::time(const std::vector<Loop>& loops, int batch) {
  std::vector<std::int64_t> times;
  times.reserve(loops.size());
  for (const Loop& loop : loops) times.push_back(calibrate(loop));
  std::map<Cores, std::vector<double>> best;
  Cores before = where_cores_are();
  double spent = 0;
  for (int i = 0; i < kLeastRepetitions || spent < kRowSeconds; ++i) {
    std::vector<double> taken;
    for (std::size_t which = 0; which < loops.size(); ++which) {
      taken.push_back(seconds(loops[which], times[which]));
      spent += taken.back();
    }
    const Cores after = where_cores_are();
    std::vector<double>& so_far = best[before == after ? after : Cores::unknown];
    so_far.resize(loops.size(), std::numeric_limits<double>::infinity());
    for (std::size_t which = 0; which < loops.size(); ++which) {
      const double each = taken[which] / static_cast<double>(times[which]) / batch;
      so_far[which] = std::min(so_far[which], each * 1e6);
    }
    before = after;
  }
  for (const auto& [place, us] : best) {
    std::printf("{\"name\": \"%s\", \"cores\": \"%s\", \"us\": %.6f", name_.c_str(), name(place),
                us[0]);
    if (us.size() > 1) std::printf(", \"peer_us\": %.6f", us[1]);
    std::printf("}\n");
  }
  std::fflush(stdout);
}

void Row::time_median(const Loop& loop, int batch) const {
  calibrate(loop);
  std::vector<double> taken;
  for (double spent = 0; spent < kMedianSeconds; spent += taken.back()) {
    taken.push_back(seconds(loop, 1));
  }
  const auto middle = taken.begin() + static_cast<std::ptrdiff_t>(taken.size() / 2);
  std::nth_element(taken.begin(), middle, taken.end());
  std::printf("{\"name\": \"%s\", \"us\": %.6f}\n", name_.c_str(), *middle * 1e6 / batch);
  std::fflush(stdout);
}

void Row::report(const std::function<Figures()>& figures) const {
  if (counters_ != nullptr) return;
  std::printf("{\"name\": \"%s\"", name_.c_str());
  for (const auto& [name, value] : figures()) std::printf(", \"%s\": %.9g", name, value);
  std::printf("}\n");
  std::fflush(stdout);
}

void Row::count(const Loop& loop, int batch) const {
  loop(kWarmIterations);
  counters_->start();
  loop(kCountedIterations);
  const Counts counts = counters_->stop();
  const double iterations = static_cast<double>(kCountedIterations) * batch;
  std::printf(
      "{\"name\": \"%s\", \"peak_bytes\": %zu, \"allocations\": %.6g, \"pool_requests\": %.6g}\n",
      name_.c_str(), counts.peak_bytes, static_cast<double>(counts.allocations) / iterations,
      static_cast<double>(counts.pool_requests) / iterations);
  std::fflush(stdout);
}

Runner::Runner(int argc, char** argv, const Counters* counters)
    : missing_(argv + 1, argv + argc),
      median_(std::erase(missing_, "--median") > 0),
      lists_(std::erase(missing_, "--list") > 0),
      all_(missing_.empty()),
      counters_(counters) {}

void Runner::row(std::string_view name, const std::function<void(Row&)>& body) {
  const auto asked = std::find(missing_.begin(), missing_.end(), name);
  if (asked == missing_.end() && !all_) return;
  if (asked != missing_.end()) missing_.erase(asked);
  if (lists_) {
    std::printf("%.*s\n", static_cast<int>(name.size()), name.data());
    return;
  }
  Row row(name, counters_, median_);
  body(row);
}

int Runner::exit_code() const {
  for (const std::string& name : missing_) std::fprintf(stderr, "no such row: %s\n", name.c_str());
  return missing_.empty() ? 0 : 1;
}

}  // namespace bench
