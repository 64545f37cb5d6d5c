// Operands of functions that are made of several ops: checked before the first of them runs, so
// that errors count inputs as the user does.
#pragma once

#include <utility>

#include "core/raise.h"
#include "memory/header.h"
#include "ops/promote.h"
#include "tensor/access.h"
#include "tenure/tensor.h"

namespace tenure::ops {

// Operand `input` as a tensor of any dtype.
inline Tensor live_operand(const char* op, int input, Arg&& x) {
  if (x.scalar()) return as_tensor(op, std::move(x));
  check_alive(op, input, x);
  return std::move(x).tensor();
}

// The same for indices: int32 or int64, as which small integers are taken too.
inline Tensor index_operand(const char* op, int input, Arg&& x) {
  const std::source_location site = x.site();
  Tensor indices = live_operand(op, input, std::move(x));
  const DType dtype = indices.dtype();
  if (dtype == DType::int32 || dtype == DType::int64) return indices;
  if (!is_integer(dtype)) {
    raise<DtypeError>("{}: indices must be int32 or int64, not {}", op, dtype);
  }
  return operand_as(op, input, std::move(indices), DType::int32, site);
}

}  // namespace tenure::ops
