// Arguments whose bytes a call takes over (L27).
#pragma once

#include <source_location>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace tenure::graph {

// Which inputs are donated, having made sure that each fits a result of its own in the graph as
// written.
std::vector<bool> check_donations(const Graph& graph, std::span<const std::size_t> donated,
                                  std::source_location site);

// The donations of one call. Nothing else may use the bytes; they are taken only once nothing can
// fail any more for want of memory.
class Donation {
 public:
  Donation(std::span<const Tensor> in, std::span<const std::size_t> donated,
           const detail::LabelRef& function, std::source_location site);
  void take() const;  // the tensors die of the call

 private:
  std::span<const Tensor> in_;
  std::span<const std::size_t> donated_;
  const detail::LabelRef& function_;
  std::source_location site_;
};

}  // namespace tenure::graph
