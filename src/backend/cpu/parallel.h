// The one way kernels use several threads: a pool of our own.
//
// Work is cut into chunks, more than there are threads. The host thread that has the work goes
// through them itself, and workers that have nothing to do help. Each begins with a share of its
// own, so that a thread meets the same memory from one operation to the next, and then goes on with
// what the others have not begun. Nobody waits for a worker that does not come: a core that other
// processes take away delays the chunk it had begun and nothing else. Several host threads may have
// work at once; together they use as many threads as one would.
//
// Who waits spins for as long as it takes to wake a thread, and then sleeps.
//
// Chunks never depend on the number of threads unless the kernel's result does not depend on the
// chunks.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tenure::cpu {

// Below this many elements of cheap work a kernel stays on its own thread.
inline constexpr std::int64_t kSerialElements = 32 * 1024;

// How many pieces of size b cover a.
inline constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// How many threads a kernel may use, its own included: what was set, OMP_NUM_THREADS, or the
// processors that this process may run on.
int num_threads();
void set_num_threads(int threads);  // 0: as if it had never been set
// Scratch is booked for as many threads as the machine has, whatever is set when it is booked.
std::int64_t max_slots();

namespace detail {
// `seat` is less than the number of threads; no two that work at the same time have the same.
using ChunkFn = void (*)(void* context, std::int64_t begin, std::int64_t end, int seat);
struct Work {
  ChunkFn fn;
  void* context;
  std::int64_t count;
  std::int64_t chunk;
};
void run(const Work& work, std::int64_t threads) noexcept;
std::int64_t chunk_of_elements(std::int64_t count, std::int64_t grain) noexcept;
std::int64_t chunk_of_pieces(std::int64_t count) noexcept;

template <class F>
void run(std::int64_t count, std::int64_t chunk, std::int64_t threads, F& fn) noexcept {
  const ChunkFn call = [](void* context, std::int64_t begin, std::int64_t end, int seat) {
    (*static_cast<F*>(context))(begin, end, seat);
  };
  run({call, const_cast<void*>(static_cast<const void*>(&fn)), count, chunk}, threads);
}
}  // namespace detail

// Calls fn(begin, end) over disjoint ranges that cover [0, count), each but the last a multiple of
// 16 long; on several threads where each gets at least `grain`.
template <class F>
void parallel_for(std::int64_t count, std::int64_t grain, F&& fn) noexcept {
  if (count <= grain) {
    if (count > 0) fn(std::int64_t{0}, count);
    return;
  }
  auto range = [&fn](std::int64_t begin, std::int64_t end, int) { fn(begin, end); };
  detail::run(count, detail::chunk_of_elements(count, grain), (count + grain - 1) / grain, range);
}

// Calls fn(index, seat) for every index in [0, count), each as one piece of work, on at most
// `threads` threads: `seat` tells which scratch of a thread is free.
template <class F>
void parallel_seated(std::int64_t count, std::int64_t threads, F&& fn) noexcept {
  auto pieces = [&fn](std::int64_t begin, std::int64_t end, int seat) {
    for (std::int64_t i = begin; i < end; ++i) fn(i, static_cast<std::int64_t>(seat));
  };
  if (count == 1) {
    pieces(0, 1, 0);
    return;
  }
  detail::run(count, detail::chunk_of_pieces(count), threads, pieces);
}

// Calls fn(index) for every index in [0, count), each as one piece of work: for reductions, whose
// pieces must not depend on the number of threads.
template <class F>
void parallel_each(std::int64_t count, F&& fn) noexcept {
  parallel_seated(count, count, [&fn](std::int64_t index, std::int64_t) { fn(index); });
}

}  // namespace tenure::cpu
