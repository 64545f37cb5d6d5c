// The parts of a step, which the built-in ones are made of, and those of a model's own.
#pragma once

#include "nn/step_scope.h"

namespace tenure::nn::detail {

struct Judged {
  Tensor total;
  std::vector<Tensor> losses;  // of each output that has one
};

StepLogs built_in_training(StepScope& step, const Batch& batch);
StepLogs built_in_test(StepScope& step, const Batch& batch);

// The loss of a model's outputs. Regularizers and what layers have added in the step are part of
// the total.
Judged judge(StepScope& step, const Batch& batch, const std::vector<Tensor>& outputs);
void update_metrics(const StepScope& step, const Batch& batch, const std::vector<Tensor>& outputs);

// What each output has, and what that is called in logs, which needs the outputs' shapes; once.
void prepare_outputs(ModelBase& base, Compiled& compiled, const std::vector<Spec>& outputs);
// As Keras calls them: by the layers that they come from.
std::vector<std::string> output_names(const ModelBase& base, std::size_t count);

// What a step makes small and reports, before it writes anything.
void check_number(const LayerBase& base, const std::string& loss, const Tensor& value);
// Refuses labels that are no classes, in the name of the output.
void check_labels(const LayerBase& base, const Compiled& compiled, const std::vector<Tensor>& y);

// The arguments of a trace are born where the function was called, which is not where it was made.
std::source_location called_at(const std::vector<Tensor>& in);

std::vector<Spec> specs_of(const std::vector<Tensor>& tensors);
std::vector<Variable> trainable_of(ModelBase& base);

}  // namespace tenure::nn::detail
