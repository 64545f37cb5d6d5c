#include "tenure/dtype.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <ostream>

#include "tenure/device.h"
#include "tenure/scalar.h"

namespace tenure {
namespace {

struct DTypeRow {
  std::string_view name;
  bool floating;
  bool integer;
};

constexpr std::array<DTypeRow, kDTypeCount> kRows{{
    {"float32", true, false},
    {"float64", true, false},
    {"int32", false, true},
    {"int64", false, true},
    {"uint8", false, true},
    {"int8", false, true},
    {"bool", false, false},
    {"float16", true, false},
    {"bfloat16", true, false},
    {"complex64", false, false},
}};

constexpr const DTypeRow& row(DType dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

// The promotion table. Rows and columns in the order of DType; it is symmetric.
constexpr DType f32 = DType::float32, f64 = DType::float64, i32 = DType::int32, i64 = DType::int64,
                u8 = DType::uint8, i8 = DType::int8, b1 = DType::boolean, f16 = DType::float16,
                bf = DType::bfloat16, c64 = DType::complex64;
constexpr DType kPromote[kDTypeCount][kDTypeCount] = {
    // f32  f64  i32  i64  u8   i8   b1   f16  bf   c64
    {f32, f64, f32, f32, f32, f32, f32, f32, f32, c64},  // f32
    {f64, f64, f64, f64, f64, f64, f64, f64, f64, c64},  // f64
    {f32, f64, i32, i64, i32, i32, i32, f16, bf, c64},   // i32
    {f32, f64, i64, i64, i64, i64, i64, f16, bf, c64},   // i64
    {f32, f64, i32, i64, u8, i32, u8, f16, bf, c64},     // u8
    {f32, f64, i32, i64, i32, i8, i8, f16, bf, c64},     // i8
    {f32, f64, i32, i64, u8, i8, b1, f16, bf, c64},      // b1
    {f32, f64, f16, f16, f16, f16, f16, f16, f32, c64},  // f16
    {f32, f64, bf, bf, bf, bf, bf, f32, bf, c64},        // bf
    {c64, c64, c64, c64, c64, c64, c64, c64, c64, c64},  // c64
};

template <class T>
bool in_range(double value) {
  return value >= static_cast<double>(std::numeric_limits<T>::min()) &&
         value <= static_cast<double>(std::numeric_limits<T>::max());
}

}  // namespace

std::string_view name(DType dtype) { return row(dtype).name; }
bool is_floating(DType dtype) { return row(dtype).floating; }
bool is_integer(DType dtype) { return row(dtype).integer; }
std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name(dtype); }

DType promote(DType a, DType b) {
  return kPromote[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
}

std::string to_string(Device device) { return fmt::format("cpu:{}", device.index); }

DType Scalar::natural_dtype() const {
  if (!is_integer_) return DType::float32;
  if (is_bool_) return DType::boolean;
  return in_range<std::int32_t>(to_double()) ? DType::int32 : DType::int64;
}

bool Scalar::fits(DType dtype) const {
  if (is_floating(dtype) || is_complex(dtype)) return true;
  const double value = to_double();
  if (!is_integer_ && (!std::isfinite(value) || value != std::trunc(value))) return false;
  switch (dtype) {
    case DType::int32:
      return in_range<std::int32_t>(value);
    case DType::int64:
      return is_integer_ || (value >= -0x1p63 && value < 0x1p63);
    case DType::uint8:
      return in_range<std::uint8_t>(value);
    case DType::int8:
      return in_range<std::int8_t>(value);
    default:
      return value == 0 || value == 1;
  }
}

std::string to_string(const Scalar& value) {
  return value.is_integer() ? fmt::format("{}", value.to_int64())
                            : fmt::format("{}", value.to_double());
}

}  // namespace tenure
