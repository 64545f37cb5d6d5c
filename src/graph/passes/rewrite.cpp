#include "graph/passes/rewrite.h"

#include <numeric>

namespace tenure::graph {

bool is_plain(const Node& node) {
  const auto registry = ops::all_ops();
  const bool listed = node.op->index < registry.size() && registry[node.op->index] == node.op;
  return listed && !node.random && node.op->reseed == nullptr;
}

const ops::Kernel* kernel_of(const Graph& graph, const Node& node) {
  if (node.op->view != nullptr || node.out.empty() || !ops::has_index(*node.op)) return nullptr;
  const int on = node.op->dispatch_on;
  const ValueId value =
      on == ops::OpDef::kOutput0 ? node.out[0] : node.in[static_cast<std::size_t>(on)];
  const ops::Kernel& kernel =
      ops::kernel_table(graph.device.type).find(node.op->index, graph.values[value].dtype);
  return kernel.run != nullptr ? &kernel : nullptr;
}

std::vector<ValueId> ends(const Graph& graph) {
  std::vector<ValueId> values = graph.results;
  for (const VariableUse& use : graph.variables) {
    if (use.assigned) values.push_back(*use.assigned);
  }
  return values;
}

Renaming::Renaming(const Graph& graph) : by_(graph.values.size()) {
  std::iota(by_.begin(), by_.end(), ValueId{0});
}

void Renaming::rename_inputs(Node& node) const {
  for (ValueId& value : node.in) value = by_[value];
}

void Renaming::rename_ends(Graph& graph) const {
  for (ValueId& value : graph.results) value = by_[value];
  for (VariableUse& use : graph.variables) {
    if (use.assigned) use.assigned = by_[*use.assigned];
  }
}

namespace {

void see_whole(const Graph& graph, ValueId value, std::vector<Seen>& seen) {
  seen[value] = {value, contiguous_layout(graph.values[value].shape, graph.values[value].dtype)};
}

}  // namespace

std::vector<Seen> see_given(const Graph& graph) {
  std::vector<Seen> seen(graph.values.size());
  for (const ValueId value : graph.inputs) see_whole(graph, value, seen);
  for (const GivenView& view : graph.given_views) seen[view.value].layout = view.layout;
  for (const Constant& constant : graph.constants) see_whole(graph, constant.value, seen);
  for (const VariableUse& use : graph.variables) {
    if (use.read) see_whole(graph, *use.read, seen);
  }
  for (const Capture& capture : graph.captures) {
    seen[capture.value] = {capture.value, capture.header().layout};
  }
  return seen;
}

bool see(const Graph& graph, const Node& node, std::vector<Seen>& seen) {
  for (const ValueId value : node.out) see_whole(graph, value, seen);
  if (node.op->view == nullptr) return true;
  Seen& out = seen[node.out[0]];
  if (!node.op->view(seen[node.in[0]].layout, node.attrs.ref(), out.layout)) {
    see_whole(graph, node.out[0], seen);
    return false;
  }
  out.root = seen[node.in[0]].root;
  out.layout.contiguous = is_contiguous(out.layout.shape, out.layout.strides);
  return true;
}

}  // namespace tenure::graph
