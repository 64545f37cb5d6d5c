#include "graph/shared_bytes.h"

#include <optional>

#include "ops/step.h"

namespace tenure::graph {

SharedBytes::SharedBytes(const Graph& graph)
    : seen_(see_given(graph)), in_arena_(graph.values.size(), false) {
  for (const Node& node : graph.nodes) {
    see(graph, node, seen_);
    for (const ValueId value : node.out) in_arena_[value] = !is_view(value);
  }
  for (const ValueId value : ends(graph)) in_arena_[root(value)] = false;
}

bool SharedBytes::may_take(const Node& node, ValueId root, std::size_t output) const {
  std::optional<std::size_t> reader;
  for (std::size_t i = 0; i < node.in.size(); ++i) {
    if (this->root(node.in[i]) != root) continue;
    if (reader) return false;
    reader = i;
  }
  const Layout& out = layout(node.out[output]);
  return reader && layout(root).nbytes() == out.nbytes() &&
         ops::may_take(*node.op, node.attrs.ref(), *reader, layout(node.in[*reader]), output, out);
}

std::vector<int> last_uses(const Graph& graph, const SharedBytes& bytes) {
  std::vector<int> last(graph.values.size(), -1);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const ValueId value : graph.nodes[n].in) last[bytes.root(value)] = static_cast<int>(n);
  }
  for (const ValueId value : ends(graph)) last[bytes.root(value)] = kForever;
  return last;
}

}  // namespace tenure::graph
