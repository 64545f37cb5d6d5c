// What fit, evaluate and predict read, as batches; and whether their options apply to it.
#pragma once

#include <optional>
#include <source_location>
#include <span>
#include <vector>

#include "tenure/dataset.h"
#include "tenure/nn/model.h"

namespace tenure::nn::detail {

// Refuses what cannot be used in the name of what the user called, before copies are made of it.
void check_defined(const char* op, std::span<const Tensor> tensors, std::source_location site);
void check_defined(const char* op, const Tensor& x, const Tensor& y, std::source_location site);

struct FitData {
  Dataset batches;
  std::optional<Dataset> validation;
};

// Tensors as batches, the last of them for validation where asked for.
FitData fit_data(const Model& model, const std::vector<Tensor>& x, const std::vector<Tensor>& y,
                 const FitOptions& options, std::source_location site);
FitData fit_data(const Model& model, const Dataset& batches, const FitOptions& options);

Dataset evaluated_data(const Model& model, const std::vector<Tensor>& x,
                       const std::vector<Tensor>& y, const EvaluateOptions& options,
                       std::source_location site);
Dataset evaluated_data(const Model& model, const Dataset& batches, const EvaluateOptions& options);

// Refuses what does not apply to tensors; gives the size of a batch.
std::int64_t predicted_batch(const Model& model, const std::vector<Tensor>& x,
                             const PredictOptions& options, std::source_location site);
Dataset predicted_data(const Model& model, const Dataset& batches, const PredictOptions& options);

}  // namespace tenure::nn::detail
