// The driver of elementwise kernels: from tensors that broadcast to straight runs of elements.
//
// A kernel supplies a loop over one run: `count` elements of the output that lie next to each
// other, and for each input either as many neighbours or one value for the whole run. The driver
// finds the runs. Inputs that cover the output element by element, or are a single value, make the
// whole tensor one run; this is decided first and costs a few nanoseconds. For the rest, axes that
// continue each other are merged and the remaining ones walked like an odometer.
//
// Runs are cut anywhere, by thread count and by shape, so a loop's result for an element must not
// depend on the element's place in its run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "backend/cpu/parallel.h"
#include "ops/kernel.h"

// Before a loop whose iterations are independent. GCC vectorises it at -O2 only when asked to;
// clang does by itself, and would complain of loops it cannot.
#if defined(__clang__)
#define TENURE_VECTORISE
#else
#define TENURE_VECTORISE _Pragma("omp simd")
#endif

namespace tenure::cpu {

inline constexpr int kMaxElementwiseInputs = 3;

// From this many elements on, a second thread pays for loops that compute a polynomial an element.
inline constexpr std::int64_t kSerialMathElements = 8 * 1024;

struct Run {
  std::array<const std::byte*, kMaxElementwiseInputs> src;
  std::byte* dst;
  std::int64_t count;
  unsigned stepped;  // bit i: src[i] advances with dst. Never 0.

  template <class T>
  const T* input(int i) const {
    return reinterpret_cast<const T*>(src[static_cast<std::size_t>(i)]);
  }
  template <class T>
  T* output() const {
    return reinterpret_cast<T*>(dst);
  }
};

struct RunLoop {
  void (*run)(const Run&) noexcept;
  int inputs;
  std::array<std::uint8_t, kMaxElementwiseInputs> src_size;  // bytes of an element
  std::uint8_t dst_size;
  std::int64_t grain;  // elements that are worth a thread

  unsigned all_stepped() const { return (1U << inputs) - 1; }
};

// One run, split over threads when it is long. `run.stepped` may be 0.
void run_flat(const RunLoop& loop, const Run& run) noexcept;

// Any shapes that broadcast to the output's.
void run_broadcast(const RunLoop& loop, const ops::KernelArgs& args) noexcept;

// The number of elements if they lie in row-major order without gaps, otherwise -1.
inline std::int64_t packed_numel(const ops::KernelView& view) {
  const std::int64_t* dims = view.shape->begin();
  const std::int64_t* strides = view.strides->begin();
  std::int64_t count = 1;
  for (int axis = view.shape->rank() - 1; axis >= 0; --axis) {
    if (dims[axis] != 1 && strides[axis] != count) return -1;
    count *= dims[axis];
  }
  return count;
}

// A Loop has the types Dst and Src<0>, Src<1>..., the numbers kInputs and kGrain, and
// `static void run(const Run&) noexcept`.
template <class Loop>
void elementwise_kernel(const ops::KernelArgs& args) noexcept {
  static constexpr RunLoop kLoop = []<std::size_t... i>(std::index_sequence<i...>) {
    return RunLoop{&Loop::run,
                   Loop::kInputs,
                   {sizeof(typename Loop::template Src<i>)...},
                   sizeof(typename Loop::Dst),
                   Loop::kGrain};
  }(std::make_index_sequence<Loop::kInputs>());
  Run run{{}, args.out[0].data, args.out[0].numel(), 0};
  if (run.count == 0) return;
  for (int i = 0; i < Loop::kInputs; ++i) {
    const ops::KernelView& in = args.in[static_cast<std::size_t>(i)];
    const std::int64_t packed = packed_numel(in);
    if (packed == run.count) {
      run.stepped |= 1U << i;
    } else if (packed != 1) {
      run_broadcast(kLoop, args);
      return;
    }
    run.src[static_cast<std::size_t>(i)] = in.data;
  }
  if (run.count <= Loop::kGrain && run.stepped != 0) {
    Loop::run(run);
  } else {
    run_flat(kLoop, run);
  }
}

}  // namespace tenure::cpu
