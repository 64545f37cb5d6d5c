#include "backend/cpu/parallel.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <thread>

#include "memory/fork.h"

namespace tenure::cpu {
namespace {

std::atomic<int> g_threads{0};  // 0: as many as OpenMP would use

// Whether a team runs, and since which fork: one of the parent's does not run in the child.
constinit std::atomic<std::uint32_t> g_team{0};  // 0: none; else forks() + 1

bool take_team() noexcept {
  const std::uint32_t here = tenure::detail::forks() + 1;
  std::uint32_t running = g_team.load(std::memory_order_relaxed);
  return running != here && g_team.compare_exchange_strong(running, here, std::memory_order_acquire,
                                                           std::memory_order_relaxed);
}

struct Region {
  detail::RangeFn fn;
  void* context;
  std::int64_t count;
  std::int64_t chunk;
  int threads;

  void run() const noexcept {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; ++t) {
      const std::int64_t begin = t * chunk;
      const std::int64_t end = std::min(count, begin + chunk);
      if (begin < end) fn(context, begin, end);
    }
  }
};

// libgomp keeps a team for each thread that starts one. The thread that called fork still has the
// one it had in the parent, of threads that the child lacks, and would wait for them for ever. A
// thread that was made in the child has none: this one starts the regions of the other.
class StandIn {
 public:
  // Used by whoever has the team. Null where no thread is to be had.
  static StandIn* here() noexcept {
    static StandIn* current = nullptr;
    if (current == nullptr || current->forks_ != tenure::detail::forks()) {
      try {
        auto fresh = std::make_unique<StandIn>();
        std::thread([stand_in = fresh.get()] { stand_in->loop(); }).detach();
        current = fresh.release();
      } catch (const std::exception&) {
        return nullptr;
      }
    }
    return current;
  }

  void run(const Region& region) noexcept {
    region_ = &region;
    asked_.fetch_add(1, std::memory_order_release);
    asked_.notify_one();
    for (std::uint32_t done = done_.load(std::memory_order_acquire); done != asked_.load();
         done = done_.load(std::memory_order_acquire)) {
      done_.wait(done, std::memory_order_acquire);
    }
  }

 private:
  void loop() noexcept {
    for (std::uint32_t done = 0;; ++done) {
      asked_.wait(done, std::memory_order_acquire);
      region_->run();
      done_.store(done + 1, std::memory_order_release);
      done_.notify_one();
    }
  }

  const std::uint32_t forks_ = tenure::detail::forks();
  const Region* region_ = nullptr;
  std::atomic<std::uint32_t> asked_{0};
  std::atomic<std::uint32_t> done_{0};
};

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
  if (threads <= 1 || omp_in_parallel() || !take_team()) return;
  threads_ = threads;
}

Team::~Team() {
  if (threads_ > 1) g_team.store(0, std::memory_order_release);
}

namespace detail {

void parallel_for(std::int64_t count, std::int64_t grain, RangeFn fn, void* context) noexcept {
  const bool whole_pieces = grain == 0;  // parallel_each: pieces are single indices
  const Team team(whole_pieces ? count : (count + grain - 1) / grain);
  const int threads = team.threads();
  StandIn* stand_in = nullptr;
  const bool forked = threads > 1 && tenure::detail::came_through_fork();
  if (forked) [[unlikely]]
    stand_in = StandIn::here();
  if (threads == 1 || (forked && stand_in == nullptr)) {
    fn(context, 0, count);
    return;
  }
  std::int64_t chunk = (count + threads - 1) / threads;
  if (!whole_pieces) chunk = (chunk + 15) / 16 * 16;
  const Region region{fn, context, count, chunk, threads};
  if (forked) [[unlikely]] {
    stand_in->run(region);
  } else {
    region.run();
  }
}

}  // namespace detail
}  // namespace tenure::cpu
