// Which strides a kernel takes as they are, and what it may overwrite.
#pragma once

#include "core/layout.h"
#include "ops/op_def.h"

namespace tenure::ops {

// Along the last axis of `out` longer than 1, an elementwise input must have stride 0 or 1.
inline bool has_unit_runs(const Layout& in, const Shape& out) {
  for (int back = 1; back <= out.rank(); ++back) {
    if (out[-back] == 1) continue;
    if (back > in.shape.rank() || in.shape[-back] == 1) return true;  // broadcast
    return in.strides[-back] == 0 || in.strides[-back] == 1;
  }
  return true;
}

// A matrix (or a stack of them) that GEMM can read as it is or as its transpose.
inline bool is_matrix(const Layout& in) {
  const int rank = in.shape.rank();
  if (rank < 2) return in.contiguous;
  const std::int64_t rows = in.shape[rank - 2], columns = in.shape[rank - 1];
  const std::int64_t row = in.strides[rank - 2], column = in.strides[rank - 1];
  const bool row_major = (column == 1 || columns == 1) && (row >= columns || rows == 1);
  const bool column_major = (row == 1 || rows == 1) && (column >= rows || columns == 1);
  return row_major || column_major;
}

inline bool accepts(Accepts what, const Layout& in, const Shape& out) {
  if (in.contiguous) return true;
  switch (what) {
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

inline bool accepts(const OpDef& op, AttrsRef attrs, std::size_t input, const Layout& in,
                    const Shape& out) {
  return accepts(op.accepts_of != nullptr ? op.accepts_of(attrs, input) : op.accepts, in, out);
}

// Whether an output may lie where an input lies that nobody reads any more.
inline bool may_take(const OpDef& op, AttrsRef attrs, std::size_t input, std::size_t output) {
  return op.may_take != nullptr ? op.may_take(attrs, input, output)
                                : output == 0 && op.may_overwrite.has(input);
}

}  // namespace tenure::ops
