// The one way kernels use several threads: OpenMP, one team at a time.
//
// Two teams on two cores cost several times what running serially does, so a team needs a token; a
// host thread that does not get it runs its kernel alone. Chunks never depend on the number of
// threads unless the kernel's result does not depend on the chunks.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tenure::cpu {

// Below this many elements of cheap work a kernel stays on its own thread.
inline constexpr std::int64_t kSerialElements = 32 * 1024;

int num_threads();
void set_num_threads(int threads);

// The right to run a team; `threads` is 1 for whoever did not get it. Held while in scope.
class Team {
 public:
  explicit Team(std::int64_t wanted) noexcept;
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  int threads() const { return threads_; }

 private:
  int threads_ = 1;
};

namespace detail {
using RangeFn = void (*)(void* context, std::int64_t begin, std::int64_t end);
void parallel_for(std::int64_t count, std::int64_t grain, RangeFn fn, void* context) noexcept;
}  // namespace detail

// Calls fn(begin, end) over disjoint ranges that cover [0, count), each but the last a multiple of
// 16 long, at least `grain` long where there are several; on several threads when it pays.
template <class F>
void parallel_for(std::int64_t count, std::int64_t grain, F&& fn) noexcept {
  if (count <= grain) {
    if (count > 0) fn(std::int64_t{0}, count);
    return;
  }
  detail::parallel_for(
      count, grain,
      [](void* context, std::int64_t begin, std::int64_t end) {
        (*static_cast<std::remove_reference_t<F>*>(context))(begin, end);
      },
      const_cast<void*>(static_cast<const void*>(&fn)));
}

// Calls fn(index) for every index in [0, count), each as one piece of work: for reductions, whose
// pieces must not depend on the number of threads.
template <class F>
void parallel_each(std::int64_t count, F&& fn) noexcept {
  if (count == 1) {
    fn(std::int64_t{0});
    return;
  }
  auto run = [&fn](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) fn(i);
  };
  detail::parallel_for(
      count, 0,
      [](void* context, std::int64_t begin, std::int64_t end) {
        (*static_cast<decltype(run)*>(context))(begin, end);
      },
      &run);
}

}  // namespace tenure::cpu
