#include "backend/cpu/parallel.h"

#include <omp.h>

#include <algorithm>
#include <atomic>

namespace tenure::cpu {
namespace {

std::atomic<int> g_threads{0};  // 0: as many as OpenMP would use
std::atomic<bool> g_team_running{false};

}  // namespace

int num_threads() {
  const int set = g_threads.load(std::memory_order_relaxed);
  if (set > 0) return set;
  static const int natural = omp_get_max_threads();
  return natural;
}

void set_num_threads(int threads) { g_threads.store(threads, std::memory_order_relaxed); }

Team::Team(std::int64_t wanted) noexcept {
  const auto threads = static_cast<int>(std::min<std::int64_t>(wanted, num_threads()));
  if (threads <= 1 || omp_in_parallel()) return;
  if (g_team_running.exchange(true, std::memory_order_acquire)) return;
  threads_ = threads;
}

Team::~Team() {
  if (threads_ > 1) g_team_running.store(false, std::memory_order_release);
}

namespace detail {

void parallel_for(std::int64_t count, std::int64_t grain, RangeFn fn, void* context) noexcept {
  const bool whole_pieces = grain == 0;  // parallel_each: pieces are single indices
  const Team team(whole_pieces ? count : (count + grain - 1) / grain);
  const int threads = team.threads();
  if (threads == 1) {
    fn(context, 0, count);
    return;
  }
  std::int64_t chunk = (count + threads - 1) / threads;
  if (!whole_pieces) chunk = (chunk + 15) / 16 * 16;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    const std::int64_t begin = t * chunk;
    const std::int64_t end = std::min(count, begin + chunk);
    if (begin < end) fn(context, begin, end);
  }
}

}  // namespace detail
}  // namespace tenure::cpu
