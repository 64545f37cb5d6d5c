// A call of a traced function as one operation: a tape keeps its arguments, and its gradient runs
// it again.
#pragma once

#include "graph/program.h"

namespace tenure::graph {

void call_as_one(Program& program, std::span<const Tensor> in, std::span<Tensor> out,
                 std::source_location site);

}  // namespace tenure::graph
