// A traced function as data: values and the operations between them, in the order they were
// written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "core/layout.h"
#include "memory/label.h"
#include "ops/op_def.h"
#include "tensor/access.h"

namespace tenure::graph {

using ValueId = std::uint32_t;

struct Value {
  Shape shape;
  DType dtype = DType::float32;
};

struct Node {
  const ops::OpDef* op = nullptr;
  ops::AttrsBox attrs;
  std::vector<ValueId> in;
  std::vector<ValueId> out;
  std::source_location site;
};

// An eager tensor that the function uses, held as a saved value.
struct Capture {
  detail::Saved saved;
  ValueId value = 0;
};

struct VariableUse {
  std::shared_ptr<detail::VariableState> variable;
  std::optional<ValueId> read;      // its value when a call begins
  std::optional<ValueId> assigned;  // its value when a call ends
};

struct Graph {
  detail::LabelRef function;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> results;
  std::vector<Capture> captures;
  std::vector<VariableUse> variables;
  std::uint64_t random_counters = 0;  // one call draws as many
};

// One line per input, capture, variable, node and result.
std::string dump(const Graph& graph);
// The same for Graphviz.
std::string dot(const Graph& graph);

}  // namespace tenure::graph
