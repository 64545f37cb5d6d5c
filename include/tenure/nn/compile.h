// What a model is compiled with.
//
//   model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae", nn::AUC()}});
//
// Where a model has several outputs, losses, their weights and metrics are given for each output in
// its order, or by the name of the layer that it comes from:
//
//   twin.compile({.loss = {{"price", "mse"}, {"sold", "bce"}},
//                 .loss_weights = {{"sold", 0.2}},
//                 .metrics = {{"price", "mae"}, {"sold", {"accuracy", nn::AUC()}}}});
//   twin.compile({.loss = {"mse", {}}, .metrics = {{"mae", "mse"}, {}}});
//
// One loss alone is that of every output; an output may have none.
#pragma once

#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/nn/losses.h"
#include "tenure/nn/metrics.h"
#include "tenure/nn/optimizers.h"

namespace tenure::nn {

// The loss of an output, or none: {}.
class OutputLoss {
 public:
  OutputLoss() = default;
  template <class L>
    requires std::is_convertible_v<L, Loss>
  OutputLoss(L loss, std::source_location site = std::source_location::current())
      : loss_(loss_of(std::move(loss), site)) {}
  bool given() const { return loss_.has_value(); }
  const Loss& operator*() const { return *loss_; }
  const Loss* operator->() const { return &*loss_; }

 private:
  template <class L>
  static Loss loss_of(L loss, std::source_location site) {
    if constexpr (std::is_same_v<L, Loss>) {
      return loss;
    } else if constexpr (std::is_constructible_v<Loss, L, std::source_location>) {
      return Loss(std::move(loss), site);
    } else {
      return Loss(std::move(loss), {}, site);
    }
  }
  std::optional<Loss> loss_;
};

// Something of the output of that name.
template <class T>
struct OfOutput {
  OfOutput(std::string name, T what) : output(std::move(name)), value(std::move(what)) {}
  std::string output;
  T value;
};

// One loss for every output, one for each, or by their names: an output that is not named has none.
class Losses {
 public:
  Losses() = default;
  template <class L>
    requires std::is_convertible_v<L, Loss>
  Losses(L loss, std::source_location site = std::source_location::current())
      : list_{OutputLoss(std::move(loss), site)} {}
  Losses(std::initializer_list<OutputLoss> several) : list_(several) {}
  Losses(std::vector<OutputLoss> several) : list_(std::move(several)) {}
  Losses(std::initializer_list<OfOutput<OutputLoss>> several) : named_(several) {}
  Losses(std::vector<OfOutput<OutputLoss>> several) : named_(std::move(several)) {}
  const std::vector<OutputLoss>& list() const { return list_; }
  const std::vector<OfOutput<OutputLoss>>& named() const { return named_; }

 private:
  std::vector<OutputLoss> list_;
  std::vector<OfOutput<OutputLoss>> named_;
};

// What the loss of each output counts in their sum: 1, where nothing is said.
class LossWeights {
 public:
  LossWeights() = default;
  template <class N>
    requires std::is_arithmetic_v<N>
  LossWeights(N one) : list_{static_cast<double>(one)} {}
  LossWeights(std::initializer_list<double> several) : list_(several) {}
  LossWeights(std::vector<double> several) : list_(std::move(several)) {}
  LossWeights(std::initializer_list<OfOutput<double>> several) : named_(several) {}
  LossWeights(std::vector<OfOutput<double>> several) : named_(std::move(several)) {}
  const std::vector<double>& list() const { return list_; }
  const std::vector<OfOutput<double>>& named() const { return named_; }

 private:
  std::vector<double> list_;
  std::vector<OfOutput<double>> named_;
};

// A metric, or a list: of the metrics of a model's one output, of what each of its outputs has
// (a metric, or a list of them), or of pairs {"name of an output", its metrics}. A list of two that
// begins with the name of an output is such a pair.
class Metrics {
 public:
  Metrics() = default;
  Metrics(const char* name, std::source_location site = std::source_location::current())
      : name_(name), site_(site) {}
  Metrics(std::string name, std::source_location site = std::source_location::current())
      : name_(std::move(name)), site_(site) {}
  template <class M>
    requires std::is_same_v<M, Metric> || std::is_same_v<M, Loss>
  Metrics(M metric) : metric_(Metric(std::move(metric))) {}
  Metrics(std::initializer_list<Metrics> several) : list_(several) {}
  Metrics(std::vector<Metrics> several) : list_(std::move(several)) {}
  Metrics(const std::vector<Metric>& several) : list_(several.begin(), several.end()) {}

  bool is_list() const { return !metric_ && !name_; }
  const std::vector<Metrics>& list() const { return list_; }
  const std::optional<std::string>& name() const { return name_; }  // none: given as an object
  Metric metric() const { return metric_ ? *metric_ : Metric(*name_, site_); }

 private:
  std::optional<Metric> metric_;
  std::optional<std::string> name_;
  std::source_location site_;
  std::vector<Metrics> list_;
};

struct CompileOptions {
  Optimizer optimizer = "rmsprop";
  Losses loss = {};
  LossWeights loss_weights = {};
  Metrics metrics = {};           // every example counts the same
  Metrics weighted_metrics = {};  // by the weights of the examples, and of their classes
  // What layers compute in whose own dtype was not given: "float32", or "mixed_bfloat16" or
  // "mixed_float16", in which weights, norms, probabilities, losses and what the model gives stay
  // float32. With "mixed_float16" the optimizer becomes a LossScaleOptimizer.
  std::string precision = "float32";
  int accumulate = 1;  // batches whose gradients are averaged into one step of the optimizer
  // Steps run operation by operation, for debugging. The numbers are the same, but where a layer
  // uses cond: to a weight of the branch that was not taken, a traced step applies a gradient of
  // zeros (a momentum goes on), an eager one none.
  bool eager = false;
};

}  // namespace tenure::nn
