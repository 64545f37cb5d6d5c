// Control flow in a traced function: nodes that run other graphs, their bodies.
//
// A body is a graph without variables: whatever it uses from outside is an input of the node, and
// so of the body. Four ops, which have no kernel:
//
//   branch   runs one of its bodies, which all take and give the same
//   loop     runs its second body on a state while the first says so
//   scan     runs its body so many times, on a state and on slices of sequences
//   call     runs its body
//
// Their gradients keep the inputs and compute the rest again: the gradient of a branch is a branch,
// of a scan a scan in the other direction, of a call a call, and of a loop an op that runs it once
// more with a stack of its states.
//
// A body that draws random numbers draws the same again in the gradient: its node tells at which
// counter it began, and a node can be told to begin at one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace tenure::graph {

using Bodies = std::vector<std::shared_ptr<const Graph>>;

// How often bodies run, and on what.
struct Flow {
  std::size_t state = 0;       // loop, scan: so many of the first inputs, and of the outputs
  std::size_t sequences = 0;   // scan: so many inputs after those; the rest is the same throughout
  std::int64_t steps = -1;     // scan; of a loop, the most there may be, if there is a bound
  bool reverse = false;        // scan: from the last slice to the first
  bool tells_counter = false;  // the last output is the counter at which it began (scan: each step)
  bool has_counter = false;    // the last input is the counter at which to begin (scan: each step)

  bool operator==(const Flow&) const = default;
};

struct ControlAttrs : Flow {
  Bodies bodies;

  bool operator==(const ControlAttrs&) const = default;
  std::string print() const;
};

extern const ops::OpDef kBranch;    // inputs: which (int32), then the bodies'
extern const ops::OpDef kLoop;      // bodies: whether to go on, the next state
extern const ops::OpDef kLoopGrad;  // bodies: those, and the gradient of the second
extern const ops::OpDef kScan;      // outputs: state, sequences, the states its steps began with
extern const ops::OpDef kCall;

// The attributes of a node of one of these ops; null for any other.
const ControlAttrs* control_attrs(const ops::OpDef& op, ops::AttrsRef attrs);
inline const ControlAttrs* control_attrs(const Node& node) {
  return control_attrs(*node.op, node.attrs.ref());
}

// Whether a body draws random numbers.
bool draws(const Graph& body);
// Whether a node draws from the generator, a number of times that only a call can tell.
bool draws(const ops::OpDef& op, ops::AttrsRef attrs);

// The gradient of a body: from its inputs and the gradients of its results to those of its inputs.
// Both lists say which are wanted, or flow.
std::shared_ptr<const Graph> gradient_of(const Graph& body, const std::vector<int>& wanted,
                                         const std::vector<int>& flowing);

// The bytes that a program needs for states while it runs a node of these ops (control_run.cpp).
std::size_t state_bytes(const ops::OpDef& op, const ControlAttrs& attrs);

// Runs one node of these ops on eager tensors, operation by operation.
void interpret_control(const Node& node, std::span<Tensor> in, std::span<Tensor> out,
                       std::source_location site);

}  // namespace tenure::graph
