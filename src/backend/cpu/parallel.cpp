#include "backend/cpu/parallel.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <climits>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <thread>

#include "memory/fork.h"

namespace tenure::cpu {
namespace {

// About what it costs to sleep and be woken, on a virtual machine; so waiting costs at most twice
// what the best choice would have.
constexpr std::chrono::microseconds kSpin{50};
constexpr std::chrono::microseconds kLongSpin{1000};
constexpr int kMostThreads = 64;     // one bit each
constexpr int kRegions = 16;         // host threads that get help at the same time
constexpr int kChunksPerThread = 4;  // of elements; so much of a lost core's share is lost at most
constexpr int kPiecesPerThread = 8;  // chunks, where there are many small pieces
constexpr std::size_t kLine = 128;   // processors fetch lines in pairs

thread_local bool t_works = false;  // inside a chunk, or a worker: what it starts stays on it

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

// Whether `ready` became true within kSpin of when `soon` last was, and of kLongSpin.
template <class Ready, class Soon>
bool spin_until(Ready ready, Soon soon) noexcept {
  using Clock = std::chrono::steady_clock;
  if (ready()) return true;
  Clock::time_point now = Clock::now();
  const Clock::time_point begin = now;
  for (Clock::time_point since = now; now - since < kSpin; now = Clock::now()) {
    for (int i = 0; i < 16; ++i) {
      pause();
      if (ready()) return true;
    }
    if (now - begin < kLongSpin && soon()) since = now;
  }
  return false;
}

using Word = std::atomic<std::uint32_t>;
static_assert(sizeof(Word) == 4);

void futex_wait(Word& word, std::uint32_t while_it_is) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, while_it_is, nullptr, nullptr, 0);
}

void futex_wake(Word& word, int most) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, most, nullptr, nullptr, 0);
}

// Work that is being done, by its host and the workers who have a seat in it. Regions are never
// freed: a worker that comes late finds the door closed.
class alignas(kLine) Region {
 public:
  // By the host. Seat 1 is the worker's `first`, of `workers`.
  void open(const detail::Work& work, int threads, int first, int workers) noexcept {
    work_ = work;
    seats_.store({static_cast<std::int16_t>(threads), static_cast<std::int16_t>(first),
                  static_cast<std::int16_t>(workers)},
                 std::memory_order_relaxed);
    const std::int64_t chunks = (work.count + work.chunk - 1) / work.chunk;
    for (int i = 0; i < threads; ++i) {
      Share& share = shares_[static_cast<std::size_t>(i)];
      share.next.store(i * chunks / threads, std::memory_order_relaxed);
      share.end = (i + 1) * chunks / threads;
    }
    begun_.store(0, std::memory_order_relaxed);
    door_.store(kOpen, std::memory_order_release);
  }

  // Waits for those inside.
  void close() noexcept {
    std::uint32_t door = door_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
    while (door != 0) {
      const auto is_empty = [&] {
        door = door_.load(std::memory_order_acquire);
        return (door & ~kAwaited) == 0;
      };
      if (spin_until(is_empty, [] { return false; })) break;
      if (door_.compare_exchange_weak(door, door | kAwaited, std::memory_order_acquire)) {
        futex_wait(door_, door | kAwaited);
      }
    }
    closed_.fetch_add(1, std::memory_order_relaxed);
  }
  // How often it was: the same for as long as the work goes on that one has seen.
  std::uint32_t closed() const noexcept { return closed_.load(std::memory_order_relaxed); }

  // By a worker: its seat, or 0. Only what enter() gives is more than a guess.
  int seat_of(int worker) const noexcept {
    const Seats seats = seats_.load(std::memory_order_relaxed);
    if (seats.workers == 0 || worker > seats.workers) return 0;
    const int seat = (worker - seats.first + seats.workers) % seats.workers + 1;
    return seat < seats.threads ? seat : 0;
  }
  int worker_at(int seat) const noexcept {  // 0: there is no such seat
    const Seats seats = seats_.load(std::memory_order_relaxed);
    return seat < seats.threads ? (seats.first - 1 + seat - 1) % seats.workers + 1 : 0;
  }
  int enter(int worker) noexcept {
    std::uint32_t door = door_.load(std::memory_order_relaxed);
    do {
      if ((door & kOpen) == 0) return 0;
    } while (!door_.compare_exchange_weak(door, door + 1, std::memory_order_acquire,
                                          std::memory_order_relaxed));
    const int seat = seat_of(worker);
    if (seat == 0) leave();
    return seat;
  }
  void leave() noexcept {
    const std::uint32_t door = door_.fetch_sub(1, std::memory_order_acq_rel) - 1;
    if (door == kAwaited) futex_wake(door_, 1);
  }

