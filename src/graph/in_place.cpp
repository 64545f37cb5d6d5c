#include "graph/in_place.h"

#include <algorithm>
#include <optional>

#include "graph/control.h"

namespace tenure::graph {
namespace {

// Whether a step can throw: it may find values it cannot take, or need memory.
bool can_fail(const Node& node) { return node.op->checks_values || control_attrs(node) != nullptr; }

// The variable that each value is assigned to, if nothing else needs its bytes when a call ends.
std::vector<std::optional<std::uint32_t>> only_assigned(const Graph& graph,
                                                        const SharedBytes& bytes) {
  std::vector<int> kept(graph.values.size(), 0);  // how often a root is
  for (const ValueId value : ends(graph)) ++kept[bytes.root(value)];
  std::vector<std::optional<std::uint32_t>> variables(graph.values.size());
  for (std::size_t i = 0; i < graph.variables.size(); ++i) {
    const auto value = graph.variables[i].assigned;
    if (value && !bytes.is_view(*value) && kept[*value] == 1) {
      variables[*value] = static_cast<std::uint32_t>(i);
    }
  }
  return variables;
}

}  // namespace

std::vector<Overwritten> find_overwritten(const Graph& graph, const SharedBytes& bytes,
                                          std::span<const int> last_use,
                                          std::vector<bool> donated) {
  using What = Overwritten::What;
  std::vector<Overwritten> overwritten(graph.values.size());
  const auto variables = only_assigned(graph, bytes);
  const auto last_that_fails = std::find_if(graph.nodes.rbegin(), graph.nodes.rend(), can_fail);
  for (auto n = static_cast<std::size_t>(graph.nodes.rend() - last_that_fails);
       n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op->view != nullptr) continue;
    for (std::size_t output = 0; output < node.out.size(); ++output) {
      const ValueId value = node.out[output];
      const auto is_free = [&](ValueId root) {
        const int last = last_use[root], now = static_cast<int>(n);
        return last < now || (last == now && bytes.may_take(node, root, output));
      };
      if (const auto variable = variables[value]) {
        const auto read = graph.variables[*variable].read;
        if (!read || is_free(*read)) overwritten[value] = {What::variable, *variable};
        continue;
      }
      if (std::ranges::find(graph.results, value) == graph.results.end()) continue;
      for (std::size_t i = 0; i < donated.size(); ++i) {
        const Layout& in = bytes.layout(graph.inputs[i]);
        const Layout& out = bytes.layout(value);
        if (!donated[i] || in.dtype != out.dtype || in.nbytes() != out.nbytes() ||
            !is_free(graph.inputs[i])) {
          continue;
        }
        donated[i] = false;
        overwritten[value] = {What::input, static_cast<std::uint32_t>(i)};
        break;
      }
    }
  }
  return overwritten;
}

}  // namespace tenure::graph
