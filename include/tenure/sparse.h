// Segments, sparse and ragged data.
//
//   tenure::Tensor totals = tenure::unsorted_segment_sum(amounts, accounts, 100);
//   tenure::Tensor dense = tenure::sparse_to_dense(positions, {rows, columns}, values);
//
// Positions, segment ids and splits are int32 or int64.
#pragma once

#include <cstdint>
#include <source_location>
#include <vector>

#include "tenure/export.h"
#include "tenure/tensor.h"

namespace tenure {

// Rows of x that have the same id, reduced to one: the result's first axis counts the segments.
// `ids` has the shape of x's first axes; rows with an id below 0 or not below `segments` are left
// out. An empty segment gives 0, 1 for prod, and for max and min the dtype's lowest and highest.
TENURE_API Tensor unsorted_segment_sum(Arg x, Arg ids, std::int64_t segments);
TENURE_API Tensor unsorted_segment_mean(Arg x, Arg ids, std::int64_t segments);
TENURE_API Tensor unsorted_segment_max(Arg x, Arg ids, std::int64_t segments);
TENURE_API Tensor unsorted_segment_min(Arg x, Arg ids, std::int64_t segments);
TENURE_API Tensor unsorted_segment_prod(Arg x, Arg ids, std::int64_t segments);

// The rows data[indices[i]] reduced by segment_ids[i], which must not descend: as many rows as the
// last id says, and zeros where an id is missing.
TENURE_API Tensor sparse_segment_sum(Arg data, Arg indices, Arg segment_ids);
TENURE_API Tensor sparse_segment_mean(Arg data, Arg indices, Arg segment_ids);

// A tensor of `shape` with values[i] at indices[i] and `default_value` everywhere else. `indices`
// is [n, rank], or [n] for a vector; a scalar value goes everywhere. Where an index is there twice
// the last one counts.
TENURE_API Tensor sparse_to_dense(Arg indices, const Shape& shape, Arg values,
                                  Arg default_value = 0);

struct SparseRows {
  Tensor indices;
  Tensor values;
  Tensor empty_rows;         // bool: whether a row had no value
  Tensor reverse_index_map;  // where the value i was moved to
};
// A sparse matrix (or tensor) with at least one value in each row: `default_value` at column 0 of
// those that had none. Rows come out in order.
TENURE_API SparseRows sparse_fill_empty_rows(Arg indices, Arg values, const Shape& dense_shape,
                                             Arg default_value);

struct SparseIndices {
  Tensor indices;
  Shape shape;
};
// The indices of the same elements in another shape, one of whose dimensions may be -1.
TENURE_API SparseIndices sparse_reshape(Arg indices, const Shape& shape, const Shape& new_shape);

// A ragged tensor: row i of the outermost axis is [splits[0][i], splits[0][i + 1]) of the next, and
// so on down to rows of `values`.
struct Ragged {
  std::vector<Tensor> splits;
  Tensor values;
};
// Row `indices[i]` of the outermost axis at each i; every axis of `indices` but the last becomes a
// ragged one too.
TENURE_API Ragged ragged_gather(const std::vector<Tensor>& splits, Arg values, Arg indices,
                                std::source_location site = std::source_location::current());
// Row i is starts[i], starts[i] + deltas[i], ... before limits[i]; scalars go for every row.
TENURE_API Ragged ragged_range(Arg starts, Arg limits, Arg deltas = 1);

// How a tensor cuts an axis into the rows of the one before it.
enum class RowPartition {
  first_dim_size,  // a scalar, and only first: how many rows there are
  value_row_ids,   // the row of each element, not descending
  row_splits,      // where each row begins, and where the last one ends
};
// Rows padded with `default_value` or cut to `shape`: -1, or no shape at all, takes the longest
// row. Partitions go from the outermost axis inwards.
TENURE_API Tensor ragged_tensor_to_tensor(
    const Shape& shape, Arg values, Arg default_value, const std::vector<Tensor>& partitions,
    const std::vector<RowPartition>& types,
    std::source_location site = std::source_location::current());

}  // namespace tenure
