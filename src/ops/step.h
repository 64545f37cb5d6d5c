// One step: a kernel run on what it was given. Eager code (apply.cpp) and the programs of traced
// functions run their kernels here and nowhere else, so that recordings and profiles are told of
// both alike. What both ask about an op's operands stands here too: which strides its kernel takes,
// and whose bytes a result may take.
#pragma once

#include "core/layout.h"
#include "memory/events.h"
#include "ops/kernel.h"
#include "ops/op_def.h"
#include "ops/profiler.h"

namespace tenure::ops {

// Whether a kernel of `op` reads this input as it lies; one with other strides is copied first.
bool accepts_strides(const OpDef& op, AttrsRef attrs, std::size_t input, const Layout& in,
                     const Shape& out);
inline bool accepts(const OpDef& op, AttrsRef attrs, std::size_t input, const Layout& in,
                    const Shape& out) {
  return in.contiguous || accepts_strides(op, attrs, input, in, out);
}

inline bool may_take(const OpDef& op, AttrsRef attrs, std::size_t input, std::size_t output) {
  return op.may_take != nullptr ? op.may_take(attrs, input, output)
                                : output == 0 && op.may_overwrite.has(input);
}
// The one rule of whose bytes a result may take: the op says so, and the input is all of them, in
// order and of the result's size. That nobody else needs them is for the caller to know: eager code
// by counts, a program by the order of its steps.
inline bool may_take(const OpDef& op, AttrsRef attrs, std::size_t input, const Layout& in,
                     std::size_t output, const Layout& out) {
  return may_take(op, attrs, input, output) && in.shape == out.shape && in.contiguous &&
         in.offset == 0 && size_of(in.dtype) == size_of(out.dtype);
}

inline KernelView view_of(const Layout& layout, std::byte* data = nullptr) {
  return {data, &layout.shape, &layout.strides, layout.dtype};
}

void run_timed(const detail::RunningOp& op, KernelFn run, const KernelArgs& args) noexcept;
inline void run_step(const detail::RunningOp& op, KernelFn run, const KernelArgs& args) noexcept {
  if (detail::events::on()) [[unlikely]] {
    run_timed(op, run, args);
  } else {
    run(args);
  }
}

// Copies elements of one shape, whatever their strides.
void copy_elements(Device device, const KernelView& from, const KernelView& to) noexcept;

}  // namespace tenure::ops
