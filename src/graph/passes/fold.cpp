#include "graph/passes/passes.h"
#include "memory/context.h"
#include "ops/kernel.h"

namespace tenure::graph {
namespace {

constexpr std::size_t kMostConstantBytes = 64 * 1024;

}  // namespace

Graph fold_constants(Graph graph) {
  std::vector<Node> left;
  left.reserve(graph.nodes.size());
  for (Node& node : graph.nodes) {
    const Value& value = graph.values[node.out[0]];
    const Layout layout = contiguous_layout(value.shape, value.dtype);
    const ops::Kernel& kernel =
        ops::kernel_table(DeviceType::cpu).find(node.op->index, value.dtype);
    const bool folds = node.in.empty() && !node.random && node.out.size() == 1 &&
                       layout.nbytes() <= kMostConstantBytes && kernel.run != nullptr &&
                       kernel.scratch_bytes == nullptr;
    if (!folds) {
      left.push_back(std::move(node));
      continue;
    }
    detail::StorageRef storage(
        detail::allocate_storage({}, layout.nbytes(), detail::context().session));
    const ops::KernelView view{storage->data, &layout.shape, &layout.strides, layout.dtype};
    kernel.run({.in = {}, .out = {&view, 1}, .attrs = node.attrs.ref()});
    graph.constants.push_back(
        {std::make_shared<const detail::StorageRef>(std::move(storage)), node.out[0]});
  }
  graph.nodes = std::move(left);
  return graph;
}

}  // namespace tenure::graph
