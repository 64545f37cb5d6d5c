#include "reference_matrix.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tenure::testing {

Array diagonal_of(const Array& x, const DiagonalOptions& options) {
  const int rank = x.shape.rank();
  const int row = options.axis1 < 0 ? options.axis1 + rank : options.axis1;
  const int column = options.axis2 < 0 ? options.axis2 + rank : options.axis2;
  const std::int64_t skipped_rows = std::max<std::int64_t>(0, -options.offset);
  const std::int64_t skipped_columns = std::max<std::int64_t>(0, options.offset);
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) {
    if (axis != row && axis != column) shape.push_back(x.shape[axis]);
  }
  shape.push_back(std::max<std::int64_t>(
      0, std::min(x.shape[row] - skipped_rows, x.shape[column] - skipped_columns)));
  return filled(shape, [&](const Index& index) {
    Index from;
    std::size_t next = 0;
    for (int axis = 0; axis < rank; ++axis) {
      from.push_back(axis == row      ? index.back() + skipped_rows
                     : axis == column ? index.back() + skipped_columns
                                      : index[next++]);
    }
    return at(x, from);
  });
}

Array matrix_diag_of(const Array& x, std::int64_t offset) {
  Shape shape = x.shape;
  shape[-1] += std::abs(offset);
  shape.push_back(shape[-1]);
  return filled(shape, [&](const Index& index) {
    const std::int64_t row = index[index.size() - 2], column = index.back();
    if (column - row != offset) return 0.0;
    Index from(index.begin(), index.end() - 1);
    from.back() = std::min(row, column);
    return at(x, from);
  });
}

Array diag_of(const Array& x) {
  Shape shape = x.shape;
  for (const std::int64_t dim : x.shape) shape.push_back(dim);
  return filled(shape, [&](const Index& index) {
    const auto half = index.begin() + x.shape.rank();
    return std::equal(index.begin(), half, half) ? at(x, Index(index.begin(), half)) : 0.0;
  });
}

Array diag_part_of(const Array& x) {
  const auto half = static_cast<std::size_t>(x.shape.rank() / 2);
  return filled(Shape(x.shape.dims().first(half)), [&](const Index& index) {
    Index both = index;
    both.insert(both.end(), index.begin(), index.end());
    return at(x, both);
  });
}

Array trace_of(const Array& x, const DiagonalOptions& options) {
  const Array diagonal = diagonal_of(x, options);
  return folded(diagonal, {diagonal.shape.rank() - 1}, false, 0,
                [](long double a, long double b) { return a + b; });
}

Array band_of(const Array& x, std::int64_t lower, std::int64_t upper) {
  return filled(x.shape, [&](const Index& index) {
    const std::int64_t row = index[index.size() - 2], column = index.back();
    const bool kept = (lower < 0 || row - column <= lower) && (upper < 0 || column - row <= upper);
    return kept ? at(x, index) : 0.0;
  });
}

Array matrix_transpose_of(const Array& x) {
  Axes axes;
  for (int axis = 0; axis < x.shape.rank(); ++axis) axes.push_back(axis);
  std::swap(axes[-1], axes[-2]);
  return permuted(x, axes);
}

Array dot_of(const Array& a, const Array& b) {
  const std::string left = a.shape.rank() == 1 ? "k" : "ik";
  const std::string right = b.shape.rank() == 1 ? "k" : "kj";
  const std::string output =
      std::string(a.shape.rank() == 1 ? "" : "i") + std::string(b.shape.rank() == 1 ? "" : "j");
  return einsum_of({left, right}, output)({a, b});
}

Array outer_of(const Array& a, const Array& b) { return einsum_of({"i", "j"}, "ij")({a, b}); }

Array gram_schmidt_of(const Array& x) {
  Array result = x;
  const std::int64_t n = x.shape[1];
  for (std::int64_t i = 0; i < x.shape[0]; ++i) {
    for (std::int64_t j = 0; j < i; ++j) {
      double along = 0;
      for (std::int64_t k = 0; k < n; ++k) along += at(result, {j, k}) * at(x, {i, k});
      for (std::int64_t k = 0; k < n; ++k) at(result, {i, k}) -= along * at(result, {j, k});
    }
    double length = 0;
    for (std::int64_t k = 0; k < n; ++k) length += at(result, {i, k}) * at(result, {i, k});
    for (std::int64_t k = 0; k < n; ++k) at(result, {i, k}) /= std::sqrt(length);
  }
  return result;
}

}  // namespace tenure::testing
