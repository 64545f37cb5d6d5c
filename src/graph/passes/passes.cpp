#include "graph/passes/passes.h"

namespace tenure::graph {

Graph optimise(Graph graph) {
  graph = forget_gradients(std::move(graph));
  graph = remove_dead(std::move(graph));
  graph = widen_halves(std::move(graph));
  graph = share_common(std::move(graph));  // before folding: equal constants are computed once
  graph = fold_constants(std::move(graph));
  graph = simplify(std::move(graph));
  graph = share_common(std::move(graph));
  graph = remove_dead(std::move(graph));
  graph = fuse_elementwise(std::move(graph));
  graph = fuse_epilogues(std::move(graph));
  graph = fuse_reductions(std::move(graph));
  return order_for_memory(std::move(graph));
}

}  // namespace tenure::graph
