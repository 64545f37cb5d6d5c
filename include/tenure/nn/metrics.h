// Metrics: what is measured while training. Each accumulates over batches until reset.
//
//   model.compile({.optimizer = "adam", .loss = "categorical_crossentropy",
//                  .metrics = {"accuracy", nn::TopKCategoricalAccuracy({.k = 3})}});
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tenure/export.h"
#include "tenure/nn/losses.h"
#include "tenure/tensor.h"
#include "tenure/variable.h"

namespace tenure::nn {

class MetricBase;

class TENURE_API Metric {
 public:
  Metric(const char* name);
  Metric(const std::string& name);
  // The mean of a function of your own, of one value per example.
  Metric(std::function<Tensor(Tensor y_true, Tensor y_pred)> fn, std::string name);
  explicit Metric(std::shared_ptr<MetricBase> base) : base_(std::move(base)) {}

  // Eager or in a trace.
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) const;
  double result() const;
  void reset() const;
  std::string name() const;
  std::vector<Variable> variables() const;
  std::string class_name() const;
  std::string config() const;
  // "accuracy" and "crossentropy" become the kind that fits the loss and the output.
  Metric resolved(const Loss& loss, const Shape& output) const;
  // One like it with a state of its own.
  Metric fresh() const;

 private:
  std::shared_ptr<MetricBase> base_;
};

}  // namespace tenure::nn
