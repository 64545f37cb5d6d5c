#include "graph/custom.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"
#include "graph/read_as.h"

namespace tenure::graph {

Graph forget_gradients(Graph graph) {
  const auto is_for_gradients = [](const Node& node) {
    return node.op == &kReadAs || node.op == &kWithGradient;
  };
  Renaming renaming(graph);
  for (Node& node : graph.nodes) {
    renaming.rename_inputs(node);
    if (is_for_gradients(node)) renaming.set(node.out[0], node.in[0]);
  }
  std::erase_if(graph.nodes, is_for_gradients);
  renaming.rename_ends(graph);
  return graph;
}

}  // namespace tenure::graph
