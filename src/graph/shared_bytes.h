// Whose bytes each value of a graph lies in, and who may take them over. Asked by the pass that
// orders nodes and by the builder of code alike, so that an order is judged by what will be placed.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "graph/passes/rewrite.h"

namespace tenure::graph {

inline constexpr std::size_t kAlignment = 64;  // of what lies in an arena

constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

class SharedBytes {
 public:
  explicit SharedBytes(const Graph& graph);

  // The value whose bytes a view lies in; of any other value, itself.
  ValueId root(ValueId value) const { return seen_[value].root; }
  bool is_view(ValueId value) const { return root(value) != value; }
  const Layout& layout(ValueId value) const { return seen_[value].layout; }

  // Whether a call needs the bytes only while it runs: a node makes them, and neither a result nor
  // a variable's new value lies in them.
  bool in_arena(ValueId value) const { return in_arena_[root(value)]; }

  // Whether a node's output may be written over `root`, which no later node reads: it is the bytes
  // of one input, all of them, and the op allows it.
  bool may_take(const Node& node, ValueId root, std::size_t output) const;

 private:
  std::vector<Seen> seen_;
  std::vector<bool> in_arena_;  // of roots
};

constexpr int kForever = std::numeric_limits<int>::max();

// The last node that reads each root, in the graph's order: -1 for none, kForever for those whose
// bytes are needed when a call ends.
std::vector<int> last_uses(const Graph& graph, const SharedBytes& bytes);

}  // namespace tenure::graph
