// What passes share: which nodes they may touch, values that stand for others, and views seen
// through.
#pragma once

#include <limits>
#include <vector>

#include "graph/graph.h"
#include "ops/kernel.h"

namespace tenure::graph {

// Whether all there is to know about a node is its op, attributes and inputs: the op is one of the
// registry's and draws no random numbers. Passes leave all others as they are.
bool is_plain(const Node& node);

// The kernel that runs a node, or nullptr where there is none (a view, control flow, a dtype).
const ops::Kernel* kernel_of(const Graph& graph, const Node& node);

// What a call leaves behind: results, then what is assigned to variables.
std::vector<ValueId> ends(const Graph& graph);

// Values for which others stand in.
class Renaming {
 public:
  explicit Renaming(const Graph& graph);
  void set(ValueId value, ValueId by) { by_[value] = by; }
  void rename_inputs(Node& node) const;
  void rename_ends(Graph& graph) const;

 private:
  std::vector<ValueId> by_;
};

// How a value lies over the bytes of another, itself where it is no view.
struct Seen {
  static constexpr ValueId kNotMade = std::numeric_limits<ValueId>::max();
  ValueId root = kNotMade;
  Layout layout;
};

// Of each value that no node makes; nodes add theirs, in order.
std::vector<Seen> see_given(const Graph& graph);
// Adds what a node makes. False for a view that strides cannot express: it is a copy, row-major.
bool see(const Graph& graph, const Node& node, std::vector<Seen>& seen);

}  // namespace tenure::graph
