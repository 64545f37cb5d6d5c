// Numbers as JavaScript stores them into an array of another type: towards zero, modulo 2^32, and 0
// for what is not finite.
#pragma once

#include <cmath>

#include "tenure/tenure.h"

namespace tenure::node {

inline std::int32_t stored_integer(double value) {
  constexpr double kWraps = 4294967296.0;
  if (!std::isfinite(value)) return 0;
  const double low = std::fmod(std::trunc(value), kWraps);  // above -2^32, below 2^32
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(low)));
}

// A number as a tensor of the dtype has it: TensorFlow.js stores it into an array of that type.
inline Scalar stored_scalar(double value, DType dtype) {
  if (dtype == DType::int32) return std::int64_t{stored_integer(value)};
  if (dtype == DType::boolean) return stored_integer(value) != 0;
  return value;
}

// Truth values are what is not zero.
inline Tensor truth(Tensor x) {
  return x.dtype() == DType::boolean ? x : not_equal(std::move(x), 0);
}

// A tensor of a float, as one of another dtype.
inline Tensor stored(Tensor x, DType dtype) {
  if (dtype == x.dtype()) return x;
  if (is_integer(x.dtype())) return cast(std::move(x), dtype);
  if (dtype == DType::float32) return cast(std::move(x), dtype);
  constexpr double kWraps = 4294967296.0;
  const Tensor finite = cast(where(is_finite(x), x, 0), DType::float64);
  const Tensor whole = where(less(finite, 0), ceil(finite), floor(finite));
  const Tensor low = mod(whole, kWraps);
  const Tensor number = cast(where(less(low, kWraps / 2), low, low - kWraps), DType::int32);
  return dtype == DType::boolean ? not_equal(number, 0) : number;
}

}  // namespace tenure::node
