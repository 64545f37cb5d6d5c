// A node that can work on pieces of an input follows the kernel that makes that input: a bias and
// an activation follow a product, an update follows what makes its gradient. The kernel hands on
// each piece of its result while it is in the cache.
//
// The two become one node, in the follower's place, where nothing else reads the value between
// them, it has the shape of the follower's results, and no other work runs in between. An update
// may stand far away: what it reads besides are variables, which live anyway, so it can run at any
// time.
//
// The value lies in the memory of a result until that is written. That of an update's results is in
// use, by the old values: there, and where no result can hold it, the value is never whole in
// memory, if its kernel can do without.
#include <algorithm>
#include <optional>

#include "graph/passes/fusion.h"
#include "graph/passes/passes.h"
#include "ops/step.h"

namespace tenure::graph {
namespace {

class Epilogues {
 public:
  explicit Epilogues(const Graph& graph)
      : graph_(graph), uses_(graph), assigned_(graph.values.size(), false) {
    for (const VariableUse& use : graph.variables) {
      if (use.assigned) assigned_[*use.assigned] = true;
    }
  }

  // The nodes that are left once updates, or all others, follow what they can.
  std::vector<Node> nodes(bool updates) const {
    std::vector<std::optional<Node>> nodes(graph_.nodes.begin(), graph_.nodes.end());
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      if (updates != is_update(graph_.nodes[n])) continue;
      const std::uint32_t producer = producer_for(n);
      if (producer == kNoNode) continue;
      std::optional<Node> both = finished(producer, n);
      if (!both) continue;
      nodes[n] = std::move(both);
      nodes[producer].reset();
    }
    std::vector<Node> left;
    left.reserve(nodes.size());
    for (std::optional<Node>& node : nodes) {
      if (node) left.push_back(std::move(*node));
    }
    return left;
  }

 private:
  bool can_follow(const Node& node) const {
    const ops::Kernel* kernel = kernel_of(graph_, node);
    return (kernel != nullptr && kernel->follow != nullptr) || is_elementwise(graph_, node);
  }

  // The last of the nodes that n could follow, or kNoNode.
  std::uint32_t producer_for(std::uint32_t n) const {
    const Node& node = graph_.nodes[n];
    std::uint32_t last = kNoNode;
    if (!can_follow(node)) return last;
    for (const ValueId value : node.in) {
      const std::uint32_t maker = uses_.maker(value);
      if (maker == kNoNode || (last != kNoNode && maker < last)) continue;
      if (!takes_epilogue(graph_, graph_.nodes[maker])) continue;
      const bool alone = !uses_.is_kept(value) && uses_.readers(value).size() == 1 &&
                         std::ranges::count(node.in, value) == 1;
      const bool fits = graph_.values[value].shape == graph_.values[node.out[0]].shape;
      const bool near = !uses_.is_far(maker, n) || is_update(node);
      if (alone && fits && near && !shares_what_dies(graph_.nodes[maker], node)) last = maker;
    }
    return last;
  }

  // Whether one of several results would take the bytes of an input that dies here, and could not
  // if the producer read it too.
  bool shares_what_dies(const Node& producer, const Node& node) const {
    return node.out.size() > 1 && std::ranges::any_of(node.in, [&](ValueId value) {
             return uses_.maker(value) != kNoNode && !uses_.is_kept(value) &&
                    uses_.readers(value).back() <= uses_.readers(producer.out[0])[0] &&
                    std::ranges::find(producer.in, value) != producer.in.end();
           });
  }

  bool is_update(const Node& node) const {
    return std::ranges::all_of(node.out, [&](ValueId value) { return assigned_[value]; });
  }

  std::optional<Node> finished(std::uint32_t maker, std::uint32_t n) const {
    const Node& producer = graph_.nodes[maker];
    Node node = is_elementwise(graph_, graph_.nodes[n])
                    ? fused(graph_, {&n, 1}, graph_.nodes[n].out)
                    : graph_.nodes[n];
    const Value& value = graph_.values[producer.out[0]];
    const auto operand = std::ranges::find(node.in, producer.out[0]);
    ops::FinishedAttrs attrs{.producer = producer.op,
                             .producer_attrs = producer.attrs,
                             .producer_inputs = producer.in.size(),
                             .follower = node.op,
                             .follower_attrs = std::move(node.attrs),
                             .operand = static_cast<std::size_t>(operand - node.in.begin()),
                             .shape = value.shape,
                             .dtype = value.dtype,
                             .host = {}};
    const bool in_pieces =
        kernel_of(graph_, producer)->takes_epilogue == ops::TakesEpilogue::in_pieces;
    if (!in_pieces || !is_update(node)) attrs.host = host_of(attrs, node);
    if (!in_pieces && !attrs.host) return {};
    node.op = &ops::kFinished;
    node.attrs = ops::AttrsBox(ref(attrs));
    node.in.erase(operand);
    node.in.insert(node.in.begin(), producer.in.begin(), producer.in.end());
    return node;
  }

  // A result that can lie where the operand lies.
  std::optional<std::size_t> host_of(const ops::FinishedAttrs& attrs, const Node& node) const {
    for (std::size_t i = 0; i < node.out.size(); ++i) {
      if (graph_.values[node.out[i]].dtype == attrs.dtype &&
          may_take(*attrs.follower, attrs.follower_attrs.ref(), attrs.operand, i)) {
        return i;
      }
    }
    return {};
  }

  const Graph& graph_;
  const Uses uses_;
  std::vector<bool> assigned_;  // of values: to a variable
};

}  // namespace

Graph fuse_epilogues(Graph graph) {
  // Updates first: the products that they follow no longer stand between others.
  for (const bool updates : {true, false}) {
    std::vector<Node> nodes = Epilogues(graph).nodes(updates);
    graph.nodes = std::move(nodes);
  }
  return graph;
}

}  // namespace tenure::graph
