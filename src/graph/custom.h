// A user's own gradient in a traced function: a view of the value, whose gradient is a graph.
#pragma once

#include "ops/op_def.h"

namespace tenure::graph {

// Inputs: the value, what it was computed from, what the gradient uses of the function.
extern const ops::OpDef kWithGradient;

}  // namespace tenure::graph
