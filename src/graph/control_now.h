// Control flow on tensors, at once: of eager code, whose bodies are the user's, and of graphs that
// run operation by operation. A body is given the state, the slices, and what is the same
// throughout.
#pragma once

#include <source_location>
#include <vector>

#include "graph/control.h"
#include "tenure/control.h"

namespace tenure::graph {

using detail::BodyFunction;

// What a predicate says: one bool.
bool read_predicate(const char* op, const Tensor& predicate, std::source_location site);

// `in` and the result are the inputs and the outputs of the node; a scan gives, beside the state,
// whatever its body does, stacked.
std::vector<Tensor> call_now(const Flow& flow, const BodyFunction& body, std::vector<Tensor> in);
std::vector<Tensor> loop_now(const Flow& flow, const BodyFunction& goes_on,
                             const BodyFunction& body, std::vector<Tensor> in,
                             std::source_location site);
// `in` are the loop's inputs, `grads` those after them.
std::vector<Tensor> loop_grad_now(const Flow& flow, const BodyFunction& goes_on,
                                  const BodyFunction& body, const BodyFunction& back,
                                  std::vector<Tensor> in, std::vector<Tensor> grads,
                                  std::source_location site);
std::vector<Tensor> scan_now(const Flow& flow, const BodyFunction& body, std::vector<Tensor> in,
                             std::source_location site);
// The stacks of a scan without steps, whose body would give values like these.
std::vector<Tensor> empty_stacks(const std::vector<Value>& values, std::source_location site);

}  // namespace tenure::graph
