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

constexpr int kTrips = 300;
// An OpenMP worker that waits for work keeps its core for some 5 ms.
constexpr Nanoseconds kMostTime = std::chrono::milliseconds(15);
// Round trips, with the clock's own 20 ns: 60 to 100 within a cache, 200 to 350 across.
constexpr double kNearNs = 150;
constexpr double kApartNs = 1000;  // above: somebody else ran on one of the cores

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

double shortest_trip_ns(int from, int to) {
  alignas(64) std::atomic<Ball> ball{kHere};
  double best = std::numeric_limits<double>::infinity();
  std::thread there([&] {
    pin_to(to);
    for (Ball seen = ball; seen != kDone; seen = ball) {
      if (seen == kThere) ball = kHere;
    }
  });
  std::thread here([&] {
    pin_to(from);
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

}  // namespace

Cores where_cores_are() {
  static const std::vector<int> cores = allowed_cores();
  if (cores.size() < 2) return Cores::near;
  const double ns = shortest_trip_ns(cores[0], cores[1]);
  return ns < kNearNs ? Cores::near : ns < kApartNs ? Cores::apart : Cores::unknown;
}

}  // namespace bench
