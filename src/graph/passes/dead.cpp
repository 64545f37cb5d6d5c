#include <algorithm>

#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"

namespace tenure::graph {

Graph remove_dead(Graph graph) {
  std::vector<bool> wanted(graph.values.size(), false);
  for (const ValueId value : ends(graph)) wanted[value] = true;
  std::vector<bool> live(graph.nodes.size());
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    live[n] =
        node.random || std::ranges::any_of(node.out, [&](ValueId value) { return wanted[value]; });
    if (!live[n]) continue;
    for (const ValueId value : node.in) wanted[value] = true;
  }
  std::size_t n = 0;
  std::erase_if(graph.nodes, [&](const Node&) { return !live[n++]; });
  std::erase_if(graph.constants, [&](const Constant& constant) { return !wanted[constant.value]; });
  return graph;
}

}  // namespace tenure::graph
