// A reduction over the last axes of what an elementwise node makes, and nothing else reads, becomes
// one node: the elements are computed as the reduction needs them, and never lie in memory.
#include <optional>

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
  const ops::KernelView made{nullptr, &to.shape, &to.strides, to.dtype};
  return kernel->takes_prologue({.in = {&source, 1}, .out = {&made, 1}, .attrs = node.attrs.ref()});
}

// The program of an elementwise node with one result.
std::optional<ops::FusedProgram> program_of(const Graph& graph, std::uint32_t n) {
  const Node& node = graph.nodes[n];
  if (node.out.size() != 1) return {};
  if (node.op == &ops::kFused) return node.attrs.ref().as<ops::FusedAttrs>().program;
  if (!is_elementwise(graph, node)) return {};
  std::vector<ValueId> inputs;
  add_inputs(graph, {&n, 1}, inputs);
  return make_program(graph, {&n, 1}, inputs, node.out);
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
    std::optional<ops::FusedProgram> program = program_of(graph, maker);
    if (!program) continue;
    const Node& made = graph.nodes[maker];
    std::vector<ValueId> inputs;
    if (made.op == &ops::kFused) {
      inputs = made.in;
    } else {
      add_inputs(graph, {&maker, 1}, inputs);
    }
    node.attrs = ops::AttrsBox(ref(ops::ReducedAttrs{node.op, node.attrs, std::move(*program)}));
    node.op = &ops::kReduced;
    node.in = std::move(inputs);
    taken[maker] = true;
  }
  std::size_t n = 0;
  std::erase_if(graph.nodes, [&](const Node&) { return taken[n++]; });
  return graph;
}

}  // namespace tenure::graph