  // By anybody inside: one's own share first, then whatever nobody has begun.
  void work(int seat) noexcept {
    const int threads = seats_.load(std::memory_order_relaxed).threads;
    const std::uint64_t all = ~std::uint64_t{0} >> (kMostThreads - threads);
    for (int at = seat;;) {
      Share& share = shares_[static_cast<std::size_t>(at)];
      for (std::int64_t i = share.next.load(std::memory_order_relaxed); i < share.end;) {
        i = share.next.fetch_add(1, std::memory_order_relaxed);
        if (i >= share.end) break;
        const std::int64_t begin = i * work_.chunk;
        work_.fn(work_.context, begin, std::min(work_.count, begin + work_.chunk), seat);
      }
      const std::uint64_t bit = std::uint64_t{1} << at;
      const std::uint64_t left = all & ~(begun_.fetch_or(bit, std::memory_order_relaxed) | bit);
      if (left == 0) return;
      const std::uint64_t later = left & ~(bit - 1);  // the next one, around the end
      at = std::countr_zero(later != 0 ? later : left);
    }
  }

 private:
  // The door: how many workers are inside, and
  static constexpr std::uint32_t kOpen = 1u << 30;
  static constexpr std::uint32_t kAwaited = 1u << 31;  // the host sleeps until there are none

  struct Seats {
    std::int16_t threads = 0, first = 0, workers = 0, unused = 0;
  };
  struct alignas(kLine) Share {
    std::atomic<std::int64_t> next{0};  // chunk
    std::int64_t end = 0;
  };

  alignas(kLine) std::atomic<Seats> seats_{};
  detail::Work work_{};
  std::atomic<std::uint32_t> closed_{0};
  alignas(kLine) Word door_{0};
  alignas(kLine) std::atomic<std::uint64_t> begun_{0};  // shares of which nothing is left to begin
  std::array<Share, kMostThreads> shares_;
};

class Pool {
 public:
  // This process's; a child of a fork has none of its parent's threads. Null without memory.
  static Pool* current() noexcept {
    static constinit std::atomic<Pool*> pool{nullptr};
    Pool* present = pool.load(std::memory_order_acquire);
    if (present != nullptr && present->forks_ == tenure::detail::forks()) [[likely]]
      return present;
    Pool* fresh = new (std::nothrow) Pool;
    if (fresh == nullptr || pool.compare_exchange_strong(present, fresh)) return fresh;
    delete fresh;
    return present;
  }

