// Dense layers with relu between them, trained to classify.
#pragma once

#include <vector>

#include "models/training.h"

namespace bench::models {

class Mlp {
 public:
  explicit Mlp(std::vector<std::int64_t> widths = {784, 512, 512, 10}, std::int64_t batch = 64)
      : widths_(std::move(widths)), batch_(batch) {
    for (std::size_t i = 1; i < widths_.size(); ++i) {
      layers_.emplace_back(widths_[i - 1], widths_[i]);
    }
  }

  std::vector<Variable> parameters() const {
    std::vector<Variable> all;
    for (const Dense& layer : layers_) layer.add_to(all);
    return all;
  }
  Tensor logits(Tensor x) const {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      x = layers_[i](std::move(x));
      if (i + 1 < layers_.size()) x = relu(std::move(x));
    }
    return x;
  }
  Tensor loss(const Tensor& x, const Tensor& labels) const {
    return softmax_cross_entropy(logits(x), labels);
  }
  Batch random_batch() const {
    return {tenure::random::uniform({batch_, widths_.front()}),
            random_labels(batch_, widths_.back())};
  }

 private:
  std::vector<std::int64_t> widths_;
  std::int64_t batch_;
  std::vector<Dense> layers_;
};

}  // namespace bench::models
