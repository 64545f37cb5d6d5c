// Element types. float16 and bfloat16 are computed with in float32, and rounded once.
// complex64 is a pair of float32: real and imaginary part.
//
//   tenure::Tensor h = tenure::cast(x, tenure::DType::bfloat16);   // half the bytes
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>

#include "tenure/export.h"

namespace tenure {

enum class DType : std::uint8_t {
  float32,
  float64,
  int32,
  int64,
  uint8,
  int8,
  boolean,
  float16,
  bfloat16,
  complex64,
};
inline constexpr int kDTypeCount = 10;

// IEEE binary16 bits. Conversions round to nearest even.
struct Float16 {
  std::uint16_t bits = 0;
  Float16() = default;
  TENURE_API explicit Float16(float value);
  TENURE_API explicit operator float() const;
  friend bool operator==(Float16, Float16) = default;
};

// The upper half of a float32. Conversions round to nearest even.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  TENURE_API explicit BFloat16(float value);
  TENURE_API explicit operator float() const;
  friend bool operator==(BFloat16, BFloat16) = default;
};

TENURE_API std::string_view name(DType dtype);  // "float32"
constexpr std::size_t size_of(DType dtype) {    // bytes of one element
  constexpr std::uint8_t sizes[kDTypeCount] = {4, 8, 4, 8, 1, 1, 1, 2, 2, 8};
  return sizes[static_cast<std::size_t>(dtype)];
}
TENURE_API bool is_floating(DType dtype);  // float16 and bfloat16 included, complex64 not
TENURE_API bool is_integer(DType dtype);   // bool excluded
constexpr bool is_complex(DType dtype) { return dtype == DType::complex64; }
TENURE_API std::ostream& operator<<(std::ostream& out, DType dtype);

// The dtype of a result computed from two dtypes; docs/dtypes.md prints the table.
TENURE_API DType promote(DType a, DType b);

namespace detail {
// std::complex<float>, known by what it has: <complex> would double what this header costs.
template <class T>
concept ComplexOfFloats = sizeof(T) == 2 * sizeof(float) && requires(const T& number) {
  requires std::same_as<typename T::value_type, float>;
  { number.real() } -> std::same_as<float>;
  { number.imag() } -> std::same_as<float>;
};
}  // namespace detail

// dtype_of<float> == DType::float32, and so on for every element type.
template <class T>
inline constexpr DType dtype_of = [] { static_assert(sizeof(T) == 0, "not an element type"); }();
template <> inline constexpr DType dtype_of<float> = DType::float32;
template <> inline constexpr DType dtype_of<double> = DType::float64;
template <> inline constexpr DType dtype_of<std::int32_t> = DType::int32;
template <> inline constexpr DType dtype_of<std::int64_t> = DType::int64;
template <> inline constexpr DType dtype_of<long long> = DType::int64;
template <> inline constexpr DType dtype_of<std::uint8_t> = DType::uint8;
template <> inline constexpr DType dtype_of<std::int8_t> = DType::int8;
template <> inline constexpr DType dtype_of<bool> = DType::boolean;
template <> inline constexpr DType dtype_of<Float16> = DType::float16;
template <> inline constexpr DType dtype_of<BFloat16> = DType::bfloat16;
template <detail::ComplexOfFloats T> inline constexpr DType dtype_of<T> = DType::complex64;

}  // namespace tenure
