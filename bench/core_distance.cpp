#include "core_distance.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

constexpr int kTrips = 2000;
constexpr Nanoseconds kMostTime = std::chrono::milliseconds(100);  // on a busy machine

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

void pin_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

enum Ball { kHere, kThere, kDone };

}  // namespace

double core_round_trip_ns() {
  const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) return 0;
  alignas(64) std::atomic<Ball> ball{kHere};
  double best = std::numeric_limits<double>::infinity();
  std::thread there([&] {
    pin_to(cores[1]);
    for (Ball seen = ball; seen != kDone; seen = ball) {
      if (seen == kThere) ball = kHere;
    }
  });
  std::thread here([&] {
    pin_to(cores[0]);
    const Clock::time_point begin = Clock::now();
    for (int trip = 0; trip < kTrips && Clock::now() - begin < kMostTime; ++trip) {
      const Clock::time_point start = Clock::now();
      ball = kThere;
      while (ball != kHere) {
      }
      best = std::min(best, Nanoseconds(Clock::now() - start).count());
    }
    ball = kDone;
  });
  here.join();
  there.join();
  return best;
}

}  // namespace bench
