#include "graph/passes/passes.h"

namespace tenure::graph {

Graph optimise(Graph graph) {
  graph = remove_dead(std::move(graph));
  graph = fold_constants(std::move(graph));
  graph = fuse_epilogues(std::move(graph));
  return fuse_elementwise(std::move(graph));
}

}  // namespace tenure::graph
