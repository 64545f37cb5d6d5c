// Nodes whose result is a value that is there already, to the last bit.
//
// What is not here is as deliberate: x + 0 turns -0 into 0, and so does a sum over one element; x *
// 0 is not 0 for an infinity; complex numbers times 1 add products with 0. Transposed operands of a
// matrix product are views, which its kernel takes as they are.
//
// A value that was computed is row-major, and what stands in for it must be: a product sums in
// another order where an operand lies otherwise. So `x * 1` stays where x is a transposed view.
#include <array>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "core/with_type.h"
#include "graph/passes/passes.h"
#include "graph/passes/rewrite.h"
#include "ops/arithmetic.h"
#include "ops/attrs.h"
#include "ops/creation.h"

namespace tenure::graph {
namespace {

// What is known of the values so far.
class Known {
 public:
  explicit Known(const Graph& graph)
      : graph_(graph),
        seen_(see_given(graph)),
        makers_(graph.values.size(), nullptr),
        constants_(graph.values.size(), nullptr) {
    for (const Constant& constant : graph.constants) constants_[constant.value] = &constant;
    for (std::size_t v = 0; v < seen_.size(); ++v) {
      const auto value = static_cast<ValueId>(v);
      if (seen_[v].root == value) known_views_.emplace(hash_of(seen_[v]), value);
    }
  }

  // A value that shows the same bytes in the same way as the view that `node` makes.
  std::optional<ValueId> shown_already(const Node& node) {
    see(graph_, node, seen_);
    const Seen& view = seen_[node.out[0]];
    const auto [first, last] = known_views_.equal_range(hash_of(view));
    for (auto other = first; other != last; ++other) {
      if (alike(seen_[other->second], view)) return other->second;
    }
    return {};
  }

  void add(const Node& node) {
    see(graph_, node, seen_);
    for (const ValueId value : node.out) {
      makers_[value] = &node;
      known_views_.emplace(hash_of(seen_[value]), value);
    }
  }

  const Value& value(ValueId value) const { return graph_.values[value]; }
  const Node* maker(ValueId value) const { return makers_[value]; }
  bool is_row_major(ValueId value) const { return seen_[value].layout.contiguous; }

  // Whether all elements of a value are this number (0 is not -0).
  bool is_all(ValueId value, double number) const {
    const ValueId root = seen_[value].root;
    double filled_with;
    if (const Constant* constant = constants_[root]) {
      const detail::Storage& storage = constant->storage();
      const std::size_t size = size_of(graph_.values[root].dtype);
      const bool uniform = storage.nbytes >= size && std::memcmp(storage.data, storage.data + size,
                                                                 storage.nbytes - size) == 0;
      if (!uniform) return false;
      filled_with = element(storage.data, graph_.values[root].dtype);
    } else if (makers_[root] != nullptr && makers_[root]->op == &ops::kFill) {
      filled_with = makers_[root]->attrs.ref().as<ops::FillAttrs>().value.to_double();
    } else {
      return false;
    }
    return filled_with == number && std::signbit(filled_with) == std::signbit(number);
  }

 private:
  // NaN for what is no number.
  static double element(const std::byte* data, DType dtype) {
    return with_type(dtype, [data]<class T>(T value) {
      if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
        std::memcpy(&value, data, sizeof value);
        return static_cast<double>(value);
      } else {
        return std::nan("");
      }
    });
  }

  static bool alike(const Seen& a, const Seen& b) {
    if (a.root != b.root || a.layout.dtype != b.layout.dtype || a.layout.shape != b.layout.shape) {
      return false;
    }
    if (a.layout.shape.numel() == 0) return true;
    for (int axis = 0; axis < a.layout.shape.rank(); ++axis) {
      if (a.layout.shape[axis] != 1 && a.layout.strides[axis] != b.layout.strides[axis]) {
        return false;
      }
    }
    return a.layout.offset == b.layout.offset;
  }

  static std::size_t hash_of(const Seen& seen) {
    std::size_t hash = seen.root;
    for (const std::int64_t dim : seen.layout.shape) {
      hash = hash * 0x9e3779b97f4a7c15u + static_cast<std::size_t>(dim);
    }
    if (seen.layout.shape.numel() == 0) return hash;
    return hash * 0x9e3779b97f4a7c15u + static_cast<std::size_t>(seen.layout.offset);
  }

  const Graph& graph_;
  std::vector<Seen> seen_;
  std::vector<const Node*> makers_;
  std::vector<const Constant*> constants_;
  std::unordered_multimap<std::size_t, ValueId> known_views_;
};

// The value that a node's result equals, if there is one.
using AlgebraRule = std::optional<ValueId> (*)(Known&, const Node&);

// Clones, reshapes to the same shape, whole slices, transposes of transposes and the like.
std::optional<ValueId> view_shown_already(Known& known, const Node& node) {
  return node.op->view != nullptr ? known.shown_already(node) : std::nullopt;
}

// x * 1, x / 1 and x - 0.
std::optional<ValueId> number_that_changes_nothing(Known& known, const Node& node) {
  struct Row {
    const ops::OpDef* op;
    std::size_t number_at;
    double number;
  };
  static constexpr Row rows[] = {
      {&ops::kMul, 0, 1}, {&ops::kMul, 1, 1}, {&ops::kDiv, 1, 1}, {&ops::kSub, 1, 0}};
  for (const Row& row : rows) {
    if (node.op != row.op) continue;
    const ValueId other = node.in[1 - row.number_at];
    if (is_complex(known.value(other).dtype)) continue;
    if (known.value(other).shape != known.value(node.out[0]).shape) continue;
    if (known.is_all(node.in[row.number_at], row.number)) return other;
  }
  return {};
}

std::optional<ValueId> negated_twice(Known& known, const Node& node) {
  const Node* inner = node.op == &ops::kNeg ? known.maker(node.in[0]) : nullptr;
  return inner != nullptr && inner->op == &ops::kNeg ? std::optional(inner->in[0]) : std::nullopt;
}

constexpr std::array kRules{view_shown_already, number_that_changes_nothing, negated_twice};

std::optional<ValueId> same_value(Known& known, const Node& node) {
  if (!is_plain(node)) return {};
  for (const AlgebraRule rule : kRules) {
    const auto same = rule(known, node);
    if (same && (node.op->view != nullptr || known.is_row_major(*same))) return same;
  }
  return {};
}

}  // namespace

Graph simplify(Graph graph) {
  Renaming renaming(graph);
  Known known(graph);
  std::vector<Node> left;
  left.reserve(graph.nodes.size());  // nodes do not move: they are pointed at
  for (Node& node : graph.nodes) {
    renaming.rename_inputs(node);
    if (const auto same = same_value(known, node)) {
      renaming.set(node.out[0], *same);
    } else {
      left.push_back(std::move(node));
      known.add(left.back());
    }
  }
  graph.nodes = std::move(left);
  renaming.rename_ends(graph);
  return graph;
}

}  // namespace tenure::graph
