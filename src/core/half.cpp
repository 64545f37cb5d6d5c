#include "core/half.h"

#include "tenure/dtype.h"

namespace tenure {

Float16::Float16(float value) : bits(float16_bits(value)) {}
Float16::operator float() const { return float16_value(bits); }

BFloat16::BFloat16(float value) : bits(bfloat16_bits(value)) {}
BFloat16::operator float() const { return bfloat16_value(bits); }

}  // namespace tenure
