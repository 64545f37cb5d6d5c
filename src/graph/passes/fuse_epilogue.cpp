// Elementwise nodes after a node whose kernel takes an epilogue become part of it: a bias, an
// activation, the sum with another product. The kernel applies them to each piece of its result
// while the piece is in the cache.
//
// A chain is followed as long as each value in it has one reader and no other use, keeps its shape,
// and no other work runs in between; it ends where the dtype is that of the kernel's result, whose
// memory it shares. It takes in what is computed for it alone, unless that would keep more bytes
// alive: the mask of a relu, whose gradient goes through the kernel, is never in memory.
#include <algorithm>
#include <optional>

#include "graph/passes/fusion.h"
#include "graph/passes/passes.h"

namespace tenure::graph {
namespace {

bool same_type(const Value& a, const Value& b) { return a.shape == b.shape && a.dtype == b.dtype; }

// Whether these nodes fit in one program, after what makes `first`.
bool fits(const Graph& graph, const std::vector<std::uint32_t>& nodes, ValueId first) {
  std::size_t steps = 0;
  for (const std::uint32_t n : nodes) steps += steps_of(graph.nodes[n]);
  std::vector<ValueId> inputs{first};
  add_inputs(graph, nodes, inputs);
  return steps <= ops::FusedProgram::kMaxSteps && inputs.size() <= ops::FusedProgram::kMaxInputs;
}

// The nodes that node n takes in, in order; none if it does not.
std::vector<std::uint32_t> chain_after(const Graph& graph, const Uses& uses, std::uint32_t n) {
  std::vector<std::uint32_t> chain;
  const Node& producer = graph.nodes[n];
  const ops::Kernel* kernel = kernel_of(graph, producer);
  if (kernel == nullptr || !kernel->takes_epilogue || producer.out.size() != 1) return chain;
  const Value& made = graph.values[producer.out[0]];
  std::size_t length = 0;
  for (ValueId value = producer.out[0];;) {
    if (uses.is_kept(value) || uses.readers(value).size() != 1) break;
    const std::uint32_t reader = uses.readers(value)[0];
    const Node& node = graph.nodes[reader];
    if (!is_elementwise(graph, node) || uses.is_far(n, reader)) break;
    value = node.out[0];
    if (graph.values[value].shape != made.shape) break;
    chain.push_back(reader);
    if (!fits(graph, chain, producer.out[0])) break;
    if (same_type(graph.values[value], made)) length = chain.size();
  }
  chain.resize(length);
  return chain;
}

// Whether no more bytes are alive if node n runs later, and what it reads lives on.
bool stays_small(const Graph& graph, const Uses& uses, std::uint32_t n, std::uint32_t later) {
  if (!uses.is_far(n, later)) return true;
  std::size_t longer = 0;
  for (const ValueId input : graph.nodes[n].in) {
    const bool dies = uses.maker(input) != kNoNode && !uses.is_kept(input);
    if (dies && uses.readers(input).size() == 1) longer += graph.values[input].nbytes();
  }
  return longer <= graph.values[graph.nodes[n].out[0]].nbytes();
}

// Adds to a chain after `first` the nodes whose values it alone reads. All stay in order.
void take_in_sides(const Graph& graph, const Uses& uses, const std::vector<bool>& taken,
                   ValueId first, std::vector<std::uint32_t>& chain) {
  std::vector<std::uint32_t> open = chain;
  while (!open.empty()) {
    const std::uint32_t reader = open.back();
    open.pop_back();
    for (const ValueId value : graph.nodes[reader].in) {
      const std::uint32_t n = uses.maker(value);
      if (n == kNoNode || taken[n] || std::ranges::find(chain, n) != chain.end() ||
          uses.is_kept(value) || uses.readers(value).size() != 1 ||
          graph.values[value].shape != graph.values[first].shape ||
          !is_elementwise(graph, graph.nodes[n]) || !stays_small(graph, uses, n, chain.back())) {
        continue;
      }
      std::vector<std::uint32_t> longer = chain;
      longer.insert(std::ranges::lower_bound(longer, n), n);
      if (!fits(graph, longer, first)) continue;
      chain = std::move(longer);
      open.push_back(n);
    }
  }
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
    std::vector<std::uint32_t> chain = chain_after(graph, uses, n);
    if (chain.empty()) {
      nodes[n] = graph.nodes[n];
      continue;
    }
    take_in_sides(graph, uses, taken, graph.nodes[n].out[0], chain);
    for (const std::uint32_t each : chain) {
      taken[each] = true;
      nodes[each].reset();
    }
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
