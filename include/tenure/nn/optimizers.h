// Optimizers: how gradients become steps.
//
//   model.compile({.optimizer = nn::Adam({.learning_rate = 1e-3, .clipnorm = 1}), .loss = "mse"});
//   nn::SGD({.learning_rate = nn::ExponentialDecay({.initial_learning_rate = 0.1,
//                                                   .decay_steps = 100, .decay_rate = 0.9})});
#pragma once

#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "tenure/export.h"
#include "tenure/nn/layer.h"
#include "tenure/tensor.h"
#include "tenure/variable.h"

namespace tenure::nn {

class OptimizerBase;

// A copyable handle; by name ("adam") or as an object.
class TENURE_API Optimizer {
 public:
  Optimizer(const char* name);
  Optimizer(const std::string& name);
  explicit Optimizer(std::shared_ptr<OptimizerBase> base) : base_(std::move(base)) {}

  // Makes the state for these variables (once); apply does it too, outside of any trace.
  void build(const std::vector<Variable>& variables,
             std::source_location site = std::source_location::current()) const;
  // One step. Eager or in a trace; an empty gradient leaves its variable alone.
  void apply(const std::vector<Tensor>& gradients, const std::vector<Variable>& variables,
             std::source_location site = std::source_location::current()) const;

  double learning_rate() const;               // of the next step
  void set_learning_rate(double rate) const;  // ValueError where a schedule sets it
  std::int64_t iterations() const;            // steps so far
  std::vector<Variable> variables() const;    // its state, for files
  std::string class_name() const;
  std::string config() const;
  Disposal dispose(std::source_location site = std::source_location::current()) const;

 private:
  std::shared_ptr<OptimizerBase> base_;
};

}  // namespace tenure::nn
