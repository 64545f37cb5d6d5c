// Elementwise nodes after a node whose kernel takes an epilogue become part of it: a bias, an
// activation, the sum with another product. The kernel applies them to each piece of its result
// while the piece is in the cache.
//
// A chain is followed as long as each value in it has one reader and no other use, keeps its shape,
// and no other work runs in between; it ends where the dtype is that of the kernel's result, whose
// memory it shares.
#include <algorithm>
#include <optional>

#include "graph/passes/fusion.h"
#include "graph/passes/passes.h"

namespace tenure::graph {
namespace {

bool same_type(const Value& a, const Value& b) { return a.shape == b.shape && a.dtype == b.dtype; }

// The nodes that node n takes in, in order; none if it does not.
std::vector<std::uint32_t> chain_after(const Graph& graph, const Uses& uses, std::uint32_t n) {
  std::vector<std::uint32_t> chain;
  const Node& producer = graph.nodes[n];
  const ops::Kernel* kernel = kernel_of(graph, producer);
  if (kernel == nullptr || !kernel->takes_epilogue || producer.out.size() != 1) return chain;
  const Value& made = graph.values[producer.out[0]];
  std::size_t length = 0, steps = 0;
  for (ValueId value = producer.out[0];;) {
    if (uses.is_kept(value) || uses.readers(value).size() != 1) break;
    const std::uint32_t reader = uses.readers(value)[0];
    const Node& node = graph.nodes[reader];
    if (!is_elementwise(graph, node) || uses.is_far(n, reader)) break;
    value = node.out[0];
    if (graph.values[value].shape != made.shape) break;
    chain.push_back(reader);
    steps += steps_of(node);
    std::vector<ValueId> inputs{producer.out[0]};
    add_inputs(graph, chain, inputs);
    if (steps > ops::FusedProgram::kMaxSteps || inputs.size() > ops::FusedProgram::kMaxInputs) {
      break;
    }
    if (same_type(graph.values[value], made)) length = chain.size();
  }
  chain.resize(length);
  return chain;
}

Node finished(const Graph& graph, const Node& producer, const std::vector<std::uint32_t>& chain) {
  const Node& last = graph.nodes[chain.back()];
  std::vector<ValueId> inputs{producer.out[0]};
  add_inputs(graph, chain, inputs);
  Node node;
  node.op = &ops::kFinished;
  node.in = producer.in;
  node.in.insert(node.in.end(), inputs.begin() + 1, inputs.end());
  node.out = last.out;
  node.site = last.site;
  node.attrs = ops::AttrsBox(ref(ops::FinishedAttrs{producer.op, producer.attrs, producer.in.size(),
                                                    make_program(graph, chain, inputs, node.out)}));
  return node;
}

}  // namespace

Graph fuse_epilogues(Graph graph) {
  const Uses uses(graph);
  std::vector<std::optional<Node>> nodes(graph.nodes.size());  // none where taken in
  std::vector<bool> taken(graph.nodes.size(), false);
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    if (taken[n]) continue;
    const std::vector<std::uint32_t> chain = chain_after(graph, uses, n);
    if (chain.empty()) {
      nodes[n] = graph.nodes[n];
      continue;
    }
    for (const std::uint32_t each : chain) taken[each] = true;
    // In the last one's place, where all inputs are known.
    nodes[chain.back()] = finished(graph, graph.nodes[n], chain);
  }
  std::vector<Node> left;
  for (std::optional<Node>& node : nodes) {
    if (node) left.push_back(std::move(*node));
  }
  graph.nodes = std::move(left);
  return graph;
}

}  // namespace tenure::graph
