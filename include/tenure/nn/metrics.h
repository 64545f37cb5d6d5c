// Metrics: what is measured while training. Each accumulates over batches until reset.
//
//   model.compile({.optimizer = "adam", .loss = "categorical_crossentropy",
//                  .metrics = {"accuracy", nn::TopKCategoricalAccuracy({.k = 3})}});
//
// Names: accuracy (or acc), crossentropy (or ce), binary_accuracy, categorical_accuracy,
// sparse_categorical_accuracy, top_k_categorical_accuracy, sparse_top_k_categorical_accuracy,
// root_mean_squared_error, precision, recall, auc, f1_score, true_positives, ..., and every loss
// (losses.h), of which the mean is taken.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/export.h"
#include "tenure/handle.h"
#include "tenure/nn/layer.h"
#include "tenure/nn/losses.h"
#include "tenure/tensor.h"
#include "tenure/variable.h"

namespace tenure::nn {

class MetricBase;

// A copyable handle; copies stand for the same metric, whose state is made at the first update.
class TENURE_API Metric {
 public:
  Metric(const char* name);
  Metric(const std::string& name);
  // The mean of a loss. That of the cosine similarity is the cosine itself, as in Keras.
  Metric(const Loss& loss);
  // The mean of a function of your own, of one value per example.
  template <class F>
    requires(!std::same_as<F, Loss>) && std::is_invocable_r_v<Tensor, F, Tensor, Tensor>
  Metric(F fn, std::string name)
      : Metric(std::function<Tensor(Tensor, Tensor)>(std::move(fn)), std::move(name), 0) {}
  explicit Metric(std::shared_ptr<MetricBase> base) : base_(std::move(base)) {}

  // Eager or in a trace.
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {},
              std::source_location site = std::source_location::current()) const;
  // Of Mean and Sum, which measure values that are there already.
  void add(const Tensor& values, const Tensor& sample_weight = {},
           std::source_location site = std::source_location::current()) const;
  // 0 before the first update.
  double result(std::source_location site = std::source_location::current()) const;
  // One per threshold or class; result() is their mean.
  std::vector<double> results(std::source_location site = std::source_location::current()) const;
  void reset(std::source_location site = std::source_location::current()) const;
  std::string name() const;
  std::vector<Variable> variables() const;  // none before the first update
  std::string class_name() const;
  std::string config() const;
  // "accuracy" and "crossentropy" become the kind that fits the loss and the output.
  Metric resolved(const Loss& loss, const Shape& output) const;
  // One like it with a state of its own.
  Metric fresh() const;
  Disposal dispose(std::source_location site = std::source_location::current()) const;

 private:
  Metric(std::function<Tensor(Tensor, Tensor)> fn, std::string name, int);
  tenure::detail::Held<std::shared_ptr<MetricBase>, "Metric"> base_;
};

// ---- The metrics

struct MetricOptions {
  std::string name = {};
};
struct BinaryAccuracyOptions {
  double threshold = 0.5;  // predictions above it count as 1
  std::string name = {};
};
struct TopKOfClassesOptions {
  std::int64_t k = 5;
  std::string name = {};
};
struct ConfusionOptions {
  // Predictions above a threshold count as positive; one result each. Rising; default: 0.5, or
  // none at all where top_k is set.
  std::vector<double> thresholds = {};
  std::optional<std::int64_t> top_k = {};     // only the k largest of a row can be positive
  std::optional<std::int64_t> class_id = {};  // only this one of the last axis counts
  std::string name = {};
};
enum class Curve { roc, pr };
enum class Summation { interpolation, minoring, majoring };
struct AUCOptions {
  std::int64_t num_thresholds = 200;  // evenly from 0 to 1
  Curve curve = Curve::roc;
  Summation summation_method = Summation::interpolation;
  std::vector<double> thresholds = {};  // in place of even ones; 0 and 1 are added
  bool from_logits = false;
  std::string name = {};
};
struct FBetaScoreOptions {
  std::string average = {};  // "macro", "micro", "weighted"; none: one result per class
  double beta = 1;
  std::optional<double> threshold = {};  // default: a row's largest is positive
  std::string name = {};
};
struct MeanIoUOptions {
  std::int64_t num_classes = 0;
  std::optional<std::int64_t> ignore_class = {};
  bool sparse_y_true = true;  // class numbers; else one-hot or probabilities
  bool sparse_y_pred = true;
  std::string name = {};
};
TENURE_API Metric Mean(MetricOptions options = {});
TENURE_API Metric Sum(MetricOptions options = {});
TENURE_API Metric Accuracy(MetricOptions options = {});  // how often both are equal
TENURE_API Metric BinaryAccuracy(BinaryAccuracyOptions options = {});
TENURE_API Metric CategoricalAccuracy(MetricOptions options = {});
TENURE_API Metric SparseCategoricalAccuracy(MetricOptions options = {});
TENURE_API Metric TopKCategoricalAccuracy(TopKOfClassesOptions options = {});
TENURE_API Metric SparseTopKCategoricalAccuracy(TopKOfClassesOptions options = {});
TENURE_API Metric RootMeanSquaredError(MetricOptions options = {});
TENURE_API Metric TruePositives(ConfusionOptions options = {});
TENURE_API Metric TrueNegatives(ConfusionOptions options = {});
TENURE_API Metric FalsePositives(ConfusionOptions options = {});
TENURE_API Metric FalseNegatives(ConfusionOptions options = {});
TENURE_API Metric Precision(ConfusionOptions options = {});
TENURE_API Metric Recall(ConfusionOptions options = {});
TENURE_API Metric AUC(AUCOptions options = {});
TENURE_API Metric F1Score(FBetaScoreOptions options = {});
TENURE_API Metric FBetaScore(FBetaScoreOptions options = {});
TENURE_API Metric MeanIoU(MeanIoUOptions options);

// ---- One of your own

namespace detail {
struct MetricState;
struct MetricAccess;
}  // namespace detail

// What metrics are made of: state in variables, which update changes and results reads.
class TENURE_API MetricBase {
 public:
  explicit MetricBase(std::string name);
  virtual ~MetricBase();
  MetricBase(const MetricBase&) = delete;
  MetricBase& operator=(const MetricBase&) = delete;

  virtual void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) = 0;
  virtual void add(const Tensor& values, const Tensor& sample_weight);
  virtual std::vector<double> results() const = 0;  // not called before the first update
  virtual std::shared_ptr<MetricBase> fresh() const = 0;
  virtual std::shared_ptr<MetricBase> resolved(const Loss&, const Shape&) const { return nullptr; }
  virtual const char* class_name() const { return "Metric"; }
  virtual std::string config() const;  // its settings as a JSON object
  const std::string& name() const;

 protected:
  // Adds to the state's numbers, in float64. The first call makes the state: zeros like the values.
  struct Part {
    const char* name;
    Tensor value;  // of any dtype
  };
  void accumulate(std::vector<Part> parts);
  // The state's numbers, in the order of their first accumulation.
  std::vector<double> numbers(std::size_t part) const;

 private:
  friend struct detail::MetricAccess;
  std::unique_ptr<detail::MetricState> state_;
};

}  // namespace tenure::nn
