// Nodes of float16 and bfloat16 whose kernel computes in float32 between casts become just that:
// casts that fuse with what is around them, and a node of float32 that fuses like any other.
//
// A cast writes row-major. A node whose kernel sums in another order where an operand lies
// otherwise (a product with a transposed view) stays as it is: in one kernel, the operand keeps its
// strides.
#include <map>

#include "core/half.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"
#include "ops/arithmetic.h"
#include "ops/attrs.h"
#include "ops/step.h"

namespace tenure::graph {
namespace {

class Widener {
 public:
  explicit Widener(Graph graph) : graph_(std::move(graph)), seen_(see_given(graph_)) {}

  Graph widen() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : nodes) {
      see(graph_, node, seen_);
      const ops::Kernel* kernel = is_plain(node) ? kernel_of(graph_, node) : nullptr;
      if (kernel != nullptr && kernel->widens && !reads_strides(node)) {
        widen(std::move(node));
      } else {
        graph_.nodes.push_back(std::move(node));
      }
    }
    return std::move(graph_);
  }

 private:
  // Whether an operand that would be cast reaches the kernel in another order than row-major, and
  // the order is more to it than where elements lie.
  bool reads_strides(const Node& node) const {
    if (node.op->accepts == ops::Accepts::elementwise) return false;
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      const Layout& in = seen_[node.in[i]].layout;
      if (!is_half(in.dtype) || in.strides == contiguous_strides(in.shape)) continue;
      const Shape& out = graph_.values[node.out[0]].shape;
      if (ops::accepts_strides(*node.op, node.attrs.ref(), i, in, out)) return true;
    }
    return false;
  }

  void widen(Node node) {
    for (ValueId& value : node.in) {
      if (is_half(graph_.values[value].dtype)) value = widened(value, node.site);
    }
    std::vector<Node> rounds;
    for (ValueId& value : node.out) {
      const DType dtype = graph_.values[value].dtype;
      if (!is_half(dtype)) continue;
      const ValueId wide = float32_like(value);
      rounds.push_back(cast(std::exchange(value, wide), wide, dtype, node.site));
    }
    graph_.nodes.push_back(std::move(node));
    for (Node& round : rounds) graph_.nodes.push_back(std::move(round));
  }

  ValueId widened(ValueId value, std::source_location site) {
    const auto [known, is_new] = wide_.try_emplace(value);
    if (is_new) {
      known->second = float32_like(value);
      graph_.nodes.push_back(cast(known->second, value, DType::float32, site));
    }
    return known->second;
  }

  ValueId float32_like(ValueId value) {
    graph_.values.push_back({graph_.values[value].shape, DType::float32});
    return static_cast<ValueId>(graph_.values.size() - 1);
  }

  static Node cast(ValueId to, ValueId from, DType dtype, std::source_location site) {
    const ops::CastAttrs attrs{dtype};
    return {.op = &ops::kCast,
            .attrs = ops::AttrsBox(ops::ref(attrs)),
            .in = {from},
            .out = {to},
            .site = site};
  }

  Graph graph_;
  std::vector<Seen> seen_;           // of the graph's own values
  std::map<ValueId, ValueId> wide_;  // values that have been made float32
};

}  // namespace

Graph widen_halves(Graph graph) { return Widener(std::move(graph)).widen(); }

}  // namespace tenure::graph
