// The class_weight of fit.
#pragma once

#include <map>
#include <source_location>

#include "tenure/dataset.h"

namespace tenure::nn::detail {

// Weights of the examples by their classes, times those they have.
class ClassWeights {
 public:
  ClassWeights(const std::map<int, double>& weights, std::source_location site);
  Batch operator()(Batch batch) const;

 private:
  std::source_location site_;
  Tensor table_;  // empty: none were given
};

}  // namespace tenure::nn::detail
