// What a Loss stands for.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "nn/fields.h"
#include "tenure/nn/losses.h"

namespace tenure::nn::detail {

struct LossSpec {
  std::string class_name;  // empty for a function of the user's
  std::string name;
  Settings settings;  // without name and reduction
  Reduction reduction = Reduction::sum_over_batch_size;
  std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)> per_example;
  std::function<Tensor(const Tensor& values, const Tensor& y_true)> counts;  // 0 for what does not
  // Refuses labels that are no classes: asked where a step has failed, since it reads them.
  std::function<void(const Tensor& y_true, const Shape& y_pred)> check_labels;
  std::string activation;           // that the loss can do without,
  std::function<Loss()> on_logits;  // as this one
};

struct LossAccess {
  static Loss make(LossSpec spec) {
    return Loss(std::make_shared<const LossSpec>(std::move(spec)));
  }
  static const LossSpec& spec(const Loss& loss) { return *loss.spec_; }
};

// The loss of that name, or none.
std::optional<Loss> find_loss(const std::string& name, Fields& settings);
std::string loss_names();  // "mean_squared_error, ..."

}  // namespace tenure::nn::detail
