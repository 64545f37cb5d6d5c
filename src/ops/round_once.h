// Functions made of several ops, of float16 and bfloat16. An op computes these in float32 and
// rounds its result; a function made of ops does as if it were one: its operands become float32,
// all of it runs in float32, its gradient too, and its results are rounded at the end.
#pragma once

#include <source_location>
#include <span>

#include "core/half.h"
#include "tenure/tensor.h"

namespace tenure::ops {

class RoundOnce {
 public:
  // The operands of `op` from the first on, some of which may be empty handles. Halves become
  // float32, all others are left as they are.
  RoundOnce(const char* op, std::span<Tensor> operands, std::source_location site)
      : dtype_(operands.front().dtype()) {
    if (operands.size() > 1 || is_half(dtype_)) widen(op, operands, site);
  }
  RoundOnce(const char* op, Tensor& operand, std::source_location site)
      : RoundOnce(op, {&operand, 1}, site) {}

  // A result, in the dtype that the operands have together.
  Tensor operator()(Tensor result) const;

 private:
  void widen(const char* op, std::span<Tensor> operands, std::source_location site);

  DType dtype_;
};

}  // namespace tenure::ops
