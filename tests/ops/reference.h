// What each op should give, in double, written for the reader and not for speed: every function
// walks the indices of its result and looks up what belongs there. Nothing here calls the library.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "array.h"

namespace tenure::testing {

using Index = std::vector<std::int64_t>;
using Reference = std::function<Array(const Arrays&)>;

inline std::size_t position(const Shape& shape, const Index& index) {
  std::int64_t at = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    at = at * shape[axis] + index[static_cast<std::size_t>(axis)];
  }
  return static_cast<std::size_t>(at);
}
inline double& at(Array& array, const Index& index) {
  return array.data[position(array.shape, index)];
}
inline double at(const Array& array, const Index& index) {
  return array.data[position(array.shape, index)];
}

// Every index of `shape`, the last axis fastest.
template <class F>
void each_index(const Shape& shape, F&& fn) {
  if (shape.numel() == 0) return;
  Index index(static_cast<std::size_t>(shape.rank()), 0);
  for (;;) {
    fn(index);
    int axis = shape.rank() - 1;
    for (; axis >= 0; --axis) {
      std::int64_t& i = index[static_cast<std::size_t>(axis)];
      if (++i < shape[axis]) break;
      i = 0;
    }
    if (axis < 0) return;
  }
}

// An array of `shape` whose element at each index is value(index).
template <class F>
Array filled(const Shape& shape, F&& value) {
  Array result{shape, {}};
  result.data.reserve(static_cast<std::size_t>(shape.numel()));
  each_index(shape, [&](const Index& index) { result.data.push_back(value(index)); });
  return result;
}

bool contains(const Axes& axes, std::int64_t axis);
// `shape` with those axes gone, or 1.
Shape without(const Shape& shape, const Axes& axes, bool keep_dims);

Array permuted(const Array& x, const Axes& axes);
Array sliced(const Array& x, const Shape& begin, const Shape& size, const Shape& step);
Array unsliced(const Array& x, const Shape& shape, const Shape& begin, const Shape& step);
Array broadcasted(const Array& x, const Shape& shape);
Array reshaped(const Array& x, const Shape& shape);
Array joined(const Arrays& parts, int axis);
Array multiplied(const Array& a, const Array& b, bool transpose_a, bool transpose_b);

// The shape all inputs broadcast to.
Shape common_shape(const Arrays& inputs);
// fn of the elements at each place of the common shape.
Reference elementwise(std::function<double(const std::vector<double>&)> fn);

// Folds the elements along `axes` into one, starting from `start`; rounded to double at the end.
Array folded(const Array& x, const Axes& axes, bool keep_dims, double start,
             const std::function<long double(long double, long double)>& fold);
// Where the first element lies that none exceeds; an element that is NaN exceeds none.
Array place_of_largest(const Array& x, int axis);

long double larger(long double a, long double b);  // NaN if either is, and 0 above -0

}  // namespace tenure::testing
