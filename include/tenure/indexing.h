// Picking, placing, ordering and counting elements. Indices are int32 or int64; one out of range is
// a ValueError, before anything is computed.
//
//   tenure::Tensor words = tenure::gather(table, ids);              // embedding rows
//   auto [best, where] = tenure::top_k(logits, 5);
#pragma once

#include <cstdint>
#include <optional>

#include "tenure/dtype.h"
#include "tenure/export.h"
#include "tenure/scalar.h"
#include "tenure/shape.h"
#include "tenure/tensor.h"

namespace tenure {

struct GatherOptions {
  int axis = 0;
  int batch_dims = 0;  // leading axes that x and indices share
};
TENURE_API Tensor gather(Arg x, Arg indices, GatherOptions options = {});
// The last axis of `indices` holds coordinates along the first axes of x.
TENURE_API Tensor gather_nd(Arg x, Arg indices);
// x and indices have one shape but along the axis; so does the result, with indices' size there.
TENURE_API Tensor take_along_axis(Arg x, Arg indices, int axis);
// Zeros of `shape` with updates added at the coordinates in indices' last axis.
TENURE_API Tensor scatter_nd(Arg indices, Arg updates, const Shape& shape);
// x with updates at those places; of two dtypes, in the one they are promoted to.
TENURE_API Tensor tensor_scatter_update(Arg x, Arg indices, Arg updates);  // the last one stays
TENURE_API Tensor tensor_scatter_add(Arg x, Arg indices, Arg updates);
TENURE_API Tensor tensor_scatter_min(Arg x, Arg indices, Arg updates);
TENURE_API Tensor tensor_scatter_max(Arg x, Arg indices, Arg updates);

struct OneHotOptions {
  Scalar on = 1;
  Scalar off = 0;
  int axis = -1;  // of the result
  DType dtype = DType::float32;
};
// An index out of range gives `off` everywhere.
TENURE_API Tensor one_hot(Arg indices, std::int64_t depth, OneHotOptions options = {});

// The coordinates of elements that are not zero, as rows of an int32 matrix.
TENURE_API Tensor where_indices(Arg condition);
// What of x the mask, which covers x's axes from `axis` on, is true for.
TENURE_API Tensor boolean_mask(Arg x, Arg mask, int axis = 0);

// Orders: equal elements stay in order of their places, and NaN counts as larger than any number.
struct ValuesAndIndices {
  Tensor values;
  Tensor indices;  // int32
};
struct TopKOptions {
  bool sorted = true;  // false: in any order
  bool largest = true;
};
TENURE_API ValuesAndIndices top_k(Arg x, std::int64_t k, TopKOptions options = {});  // last axis
struct SortOptions {
  int axis = -1;
  bool descending = false;
};
TENURE_API Tensor sort(Arg x, SortOptions options = {});
TENURE_API Tensor argsort(Arg x, SortOptions options = {});
struct Unique {
  Tensor values;   // in order of first occurrence
  Tensor inverse;  // int32: which of the values each element (or slice) of x is
};
TENURE_API Unique unique(Arg x);            // of the flattened tensor
TENURE_API Unique unique(Arg x, int axis);  // slices along an axis
// Where values would go in rows that are sorted: before equal elements, or after them. int32.
struct SearchOptions {
  bool right = false;
};
TENURE_API Tensor searchsorted(Arg sorted, Arg values, SearchOptions options = {});
TENURE_API Tensor lower_bound(Arg sorted, Arg values);
TENURE_API Tensor upper_bound(Arg sorted, Arg values);

// How often 0, 1, ... size - 1 occur in x; larger numbers are not counted, negative ones an error.
// With weights, what they add up to, in their dtype.
TENURE_API Tensor bincount(Arg x, std::int64_t size);
TENURE_API Tensor bincount(Arg x, Arg weights, std::int64_t size);
struct DenseBincountOptions {
  std::optional<Tensor> weights = {};
  bool binary_output = false;  // 1 for what occurs at all
};
// The same for a vector, or for each row of a matrix.
TENURE_API Tensor dense_bincount(Arg x, std::int64_t size, DenseBincountOptions options = {});
// How many elements lie in each of `bins` equal parts of [low, high]; those outside count for the
// part at that end, NaN for none. int32.
TENURE_API Tensor histogram(Arg x, double low, double high, std::int64_t bins);

}  // namespace tenure
