// From a dtype to a C++ type.
#pragma once

#include <complex>
#include <cstdint>

#include "tenure/dtype.h"

namespace tenure {

// Calls fn with a value of the dtype's C++ type.
template <class F>
decltype(auto) with_type(DType dtype, F&& fn) {
  switch (dtype) {
    case DType::float32:
      return fn(float{});
    case DType::float64:
      return fn(double{});
    case DType::int32:
      return fn(std::int32_t{});
    case DType::int64:
      return fn(std::int64_t{});
    case DType::uint8:
      return fn(std::uint8_t{});
    case DType::int8:
      return fn(std::int8_t{});
    case DType::boolean:
      return fn(bool{});
    case DType::float16:
      return fn(Float16{});
    case DType::bfloat16:
      return fn(BFloat16{});
    case DType::complex64:
      break;
  }
  return fn(std::complex<float>{});
}

}  // namespace tenure
