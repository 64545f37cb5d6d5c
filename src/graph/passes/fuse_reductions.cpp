// A reduction over the last axes of what an elementwise node makes, and nothing else reads, becomes
// one node: the elements are computed as the reduction needs them, and never lie in memory.
#include "graph/passes/fusion.h"
#include "graph/passes/passes.h"

namespace tenure::graph {
namespace {

bool takes_prologue(const Graph& graph, const Node& node) {
  const ops::Kernel* kernel = kernel_of(graph, node);
  if (kernel == nullptr || kernel->takes_prologue == nullptr || node.in.size() != 1) return false;
  const Value& in = graph.values[node.in[0]];
  const Value& out = graph.values[node.out[0]];
  const Layout from = contiguous_layout(in.shape, in.dtype);
  const Layout to = contiguous_layout(out.shape, out.dtype);
  const ops::KernelView source{nullptr, &from.shape, &from.strides, from.dtype};
  const ops::KernelView result{nullptr, &to.shape, &to.strides, to.dtype};
  return kernel->takes_prologue(
      {.in = {&source, 1}, .out = {&result, 1}, .attrs = node.attrs.ref()});
}

}  // namespace

Graph fuse_reductions(Graph graph) {
  const Uses uses(graph);
  std::vector<bool> taken(graph.nodes.size(), false);
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    if (!takes_prologue(graph, node)) continue;
    const ValueId value = node.in[0];
    const std::uint32_t maker = uses.maker(value);
    if (maker == kNoNode || uses.is_kept(value) || uses.readers(value).size() != 1 ||
        uses.is_far(maker, n)) {
      continue;
    }
    Node program = graph.nodes[maker];
    if (program.out.size() == 1 && is_elementwise(graph, program)) {
      program = fused(graph, {&maker, 1}, program.out);
    }
    if (program.op != &ops::kFused || program.out.size() != 1) continue;
    node.attrs = ops::AttrsBox(ref(
        ops::ReducedAttrs{node.op, node.attrs, program.attrs.ref().as<ops::FusedAttrs>().program}));
    node.op = &ops::kReduced;
    node.in = std::move(program.in);
    taken[maker] = true;
  }
  std::size_t n = 0;
  std::erase_if(graph.nodes, [&](const Node&) { return taken[n++]; });
  return graph;
}

}  // namespace tenure::graph
