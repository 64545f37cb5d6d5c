// Which values are written over bytes that the user has: over a variable's old value, or an
// argument that was donated. Those bytes are not read any more, and neither the node that writes
// nor a later one can fail, so that a call that fails has changed nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/shared_bytes.h"

namespace tenure::graph {

struct Overwritten {
  enum class What : std::uint8_t { nothing, variable, input };
  What what = What::nothing;
  std::uint32_t index = 0;
};

// For each value. `last_use` is of roots; each input that was donated is overwritten at most once.
std::vector<Overwritten> find_overwritten(const Graph& graph, const SharedBytes& bytes,
                                          std::span<const int> last_use, std::vector<bool> donated);

}  // namespace tenure::graph