  void run(const detail::Work& work, int threads) noexcept {
    const int others = hosts_.fetch_add(1, std::memory_order_relaxed);
    threads = std::min({threads, num_threads() - others, kMostThreads});
    const int workers = threads > 1 ? hire(threads - 1) : 0;
    threads = std::min(threads, workers + 1);
    const int at = threads > 1 ? take_region() : -1;
    t_works = true;
    if (at < 0) {
      work.fn(work.context, 0, work.count, 0);
    } else {
      const std::uint64_t bit = std::uint64_t{1} << at;
      Region& region = regions_[static_cast<std::size_t>(at)];
      // Hosts at the same time call workers of their own, where there are enough.
      region.open(work, threads, at * (threads - 1) % workers + 1, workers);
      open_.fetch_or(bit, std::memory_order_seq_cst);
      call_workers(region, 0);
      region.work(0);
      open_.fetch_and(~bit, std::memory_order_relaxed);
      region.close();
      taken_.fetch_and(~bit, std::memory_order_release);
    }
    t_works = false;
    hosts_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  struct alignas(kLine) Worker {
    Word asleep{0};
  };

  int take_region() noexcept {
    std::uint64_t taken = taken_.load(std::memory_order_relaxed);
    for (;;) {
      const int at = std::countr_one(taken);
      if (at >= kRegions) return -1;
      if (taken_.compare_exchange_weak(taken, taken | std::uint64_t{1} << at,
                                       std::memory_order_acquire, std::memory_order_relaxed)) {
        return at;
      }
    }
  }

  // Whoever comes calls two more, if they are asleep: waking a thread takes time.
  void call_workers(const Region& region, int seat) noexcept {
    for (int next = 2 * seat + 1; next <= 2 * seat + 2; ++next) {
      const int worker = region.worker_at(next);
      if (worker == 0) return;
      Word& asleep = workers_[static_cast<std::size_t>(worker)].asleep;
      if (asleep.load(std::memory_order_seq_cst) != 0 && asleep.exchange(0) != 0) {
        futex_wake(asleep, 1);
      }
    }
  }

  // Makes sure that there are so many, where possible; how many there are.
  int hire(int wanted) noexcept {
    int hired = hired_.load(std::memory_order_acquire);
    if (hired >= wanted) [[likely]]
      return hired;
    if (hiring_.exchange(true, std::memory_order_acquire)) return hired;
    hired = hired_.load(std::memory_order_relaxed);
    // Signals are for the program's own threads, but for those that tell of what a thread itself
    // did.
    sigset_t others, before;
    sigfillset(&others);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) {
      sigdelset(&others, fault);
    }
    pthread_sigmask(SIG_BLOCK, &others, &before);
    try {
      for (; hired < wanted; ++hired) {
        std::thread([this, number = hired + 1] { serve(number); }).detach();
      }
    } catch (const std::exception&) {  // those there are will do
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    hired_.store(hired, std::memory_order_release);
    hiring_.store(false, std::memory_order_release);
    return hired;
  }

  [[noreturn]] void serve(int number) noexcept {
    pthread_setname_np(pthread_self(), "tenure");
    t_works = true;
    const Region* helped = nullptr;
    std::uint32_t closed = 0;
    for (;;) {
      int at = -1;
      const auto find_work = [&] { return (at = find(number)) >= 0; };
      // The host whose work is still being done is likely to have more.
      const auto is_soon = [&] { return helped != nullptr && helped->closed() == closed; };
      while (!spin_until(find_work, is_soon)) sleep(number);
      Region& region = regions_[static_cast<std::size_t>(at)];
      const int seat = region.enter(number);
      if (seat == 0) continue;
      helped = &region;
      closed = region.closed();
      call_workers(region, seat);
      region.work(seat);
      // While inside: the region is not another one yet.
      const std::uint64_t bit = std::uint64_t{1} << at;
      if ((open_.load(std::memory_order_relaxed) & bit) != 0) {
        open_.fetch_and(~bit, std::memory_order_relaxed);
      }
      region.leave();
    }
  }

  // A region that has a seat for this worker; -1: there is none.
  int find(int number) const noexcept {
    for (std::uint64_t open = open_.load(std::memory_order_seq_cst); open != 0; open &= open - 1) {
      const int at = std::countr_zero(open);
      if (regions_[static_cast<std::size_t>(at)].seat_of(number) != 0) return at;
    }
    return -1;
  }

  void sleep(int number) noexcept {
    Word& asleep = workers_[static_cast<std::size_t>(number)].asleep;
    asleep.store(1, std::memory_order_seq_cst);
    if (find(number) < 0) {
      while (asleep.load(std::memory_order_acquire) != 0) futex_wait(asleep, 1);
    } else {
      asleep.store(0, std::memory_order_relaxed);
    }
  }

  const std::uint32_t forks_ = tenure::detail::forks();
  alignas(kLine) std::atomic<std::uint64_t> open_{0};   // regions with work that nobody has begun
  alignas(kLine) std::atomic<std::uint64_t> taken_{0};  // regions that have a host
  std::atomic<int> hosts_{0};  // threads with work for several, whether or not they get help
  std::atomic<int> hired_{0};
  std::atomic<bool> hiring_{false};
  std::array<Worker, kMostThreads> workers_;  // by number, from 1 on
  std::array<Region, kRegions> regions_;
};

// What a container may use, which is not what it sees.
int allowed_by_cgroup() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return kMostThreads;
  return std::max(1, static_cast<int>(std::lround(std::strtod(quota.c_str(), nullptr) / period)));
}

int natural_threads() {
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    const long asked = std::strtol(text, nullptr, 10);
    if (asked > 0) return static_cast<int>(std::min<long>(asked, INT_MAX));
  }
  cpu_set_t processors;
  const bool known = sched_getaffinity(0, sizeof(processors), &processors) == 0;
  const int count = known ? CPU_COUNT(&processors)
                          : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return std::min(count, allowed_by_cgroup());
}

std::atomic<int> g_threads{0};

}  // namespace

int num_threads() {
  const int set = g_threads.load(std::memory_order_relaxed);
  if (set > 0) return set;
  static const int natural = natural_threads();
  return natural;
}

std::int64_t max_slots() {
  static const std::int64_t count = std::max(1U, std::thread::hardware_concurrency());
  return count;
}

void set_num_threads(int threads) { g_threads.store(threads, std::memory_order_relaxed); }

namespace detail {

void run(const Work& work, std::int64_t threads) noexcept {
  threads = std::min<std::int64_t>({threads, num_threads(), work.count});
  Pool* pool = threads > 1 && !t_works ? Pool::current() : nullptr;
  if (pool != nullptr) {
    pool->run(work, static_cast<int>(threads));
  } else if (work.count > 0) {
    work.fn(work.context, 0, work.count, 0);
  }
}

std::int64_t chunk_of_elements(std::int64_t count, std::int64_t grain) noexcept {
  const std::int64_t threads = std::min<std::int64_t>(num_threads(), (count + grain - 1) / grain);
  const std::int64_t chunks = threads * kChunksPerThread;
  // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): there is at least one thread
  return ((count + chunks - 1) / chunks + 15) / 16 * 16;
}

std::int64_t chunk_of_pieces(std::int64_t count) noexcept {
  // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): as above
  return std::max<std::int64_t>(1, count / (std::int64_t{num_threads()} * kPiecesPerThread));
}

}  // namespace detail
}  // namespace tenure::cpu
