// What segments, sparse and ragged tensors share below their public functions.
#pragma once

#include "tenure/tensor.h"

namespace tenure::ops {

// rows[ids[i], ...] at each i, and zeros where an id is out of range: the transpose of
// unsorted_segment_sum.
Tensor segment_take(Arg rows, Arg ids);

// Of a dense tensor's gradient, what belongs to each value of sparse_to_dense: where an index is
// there twice only the last one's value was written.
Tensor sparse_to_dense_grad(Arg dy, Arg indices);

}  // namespace tenure::ops
