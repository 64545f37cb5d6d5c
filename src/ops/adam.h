// The update of the Adam optimizer as one op, which only graphs contain (graph_ops): what its
// elementwise parts would do, with the same roundings, in one pass over memory.
#pragma once

#include "ops/op_def.h"

namespace tenure::ops {

// Inputs: parameter, mean, square and gradient of one shape, then six numbers. Outputs: the new
// parameter, mean and square, each of which may lie over the old one:
//
//   mean' = mean * a + gradient * b
//   square' = square * c + gradient * gradient * d
//   parameter' = parameter - mean' * rate / (sqrt(square') + epsilon)
extern const OpDef kAdam;

// The same for the gradient that a product of two matrices makes: inputs are the matrices, then
// those of kAdam without the gradient; attributes are the product's. Rows of the gradient are used
// up as they are made, so it is not whole in memory; unless the right matrix must be packed, as one
// that is transposed: then each thread makes all of its rows at once.
extern const OpDef kAdamOfProduct;

}  // namespace tenure::ops
