#include "ops/round_once.h"

#include "ops/promote.h"
#include "tenure/math.h"

namespace tenure::ops {

void RoundOnce::widen(const char* op, std::span<Tensor> operands, std::source_location site) {
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Tensor& operand = operands[i];
    if (!operand.defined()) continue;
    const DType dtype = operand.dtype();
    if (dtype != dtype_) dtype_ = promote(dtype_, dtype);
    if (!is_half(dtype)) continue;
    operand = operand_as(op, static_cast<int>(i), std::move(operand), DType::float32, site);
  }
}

Tensor RoundOnce::operator()(Tensor result) const {
  return is_half(dtype_) ? cast(std::move(result), dtype_) : result;
}

}  // namespace tenure::ops
