// The product of two matrices that makes a gradient becomes part of the update which alone reads
// it: the gradient, as large as the parameter, is then no value of the graph, and rarely whole in
// memory (ops/adam.h).
#include <algorithm>

#include "graph/passes/fusion.h"
#include "graph/passes/passes.h"
#include "ops/adam.h"
#include "ops/arithmetic.h"

namespace tenure::graph {
namespace {

constexpr std::size_t kGradient = 3;  // among the inputs of an update

// The product that node n, an update, takes in; kNoNode if there is none.
std::uint32_t product_of(const Graph& graph, const Uses& uses, std::uint32_t n) {
  if (graph.nodes[n].op != &ops::kAdam) return kNoNode;
  const ValueId gradient = graph.nodes[n].in[kGradient];
  const std::uint32_t maker = uses.maker(gradient);
  if (maker == kNoNode || graph.nodes[maker].op != &ops::kMatmul) return kNoNode;
  if (graph.values[gradient].shape.rank() != 2) return kNoNode;
  const bool alone = !uses.is_kept(gradient) && uses.readers(gradient).size() == 1 &&
                     std::ranges::count(graph.nodes[n].in, gradient) == 1;
  return alone ? maker : kNoNode;
}

}  // namespace

Graph fuse_updates(Graph graph) {
  const Uses uses(graph);
  std::vector<bool> taken(graph.nodes.size(), false);
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    const std::uint32_t product = product_of(graph, uses, n);
    if (product == kNoNode) continue;
    Node& update = graph.nodes[n];
    const ops::AdamOfProductAttrs attrs{update.attrs.ref().as<ops::AdamAttrs>(),
                                        graph.nodes[product].attrs.ref().as<ops::MatmulAttrs>()};
    update.op = &ops::kAdamOfProduct;
    update.attrs = ops::AttrsBox(ops::ref(attrs));
    update.in.erase(update.in.begin() + kGradient);
    update.in.insert(update.in.begin(), graph.nodes[product].in.begin(),
                     graph.nodes[product].in.end());
    taken[product] = true;
  }
  std::vector<Node> left;
  left.reserve(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!taken[n]) left.push_back(std::move(graph.nodes[n]));
  }
  graph.nodes = std::move(left);
  return graph;
}

}  // namespace tenure::graph
