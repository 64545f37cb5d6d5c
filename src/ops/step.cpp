#include "ops/step.h"

#include "ops/views.h"

namespace tenure::ops {
namespace {

// Along the last axis of `out` longer than 1, an elementwise input must have stride 0 or 1.
bool has_unit_runs(const Layout& in, const Shape& out) {
  for (int back = 1; back <= out.rank(); ++back) {
    if (out[-back] == 1) continue;
    if (back > in.shape.rank() || in.shape[-back] == 1) return true;  // broadcast
    return in.strides[-back] == 0 || in.strides[-back] == 1;
  }
  return true;
}

// A matrix (or a stack of them) that GEMM can read as it is or as its transpose.
bool is_matrix(const Layout& in) {
  const int rank = in.shape.rank();
  if (rank < 2) return in.contiguous;
  const std::int64_t rows = in.shape[rank - 2], columns = in.shape[rank - 1];
  const std::int64_t row = in.strides[rank - 2], column = in.strides[rank - 1];
  const bool row_major = (column == 1 || columns == 1) && (row >= columns || rows == 1);
  const bool column_major = (row == 1 || rows == 1) && (column >= rows || columns == 1);
  return row_major || column_major;
}

}  // namespace

bool accepts_strides(const OpDef& op, AttrsRef attrs, std::size_t input, const Layout& in,
                     const Shape& out) {
  switch (op.accepts_of != nullptr ? op.accepts_of(attrs, input) : op.accepts) {
    case Accepts::contiguous:
      return false;
    case Accepts::elementwise:
      return has_unit_runs(in, out);
    case Accepts::matrix:
      return is_matrix(in);
    case Accepts::any:
      break;
  }
  return true;
}

void run_timed(const detail::RunningOp& op, KernelFn run, const KernelArgs& args) noexcept {
  const std::int64_t begin = detail::events::now();
  run(args);
  detail::events::cold::op_ran(op.op, op.user_site(), begin, result_bytes(args.out));
}

void copy_elements(Device device, const KernelView& from, const KernelView& to) noexcept {
  const Kernel& copy = kernel_table(device.type).find(kCopy.index, from.dtype);
  copy.run({.in = {&from, 1}, .out = {&to, 1}, .attrs = {}});
}

}  // namespace tenure::ops
