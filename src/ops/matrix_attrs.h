// Attributes of the ops on matrices and of their decompositions.
#pragma once

#include "ops/attrs.h"

namespace tenure::ops {

struct DiagonalAttrs {  // axes are normalised: not negative
  std::int64_t offset = 0;
  int axis1 = 0;
  int axis2 = 1;
  TENURE_ATTRS(DiagonalAttrs, offset, axis1, axis2)
};

struct UndiagonalAttrs {  // zeros of `shape`, with the input along a diagonal
  Shape shape;
  std::int64_t offset = 0;
  int axis1 = 0;
  int axis2 = 1;
  TENURE_ATTRS(UndiagonalAttrs, shape, offset, axis1, axis2)
};

struct BandAttrs {  // negative: all diagonals on that side
  std::int64_t lower = -1;
  std::int64_t upper = -1;
  TENURE_ATTRS(BandAttrs, lower, upper)
};

struct FullAttrs {
  bool full = false;
  TENURE_ATTRS(FullAttrs, full)
};

struct TriangularAttrs {
  bool lower = true;
  bool transpose = false;
  TENURE_ATTRS(TriangularAttrs, lower, transpose)
};

// Elements on the diagonal `offset` of a matrix.
inline std::int64_t diagonal_length(std::int64_t rows, std::int64_t columns, std::int64_t offset) {
  const std::int64_t most = offset >= 0 ? columns - offset : rows + offset;
  const std::int64_t least = rows < columns ? rows : columns;
  return most < 0 ? 0 : most < least ? most : least;
}

}  // namespace tenure::ops
