// Operands that are positions: int32 or int64, as they come.
#pragma once

#include "core/raise.h"
#include "ops/promote.h"
#include "tensor/access.h"

namespace tenure::ops {

// The operand as a tensor of any dtype; `input` is its place among the op's inputs.
inline Tensor tensor_operand(const char* op, int input, Arg&& x) {
  if (x.scalar()) return scalar_tensor(op, *x.scalar(), x.scalar()->natural_dtype(), x.site());
  detail::checked(x.tensor(), op, input);
  return std::move(x).tensor();
}

inline void check_index_dtype(const char* op, const char* what, DType dtype) {
  if (dtype != DType::int32 && dtype != DType::int64) {
    raise<DtypeError>("{}: {} are {}: int32 or int64 is needed", op, what, dtype);
  }
}

}  // namespace tenure::ops
