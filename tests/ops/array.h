// Plain arrays of doubles: what the harness draws, lays out as tensors, and holds results against.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/with_type.h"
#include "support/expect.h"
#include "tenure/tenure.h"

namespace tenure::testing {

struct Array {
  Shape shape;
  std::vector<double> data;  // row-major
};
using Arrays = std::vector<Array>;
using Tensors = std::vector<Tensor>;
using Random = std::mt19937_64;

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

inline Array zero_array(const Shape& shape) {
  return {shape, std::vector<double>(static_cast<std::size_t>(shape.numel()), 0.0)};
}
// For errors, which are about shapes and dtypes.
inline Tensor z(const Shape& shape, DType dtype = DType::float32) { return zeros(shape, dtype); }

template <class T>
inline constexpr bool is_half_v = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// As the dtype holds it: floats round, integers wrap (infinities give their limits).
double rounded(double value, DType dtype);
Array rounded(Array values, DType dtype);

Tensor to_tensor(const Array& values, DType dtype);
Array to_array(const Tensor& tensor);
std::vector<std::byte> bits_of(const Tensor& tensor);  // of the elements, in row-major order

// How the values of one input are drawn.
struct Input {
  double low = -2, high = 2;           // of floats
  std::vector<double> away_from = {};  // kinks: no value comes closer than 0.05
  bool whole = false;                  // floats are whole numbers too, so that some are equal
  std::int64_t least = -9, most = 9;   // of integers, as far as the dtype reaches
  std::optional<DType> dtype = {};     // when it is not the row's
};
Array draw(const Shape& shape, const Input& input, DType dtype, Random& random);
Array draw_normal(const Shape& shape, Random& random);

// Where the elements of an input lie. All but `contiguous` are views of something larger or
// smaller.
enum class Lay {
  contiguous,
  transposed,      // all axes stored in reverse
  swapped,         // the last two axes stored in reverse
  outer_swapped,   // the first two axes stored in reverse, the last as it is: runs in another order
  offset,          // the middle of a larger tensor
  strided,         // every second element along each axis
  repeated_rows,   // stride 0 along the first axis
  repeated_cells,  // stride 0 along the last axis
};
inline constexpr int kLays = 8;

// `values` as they can be laid out: with their first row or cell repeated where the lay says so.
Array fitted(Array values, Lay lay);
Tensor lay_out(const Array& values, DType dtype, Lay lay);

struct Tolerance {
  double ulps = 0;
  double epsilons = 0;  // absolute: of the result's dtype, times this
};
::testing::AssertionResult close(const Tensor& got, const Array& want, DType dtype,
                                 Tolerance tolerance);

double dot(const Array& a, const Array& b);
double dot_of_magnitudes(const Array& a, const Array& b);
Array moved(Array x, const Array& direction, double step);  // x + step * direction

}  // namespace tenure::testing
