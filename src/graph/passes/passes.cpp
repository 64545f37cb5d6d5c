#include "graph/passes/passes.h"

namespace tenure::graph {

Graph optimise(Graph graph) {
  graph = remove_dead(std::move(graph));
  return fold_constants(std::move(graph));
}

}  // namespace tenure::graph
