// What the passes that fuse elementwise ops share.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/passes/rewrite.h"
#include "ops/fused.h"
#include "ops/kernel.h"

namespace tenure::graph {

inline constexpr std::uint32_t kNoNode = 0xffffffff;

// The nodes of a graph, and who makes and reads its values.
class Uses {
 public:
  explicit Uses(const Graph& graph);

  // The node that makes a value, or kNoNode.
  std::uint32_t maker(ValueId value) const { return maker_[value]; }
  // The nodes that read it, each once, in order.
  std::span<const std::uint32_t> readers(ValueId value) const { return readers_[value]; }
  // Whether it is a result, or assigned to a variable.
  bool is_kept(ValueId value) const { return kept_[value]; }
  // Whether something that is neither elementwise nor a view runs between nodes a and b.
  bool is_far(std::uint32_t a, std::uint32_t b) const { return work_[b] != work_[a + 1]; }

 private:
  std::vector<std::uint32_t> maker_;
  std::vector<std::vector<std::uint32_t>> readers_;
  std::vector<bool> kept_;
  std::vector<std::uint32_t> work_;  // nodes before each that are neither
};

// Whether a node is a loop over elements that a program can contain.
bool is_elementwise(const Graph& graph, const Node& node);

// Whether a node's kernel can hand on pieces of its one result.
bool takes_epilogue(const Graph& graph, const Node& node);

// Instructions that an elementwise node is.
std::size_t steps_of(const Node& node);

// The values that nodes read and do not make, each once. Those that `inputs` has stay in front.
void add_inputs(const Graph& graph, std::span<const std::uint32_t> nodes,
                std::vector<ValueId>& inputs);

// Elementwise nodes, in their order, as one that makes `results`.
Node fused(const Graph& graph, std::span<const std::uint32_t> nodes, std::vector<ValueId> results);

}  // namespace tenure::graph
