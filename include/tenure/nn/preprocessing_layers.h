// Layers that learn from data, before training, how to prepare it.
//
//   nn::Normalization normalize;
//   normalize.adapt(x);                       // or a Dataset: the first input of each batch
//   nn::Sequential model({normalize, nn::Dense({.units = 1})});
//
// Adapting again forgets what was learned before. It changes the layer in the models that it is in.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "tenure/dataset.h"
#include "tenure/nn/core_layers.h"

namespace tenure::nn {

struct NormalizationOptions {
  AxisList axis = -1;           // whose places have a mean and a variance each; none: one for all
  OneOrMore<double> mean = {};  // with the variance: nothing is left to learn
  OneOrMore<double> variance = {};  // one number, or one for each place
  bool invert = false;              // gives back what was normalized
  TENURE_LAYER_FIELDS;
};
// (x - mean) / sqrt(variance), in the layer's dtype.
class TENURE_API Normalization : public Layer {
 public:
  explicit Normalization(NormalizationOptions options = {},
                         std::source_location site = std::source_location::current());
  TENURE_EMPTY_OPTIONS(Normalization, NormalizationOptions)
  void adapt(const Tensor& data, std::source_location site = std::source_location::current()) const;
  void adapt(const Dataset& data,
             std::source_location site = std::source_location::current()) const;
};

struct DiscretizationOptions {
  std::vector<double> bin_boundaries = {};    // ascending
  std::optional<std::int64_t> num_bins = {};  // that adapt makes, each as full as the others
  double epsilon = 0.01;                      // how exactly; the smaller, the more it remembers
  std::string output_mode = "int";  // or as CategoryEncoding: "one_hot", "multi_hot", "count"
  TENURE_LAYER_FIELDS;
};
// The number, as int32, of the bin that each lies in: 0 below the first boundary, 1 from there on.
class TENURE_API Discretization : public Layer {
 public:
  explicit Discretization(DiscretizationOptions options,
                          std::source_location site = std::source_location::current());
  void adapt(const Tensor& data, std::source_location site = std::source_location::current()) const;
  void adapt(const Dataset& data,
             std::source_location site = std::source_location::current()) const;
  std::vector<double> bin_boundaries() const;  // none before it is adapted
};

}  // namespace tenure::nn
