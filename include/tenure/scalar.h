// A plain C++ number on its way into a tensor. It has no dtype of its own: next to a tensor it
// takes the tensor's.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "tenure/dtype.h"
#include "tenure/export.h"

namespace tenure {

class Scalar {
 public:
  template <std::floating_point T>
  Scalar(T value) : is_integer_(false), float_(static_cast<double>(value)) {}
  template <std::integral T>
  Scalar(T value)
      : is_integer_(true),
        is_bool_(std::same_as<T, bool>),
        int_(static_cast<std::int64_t>(value)) {}

  bool is_integer() const { return is_integer_; }
  double to_double() const { return is_integer_ ? static_cast<double>(int_) : float_; }
  std::int64_t to_int64() const { return is_integer_ ? int_ : static_cast<std::int64_t>(float_); }

  // float32 for a floating-point value, int32 (int64 if it must) for an integer, bool for a bool.
  TENURE_API DType natural_dtype() const;
  // Whether the value is exactly representable among `dtype`'s integers; true for floating dtypes.
  TENURE_API bool fits(DType dtype) const;

  friend bool operator==(const Scalar& a, const Scalar& b) {
    return a.is_integer_ == b.is_integer_ && a.to_double() == b.to_double() &&
           (!a.is_integer_ || a.int_ == b.int_);
  }

 private:
  bool is_integer_;
  bool is_bool_ = false;
  union {
    double float_;
    std::int64_t int_;
  };
};

TENURE_API std::string to_string(const Scalar& value);

}  // namespace tenure
