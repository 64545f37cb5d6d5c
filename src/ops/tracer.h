// What the one road tells a function that is being traced. The graph layer implements this.
#pragma once

#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <vector>

#include "ops/op_def.h"
#include "tenure/tensor.h"

namespace tenure::detail {
struct VariableState;
}

namespace tenure::ops {

// Whether something would be done as it was if the inputs had these shapes; an error also says no.
using SameChoice = std::function<bool(std::span<const Shape> shapes)>;

// From the gradient of a value to those of what it was computed from; empty where none flows.
using CustomGradient = std::function<std::vector<Tensor>(Tensor)>;

class Tracer {
 public:
  virtual ~Tracer() = default;

  // What stands for an input in this trace: itself, or a capture of an eager tensor.
  virtual Tensor stand_in(const Tensor& x, const char* op, int input,
                          std::source_location site) = 0;
  // Appends a node; all inputs are of this trace. Fills `out` with symbolic tensors.
  virtual void append(const OpDef& op, std::span<const Tensor> in, AttrsRef attrs,
                      std::source_location site, std::span<Layout> layouts,
                      std::span<Tensor> out) = 0;
  // The function depends on the shapes of `in` in a way that its operations do not show.
  virtual void chosen_by(std::span<const Tensor> in, SameChoice same) = 0;
  // Variables: a read gives what the trace last assigned, if it did.
  virtual Tensor read(const std::shared_ptr<detail::VariableState>& variable,
                      std::source_location site) = 0;
  virtual void assign(const std::shared_ptr<detail::VariableState>& variable, const Tensor& value,
                      std::source_location site) = 0;
  // `value`, computed from `inputs`, with a gradient function of the user's. What that function
  // uses of this trace is gone when a gradient is asked for, so it is traced at once.
  virtual Tensor with_gradient(const Tensor& value, std::span<const Tensor> inputs,
                               const CustomGradient& gradient, std::source_location site) = 0;

  int unrecorded = 0;  // above 0: no tape is to see what is appended, whenever it runs
};

}  // namespace tenure::ops
