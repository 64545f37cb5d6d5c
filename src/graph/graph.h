// A traced function as data: values and the operations between them, in an order in which they can
// run. Values are numbered; each is an input, a capture, a constant, what a variable holds when a
// call begins, or made by one node.
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
#include "ops/tracer.h"
#include "tensor/access.h"

namespace tenure::graph {

using ValueId = std::uint32_t;

struct Value {
  Shape shape;
  DType dtype = DType::float32;

  std::size_t nbytes() const { return static_cast<std::size_t>(shape.numel()) * size_of(dtype); }
};

struct Node {
  const ops::OpDef* op = nullptr;
  ops::AttrsBox attrs;
  std::vector<ValueId> in;
  std::vector<ValueId> out;
  std::source_location site;
  bool random = false;      // draws random numbers: such nodes stay, and in this order
  bool unrecorded = false;  // tapes do not see it (ops/unrecorded.h)
};

// An argument that is not row-major: how it lies, from its first element on.
struct GivenView {
  ValueId value = 0;
  Layout layout;
};

// An eager tensor that the function uses, held as a saved value.
struct Capture {
  std::shared_ptr<const detail::Saved> saved;
  ValueId value = 0;

  const detail::Header& header() const { return *saved->get(); }
};

// A value that was computed beforehand, row-major, held as a saved value.
struct Constant {
  std::shared_ptr<const detail::Saved> saved;
  ValueId value = 0;

  detail::Storage& storage() const { return *saved->get()->storage; }
};

struct VariableUse {
  std::shared_ptr<detail::VariableState> variable;
  std::optional<ValueId> read;      // its value when a call begins
  std::optional<ValueId> assigned;  // its value when a call ends
};

// Something that was decided by the shapes of values.
struct Choice {
  struct By {
    std::optional<ValueId> value;
    Shape shape;  // when traced; of what is not a value, always
  };
  std::vector<By> by;
  ops::SameChoice same;
};

struct Graph {
  detail::LabelRef function;
  Device device;  // whose kernels run it, and whose memory it takes
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;
  std::vector<GivenView> given_views;  // of inputs
  std::vector<ValueId> results;
  std::vector<Capture> captures;
  std::vector<Constant> constants;
  std::vector<VariableUse> variables;
  std::vector<Choice> choices;
  std::vector<std::uint64_t> draws;  // random counters that a call takes, by segment (reseed.h)
};

// One line per input, capture, variable, node and result.
std::string dump(const Graph& graph);
// The same for Graphviz.
std::string dot(const Graph& graph);

}  // namespace tenure::graph
