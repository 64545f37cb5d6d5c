// The update of an Adam optimizer, written in twelve elementwise ops, becomes one node that keeps
// everything in registers. Run as instructions over tiles it would be bound by the traffic between
// them. The pattern is that of ops/adam.h; both factors of a product may come first.
#include <array>
#include <optional>

#include "graph/passes/fusion.h"
#include "graph/passes/passes.h"
#include "ops/adam.h"
#include "ops/arithmetic.h"

namespace tenure::graph {
namespace {

class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph), uses_(graph) {}

  // The nodes of an update that ends in node `last`, and what takes their place.
  struct Match {
    std::vector<std::uint32_t> nodes;
    Node made;
  };
  std::optional<Match> match(std::uint32_t last) {
    nodes_.clear();
    const Node& end = graph_.nodes[last];
    if (end.op != &ops::kSub) return {};
    type_ = graph_.values[end.out[0]];
    if (!is_floating(type_.dtype)) return {};
    nodes_.push_back(last);
    const auto quotient = inner(end.in[1], ops::kDiv);
    if (!quotient) return {};
    const auto scaled = product(inner(quotient->in[0], ops::kMul));
    const auto bottom = inner(quotient->in[1], ops::kAdd);
    if (!scaled || !bottom || !is_number(bottom->in[1])) return {};
    const auto root = inner(bottom->in[0], ops::kSqrt);
    if (!root) return {};
    const auto mean = shared(scaled->value, ops::kAdd), square = shared(root->in[0], ops::kAdd);
    if (!mean || !square) return {};
    const auto old_mean = product(inner(mean->in[0], ops::kMul));
    const auto new_mean = product(inner(mean->in[1], ops::kMul));
    const auto old_square = product(inner(square->in[0], ops::kMul));
    const auto new_square = product(inner(square->in[1], ops::kMul));
    if (!old_mean || !new_mean || !old_square || !new_square) return {};
    const ValueId gradient = new_mean->value;
    if (!is_square(new_square->value, gradient)) return {};
    Match found{nodes_, {}};
    found.made.op = &ops::kAdam;
    found.made.site = end.site;
    found.made.in = {end.in[0],        old_mean->value,  old_square->value,  gradient,
                     old_mean->number, new_mean->number, old_square->number, new_square->number,
                     scaled->number,   bottom->in[1]};
    found.made.out = {end.out[0], mean->out[0], square->out[0]};
    for (std::size_t i = 0; i < 4; ++i) {
      if (!is_whole(found.made.in[i])) return {};
    }
    return found;
  }

 private:
  struct Product {
    ValueId value, number;
  };

  bool is_whole(ValueId value) const {
    return graph_.values[value].shape == type_.shape && graph_.values[value].dtype == type_.dtype;
  }
  bool is_number(ValueId value) const {
    return graph_.values[value].shape.numel() == 1 && type_.shape.numel() != 1 &&
           graph_.values[value].dtype == type_.dtype;
  }
  const Node* maker(ValueId value, const ops::OpDef& op) const {
    const std::uint32_t n = uses_.maker(value);
    const bool fits = n != kNoNode && graph_.nodes[n].op == &op && is_whole(value);
    return fits ? &graph_.nodes[n] : nullptr;
  }
  void take(const Node& node) {
    nodes_.push_back(static_cast<std::uint32_t>(&node - graph_.nodes.data()));
  }
  // The node that makes a value which nothing else reads.
  const Node* inner(ValueId value, const ops::OpDef& op) {
    const Node* node = maker(value, op);
    if (node == nullptr || uses_.is_kept(value) || uses_.readers(value).size() != 1) return nullptr;
    take(*node);
    return node;
  }
  // The same for one that is assigned to a variable too.
  const Node* shared(ValueId value, const ops::OpDef& op) {
    const Node* node = maker(value, op);
    if (node == nullptr || uses_.readers(value).size() != 1) return nullptr;
    take(*node);
    return node;
  }
  std::optional<Product> product(const Node* node) const {
    if (node == nullptr) return {};
    if (is_number(node->in[1])) return Product{node->in[0], node->in[1]};
    if (is_number(node->in[0])) return Product{node->in[1], node->in[0]};
    return {};
  }
  bool is_square(ValueId value, ValueId of) {
    if (const Node* node = inner(value, ops::kSquare)) return node->in[0] == of;
    const Node* node = inner(value, ops::kMul);
    return node != nullptr && node->in[0] == of && node->in[1] == of;
  }

  const Graph& graph_;
  const Uses uses_;
  Value type_;
  std::vector<std::uint32_t> nodes_;
};

}  // namespace

Graph fuse_adam(Graph graph) {
  std::vector<std::optional<Node>> made(graph.nodes.size());
  std::vector<bool> taken(graph.nodes.size(), false);
  Matcher matcher(graph);
  for (std::uint32_t n = 0; n < graph.nodes.size(); ++n) {
    std::optional<Matcher::Match> match = matcher.match(n);
    if (!match) continue;
    for (const std::uint32_t each : match->nodes) taken[each] = true;
    made[n] = std::move(match->made);
  }
  std::vector<Node> nodes;
  nodes.reserve(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (made[n]) {
      nodes.push_back(std::move(*made[n]));
    } else if (!taken[n]) {
      nodes.push_back(std::move(graph.nodes[n]));
    }
  }
  graph.nodes = std::move(nodes);
  return graph;
}

}  // namespace tenure::graph
