// Tensors from values, from nothing, and from memory that exists already.
//
//   tenure::Tensor x = tenure::tensor({1, 2, 3, 4, 5, 6}, {2, 3});
//   tenure::Tensor f = tenure::from_buffer(frame.data(), {480, 640, 3}, [frame] {});
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <source_location>
#include <span>
#include <type_traits>
#include <vector>

#include "tenure/dtype.h"
#include "tenure/export.h"
#include "tenure/scalar.h"
#include "tenure/shape.h"
#include "tenure/tensor.h"

namespace tenure {

namespace detail {
TENURE_API Tensor tensor_from(const void* data, std::size_t count, DType from, DType to,
                              const Shape& shape, std::source_location site);

// double literals make float32 tensors; every other type makes its own.
template <class T>
inline constexpr DType natural_dtype = std::same_as<T, double> ? DType::float32 : dtype_of<T>;

template <class T>
concept Element = std::is_arithmetic_v<T> || std::same_as<T, Float16> ||
                  std::same_as<T, BFloat16> || detail::ComplexOfFloats<T>;
}  // namespace detail

// Copies the values. A shape whose element count differs is a ShapeError.
template <detail::Element T>
Tensor tensor(std::span<const T> values, const Shape& shape,
              std::source_location site = std::source_location::current()) {
  return detail::tensor_from(values.data(), values.size(), dtype_of<T>, dtype_of<T>, shape, site);
}
template <detail::Element T>
Tensor tensor(const std::vector<T>& values,
              std::source_location site = std::source_location::current()) {
  return tensor(values, Shape{static_cast<std::int64_t>(values.size())}, site);
}
template <detail::Element T>
Tensor tensor(const std::vector<T>& values, const Shape& shape,
              std::source_location site = std::source_location::current()) {
  if constexpr (std::same_as<T, bool>) {
    const std::vector<std::uint8_t> bytes(values.begin(), values.end());
    return detail::tensor_from(bytes.data(), bytes.size(), DType::boolean, DType::boolean, shape,
                               site);
  } else {
    return tensor(std::span<const T>(values), shape, site);
  }
}
template <detail::Element T>
Tensor tensor(std::initializer_list<T> values, const Shape& shape,
              std::source_location site = std::source_location::current()) {
  return detail::tensor_from(values.begin(), values.size(), dtype_of<T>, detail::natural_dtype<T>,
                             shape, site);
}
template <detail::Element T>
Tensor tensor(std::initializer_list<T> values,
              std::source_location site = std::source_location::current()) {
  return tensor(values, Shape{static_cast<std::int64_t>(values.size())}, site);
}
// A scalar: rank 0.
template <detail::Element T>
Tensor tensor(T value, std::source_location site = std::source_location::current()) {
  return detail::tensor_from(&value, 1, dtype_of<T>, detail::natural_dtype<T>, Shape{}, site);
}

TENURE_API Tensor zeros(const Shape& shape, DType dtype = DType::float32,
                        std::source_location site = std::source_location::current());
TENURE_API Tensor ones(const Shape& shape, DType dtype = DType::float32,
                       std::source_location site = std::source_location::current());
TENURE_API Tensor full(const Shape& shape, Scalar value,
                       std::source_location site = std::source_location::current());
TENURE_API Tensor full(const Shape& shape, Scalar value, DType dtype,
                       std::source_location site = std::source_location::current());
TENURE_API Tensor zeros_like(const Tensor& like,
                             std::source_location site = std::source_location::current());
TENURE_API Tensor ones_like(const Tensor& like,
                            std::source_location site = std::source_location::current());
TENURE_API Tensor full_like(const Tensor& like, Scalar value,
                            std::source_location site = std::source_location::current());
// start, start + step, ... below stop (above it for a negative step). int32 for integers.
TENURE_API Tensor arange(Scalar stop, std::source_location site = std::source_location::current());
TENURE_API Tensor arange(Scalar start, Scalar stop, Scalar step = 1,
                         std::source_location site = std::source_location::current());
TENURE_API Tensor arange(Scalar start, Scalar stop, Scalar step, DType dtype,
                         std::source_location site = std::source_location::current());
// `count` values from start to stop, both included.
TENURE_API Tensor linspace(double start, double stop, std::int64_t count,
                           DType dtype = DType::float32,
                           std::source_location site = std::source_location::current());
// The shape that two shapes broadcast to; all are vectors of int32 or int64.
TENURE_API Tensor broadcast_args(const Tensor& a, const Tensor& b,
                                 std::source_location site = std::source_location::current());
TENURE_API Tensor eye(std::int64_t rows, std::int64_t columns = -1, DType dtype = DType::float32,
                      std::source_location site = std::source_location::current());

// Memory from outside, used in place. `deleter` runs once, when the last holder lets go; the bytes
// must not change before. Nothing is copied.
TENURE_API Tensor from_buffer(const void* data, const Shape& shape, DType dtype,
                              std::function<void()> deleter,
                              std::source_location site = std::source_location::current());
template <detail::Element T>
Tensor from_buffer(const T* data, const Shape& shape, std::function<void()> deleter,
                   std::source_location site = std::source_location::current()) {
  return from_buffer(static_cast<const void*>(data), shape, dtype_of<T>, std::move(deleter), site);
}

}  // namespace tenure
