// Losses: what training makes small. By Keras name, as an object, or as a function of your own
// from (y_true, y_pred) to one value per example.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tenure/export.h"
#include "tenure/nn/parts.h"
#include "tenure/tensor.h"

namespace tenure::nn {

enum class Reduction { sum_over_batch_size, sum, none };

class TENURE_API Loss {
 public:
  Loss(const char* name);
  Loss(const std::string& name);
  // One value per example (all axes but the last), which are then averaged.
  Loss(std::function<Tensor(Tensor y_true, Tensor y_pred)> fn, std::string name = {});

  // A scalar. Weights are per example; a mask leaves out what it is false for.
  Tensor operator()(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {},
                    const Tensor& mask = {}) const;
  Tensor per_example(const Tensor& y_true, const Tensor& y_pred) const;
  std::string name() const;
  std::string class_name() const;
  std::string config() const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace tenure::nn
