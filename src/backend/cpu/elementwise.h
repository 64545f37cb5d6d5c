// The driver of elementwise kernels: from tensors that broadcast to straight runs of elements.
//
// A kernel supplies a loop over one run (ops/element_loop.h). The driver finds the runs. Inputs
// that cover the output element by element, or are a single value, make the whole tensor one run;
// this is decided first and costs a few nanoseconds. For the rest, axes that continue each other
// are merged and the remaining ones walked like an odometer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
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

inline constexpr int kMaxElementwiseInputs = ops::kMaxLoopInputs;

// From this many elements on, a second thread pays for loops that compute a polynomial an element.
inline constexpr std::int64_t kSerialMathElements = 8 * 1024;

using ops::Run;
using ops::RunLoop;

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
inline constexpr RunLoop kRunLoop = []<std::size_t... i>(std::index_sequence<i...>) {
  return RunLoop{&Loop::run,
                 Loop::kInputs,
                 {sizeof(typename Loop::template Src<i>)...},
                 sizeof(typename Loop::Dst),
                 Loop::kGrain};
}(std::make_index_sequence<Loop::kInputs>());

template <class Loop>
void elementwise_kernel(const ops::KernelArgs& args) noexcept {
  Run run{{}, args.out[0].data, args.out[0].numel(), 0};
  if (run.count == 0) return;
  for (int i = 0; i < Loop::kInputs; ++i) {
    const ops::KernelView& in = args.in[static_cast<std::size_t>(i)];
    const std::int64_t packed = packed_numel(in);
    if (packed == run.count) {
      run.stepped |= 1U << i;
    } else if (packed != 1) {
      run_broadcast(kRunLoop<Loop>, args);
      return;
    }
    run.src[static_cast<std::size_t>(i)] = in.data;
  }
  if (run.count <= Loop::kGrain && run.stepped != 0) {
    Loop::run(run);
  } else {
    run_flat(kRunLoop<Loop>, run);
  }
}

// The loop of a kernel whose attributes do not matter.
template <class Loop>
ops::ElementLoop element_loop(ops::AttrsRef) noexcept {
  return {.loop = kRunLoop<Loop>};
}

// A kernel that is one loop, and hands it out.
template <class Loop>
constexpr ops::KernelRow elementwise_row(std::string_view op, DType dtype) {
  return {.op = op, .dtype = dtype, .run = &elementwise_kernel<Loop>, .loop = &element_loop<Loop>};
}

}  // namespace tenure::cpu
