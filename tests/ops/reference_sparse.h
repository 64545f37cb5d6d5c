// Segments, sparse and ragged tensors by their definitions, in double. Ids are whole numbers.
#pragma once

#include <functional>

#include "array.h"

namespace tenure::testing {

using Fold = std::function<double(double, double)>;

// Rows of x with the same id, folded from `start` on; ids out of range are left out.
Array segmented(const Array& x, const Array& ids, std::int64_t count, double start,
                const Fold& fold);
Array segment_means(const Array& x, const Array& ids, std::int64_t count);
Array rows_taken(const Array& rows, const Array& ids);  // zeros where an id is out of range
Array sparse_segmented(const Array& data, const Array& indices, const Array& ids, bool mean);

Array dense(const Array& indices, const Shape& shape, const Array& values, double otherwise);
Array dense_grad(const Array& dy, const Array& indices);  // to the last of equal indices
// Outputs 0 to 3 of sparse_fill_empty_rows.
Arrays rows_filled(const Array& indices, const Array& values, const Shape& shape, double otherwise);
Array indices_reshaped(const Array& indices, const Shape& from, const Shape& to);

// A ragged tensor as nested lists: the values' row numbers at the leaves.
struct Nest {
  std::vector<Nest> items;
  std::int64_t row = -1;  // of a leaf
};
using Splits = std::vector<std::vector<std::int64_t>>;
Nest nested(const Splits& splits);
Splits splits_of(const Nest& nest, std::size_t levels);
std::vector<std::int64_t> leaves(const Nest& nest);
// The items that `indices` name, nested like its axes.
Nest gathered(const Nest& nest, const Array& indices);
Array padded(const Nest& nest, const Shape& shape, const Array& values, const Array& otherwise);

// Whether each target is among the k highest scores of its row; of equal ones the first count.
Array among_top(const Array& scores, const Array& targets, std::int64_t k);
// Of labels, predictions and, if there are any, weights.
Array confusions(const Arrays& in, std::int64_t classes);

Array vector_of(const std::vector<std::int64_t>& values);
Tensor index_tensor(const std::vector<std::int64_t>& values, DType dtype = DType::int32);

}  // namespace tenure::testing
