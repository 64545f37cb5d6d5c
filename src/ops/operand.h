// Operands of functions that are made of several ops.
#pragma once

#include <source_location>

#include "tensor/access.h"
#include "tenure/tensor.h"

namespace tenure::ops {

// Operand `input` of `op` is alive. For functions whose ops see their operands one at a time, and
// so would name the wrong one.
inline void check_operand(const char* op, int input, const Tensor& x, std::source_location site) {
  const detail::Header& header = detail::checked(x, op, input);
  if (header.is_dead()) detail::raise_disposed(header, {op, input, site, 1});
}

}  // namespace tenure::ops
