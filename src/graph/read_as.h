// A variable's value inside a traced function, after it was assigned there.
//
// To gradients every read of a variable is the variable, and an assignment ends what led to the
// value: so it is in eager code, and so it has to stay whoever looks at the graph (a tape inside,
// a tape around, the gradient of a body). `read_as` makes that a node: the bytes of its first
// input, the identity of its second. Programs need no identities: `forget_gradients` takes the
// nodes out.
#pragma once

#include "graph/graph.h"

namespace tenure::graph {

extern const ops::OpDef kReadAs;  // inputs: the value, and what gradients take it for

}  // namespace tenure::graph
