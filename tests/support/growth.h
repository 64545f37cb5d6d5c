// How the CPU time of work grows with its size. No test says how long something may take on some
// machine; that eight times as much takes less than 22 times as long (which grows as n^1.5) holds
// on any, if what is measured lies in a cache at both sizes or at neither.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <limits>

namespace tenure::testing {

// Of all threads of the process.
template <class Work>
double cpu_seconds(Work&& work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begin = now();
  work();
  return now() - begin;
}

// `seconds_of(n)` does n things and says what they took. A square would be 64 times as long.
template <class SecondsOf>
void expect_near_linear(std::int64_t n, SecondsOf&& seconds_of) {
  constexpr double kAllowed = 22;
  constexpr std::int64_t kMore = 8;
  constexpr int kTries = 6;  // whoever else is at work makes both longer: the least of each counts
  double least = std::numeric_limits<double>::infinity(), least_of_more = least;
  for (int i = 0; i < kTries; ++i) {
    least = std::min(least, seconds_of(n));
    least_of_more = std::min(least_of_more, seconds_of(kMore * n));
    if (least_of_more < kAllowed * least) return;
  }
  ADD_FAILURE() << n << " took " << least * 1e3 << " ms, " << kMore * n << " took "
                << least_of_more * 1e3 << " ms: " << least_of_more / least << " times as long";
}

}  // namespace tenure::testing
