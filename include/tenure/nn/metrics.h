// Metrics: what is measured while training. Each accumulates over batches until reset.
//
//   model.compile({.optimizer = "adam", .loss = "categorical_crossentropy",
//                  .metrics = {"accuracy", nn::TopKCategoricalAccuracy({.k = 3})}});
//
// Names: accuracy (or acc), crossentropy (or ce), binary_accuracy, categorical_accuracy,
// sparse_categorical_accuracy, top_k_categorical_accuracy, sparse_top_k_categorical_accuracy,
// root_mean_squared_error, r2_score, precision, recall, auc, f1_score, true_positives, ..., and
// every loss (losses.h), of which the mean is taken.
//
// A metric with one result per class or threshold has the mean of them in History and callbacks by
// its name, and each as "f1_score[0]", "f1_score[1]", ...
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

#include "tenure/callable.h"
#include "tenure/export.h"
#include "tenure/handle.h"
#include "tenure/nn/layer.h"
#include "tenure/nn/losses.h"
#include "tenure/nn/sizes.h"
#include "tenure/tensor.h"
#include "tenure/variable.h"

namespace tenure::nn {

class MetricBase;

// Which results are better.
enum class Direction { lower, higher, unknown };

// A copyable handle; copies stand for the same metric, whose state is made at the first update.
class TENURE_API Metric {
 public:
  Metric(const char* name, std::source_location site = std::source_location::current());
  Metric(const std::string& name, std::source_location site = std::source_location::current());
  // The mean of a loss. That of the cosine similarity is the cosine itself, as in Keras.
  Metric(const Loss& loss);
  // The mean of a function of your own, of one value per example.
  template <class F>
    requires(!std::same_as<F, Loss>) && std::is_invocable_r_v<Tensor, F, Tensor, Tensor>
  Metric(F fn, std::string name, std::source_location site = std::source_location::current())
      : Metric(std::function<Tensor(Tensor, Tensor)>(
                   tenure::detail::checked_function("metric", std::move(fn), site)),
               std::move(name), 0) {}
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
  Direction direction() const;
  bool takes_mask() const;  // what a layer masks of the predictions counts for nothing
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
  std::string name = {};
  double threshold = 0.5;  // predictions above it count as 1
};
struct TopKOfClassesOptions {
  std::int64_t k = 5;
  std::string name = {};
};
struct ConfusionOptions {
  // Predictions above a threshold count as positive; one result each. Rising; default: 0.5, or
  // none at all where top_k is set.
  OneOrMore<double> thresholds = {};
  std::optional<std::int64_t> top_k = {};     // only the k largest of a row can be positive
  std::optional<std::int64_t> class_id = {};  // only this one of the last axis counts
  std::string name = {};
};
enum class Curve { roc, pr };
enum class Summation { interpolation, minoring, majoring };
extern template struct TENURE_API Choice<Curve>;
extern template struct TENURE_API Choice<Summation>;
struct AUCOptions {
  std::int64_t num_thresholds = 200;  // evenly from 0 to 1
  Choice<Curve> curve = Curve::roc;   // or "PR"
  Choice<Summation> summation_method = Summation::interpolation;
  std::string name = {};
  std::vector<double> thresholds = {};          // in place of even ones; 0 and 1 are added
  bool multi_label = false;                     // the mean of one area per label, the last axis
  std::optional<std::int64_t> num_labels = {};  // checked, where it is set
  std::vector<double> label_weights = {};       // one per label
  bool from_logits = false;
};
// The best of one among the thresholds at which the other is at least this.
struct SensitivityAtSpecificityOptions {
  double specificity = -1;  // from 0 to 1
  std::int64_t num_thresholds = 200;
  std::optional<std::int64_t> class_id = {};
  std::string name = {};
};
struct SpecificityAtSensitivityOptions {
  double sensitivity = -1;
  std::int64_t num_thresholds = 200;
  std::optional<std::int64_t> class_id = {};
  std::string name = {};
};
struct PrecisionAtRecallOptions {
  double recall = -1;
  std::int64_t num_thresholds = 200;
  std::optional<std::int64_t> class_id = {};
  std::string name = {};
};
struct RecallAtPrecisionOptions {
  double precision = -1;
  std::int64_t num_thresholds = 200;
  std::optional<std::int64_t> class_id = {};
  std::string name = {};
};
struct F1ScoreOptions {
  std::string average = {};              // "macro", "micro", "weighted"; none: one result per class
  std::optional<double> threshold = {};  // default: a row's largest is positive
  std::string name = {};
};
struct FBetaScoreOptions {
  std::string average = {};
  double beta = 1;
  std::optional<double> threshold = {};
  std::string name = {};
};
struct IoUOptions {
  std::int64_t num_classes = 0;
  std::vector<std::int64_t> target_class_ids = {};  // the mean is taken of these
  std::string name = {};
  std::optional<std::int64_t> ignore_class = {};
  bool sparse_y_true = true;  // class numbers; else one-hot or probabilities
  bool sparse_y_pred = true;
  int axis = -1;  // of the classes, where they are not numbers
};
struct MeanIoUOptions {
  std::int64_t num_classes = 0;
  std::string name = {};
  std::optional<std::int64_t> ignore_class = {};
  bool sparse_y_true = true;
  bool sparse_y_pred = true;
  int axis = -1;
};
struct BinaryIoUOptions {
  std::vector<std::int64_t> target_class_ids = {0, 1};
  double threshold = 0.5;  // predictions from it on are of class 1
  std::string name = {};
};
struct OneHotIoUOptions {
  std::int64_t num_classes = 0;
  std::vector<std::int64_t> target_class_ids = {};
  std::string name = {};
  std::optional<std::int64_t> ignore_class = {};
  bool sparse_y_pred = false;
  int axis = -1;
};
struct OneHotMeanIoUOptions {
  std::int64_t num_classes = 0;
  std::string name = {};
  std::optional<std::int64_t> ignore_class = {};
  bool sparse_y_pred = false;
  int axis = -1;
};
struct R2ScoreOptions {
  // "uniform_average", "variance_weighted_average"; empty: one result per output.
  std::string class_aggregation = "uniform_average";
  // Above 0: the score adjusted for what so many regressors explain by chance, where there are more
  // than that many values and one.
  std::int64_t num_regressors = 0;
  std::string name = {};
};
struct CorrelationOptions {
  std::string name = {};
  int axis = -1;  // along which values are correlated; 0: over the batch
};
TENURE_API Metric Mean(MetricOptions options = {});
TENURE_API Metric Sum(MetricOptions options = {});
TENURE_API Metric Accuracy(MetricOptions options = {});  // how often both are equal
TENURE_API Metric BinaryAccuracy(BinaryAccuracyOptions options = {});
TENURE_API Metric CategoricalAccuracy(MetricOptions options = {});
TENURE_API Metric SparseCategoricalAccuracy(MetricOptions options = {});
TENURE_API Metric TopKCategoricalAccuracy(
    TopKOfClassesOptions options = {}, std::source_location site = std::source_location::current());
TENURE_API Metric SparseTopKCategoricalAccuracy(
    TopKOfClassesOptions options = {}, std::source_location site = std::source_location::current());
TENURE_API Metric RootMeanSquaredError(MetricOptions options = {});
TENURE_API Metric TruePositives(ConfusionOptions options = {},
                                std::source_location site = std::source_location::current());
TENURE_API Metric TrueNegatives(ConfusionOptions options = {},
                                std::source_location site = std::source_location::current());
TENURE_API Metric FalsePositives(ConfusionOptions options = {},
                                 std::source_location site = std::source_location::current());
TENURE_API Metric FalseNegatives(ConfusionOptions options = {},
                                 std::source_location site = std::source_location::current());
TENURE_API Metric Precision(ConfusionOptions options = {},
                            std::source_location site = std::source_location::current());
TENURE_API Metric Recall(ConfusionOptions options = {},
                         std::source_location site = std::source_location::current());
TENURE_API Metric AUC(AUCOptions options = {},
                      std::source_location site = std::source_location::current());
TENURE_API Metric
SensitivityAtSpecificity(SensitivityAtSpecificityOptions options,
                         std::source_location site = std::source_location::current());
TENURE_API Metric
SpecificityAtSensitivity(SpecificityAtSensitivityOptions options,
                         std::source_location site = std::source_location::current());
TENURE_API Metric PrecisionAtRecall(PrecisionAtRecallOptions options,
                                    std::source_location site = std::source_location::current());
TENURE_API Metric RecallAtPrecision(RecallAtPrecisionOptions options,
                                    std::source_location site = std::source_location::current());
TENURE_API Metric F1Score(F1ScoreOptions options = {},
                          std::source_location site = std::source_location::current());
TENURE_API Metric FBetaScore(FBetaScoreOptions options = {},
                             std::source_location site = std::source_location::current());
// Intersection over union: of what either calls a class, how much both do.
TENURE_API Metric IoU(IoUOptions options,
                      std::source_location site = std::source_location::current());
TENURE_API Metric MeanIoU(MeanIoUOptions options,
                          std::source_location site = std::source_location::current());
TENURE_API Metric BinaryIoU(BinaryIoUOptions options = {},
                            std::source_location site = std::source_location::current());
TENURE_API Metric OneHotIoU(OneHotIoUOptions options,
                            std::source_location site = std::source_location::current());
TENURE_API Metric OneHotMeanIoU(OneHotMeanIoUOptions options,
                                std::source_location site = std::source_location::current());
// 1 - (squares of the errors) / (squares of the labels' distances from their mean).
TENURE_API Metric R2Score(R2ScoreOptions options = {},
                          std::source_location site = std::source_location::current());
TENURE_API Metric PearsonCorrelation(CorrelationOptions options = {});
TENURE_API Metric ConcordanceCorrelation(CorrelationOptions options = {});

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
  virtual Direction direction() const { return Direction::unknown; }
  // Whether a mask of the predictions is to be part of the weights that update is given.
  virtual bool takes_mask() const { return false; }
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
  // What the state holds of these parts, all of them, before they are accumulated.
  std::vector<Tensor> held(const std::vector<Part>& parts);
  // The state's numbers, in the order of their first accumulation.
  std::vector<double> numbers(std::size_t part) const;

 private:
  friend struct detail::MetricAccess;
  void make_state(const std::vector<Part>& parts);
  std::unique_ptr<detail::MetricState> state_;
};

}  // namespace tenure::nn
