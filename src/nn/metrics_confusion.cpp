// Metrics of right and wrong classes.
#include <algorithm>
#include <cmath>

#include "core/raise.h"
#include "nn/loss_functions.h"
#include "nn/metric.h"
#include "nn/parts.h"
#include "tenure/create.h"
#include "tenure/indexing.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure::nn {

namespace detail {

namespace {

// Null in files where it is empty.
template <class T>
void field_or_null(Fields& visit, const char* key, T& value) {
  std::optional<T> some;
  if (!value.empty()) some = std::move(value);
  visit(key, some);
  value = std::move(some).value_or(T());
}

struct F1Options : FBetaScoreOptions {};
void fields(Fields& visit, F1Options& o) {
  field_or_null(visit, "average", o.average);
  TENURE_FIELDS(visit, o, threshold);
}

}  // namespace

void fields(Fields& visit, ConfusionOptions& o) {
  field_or_null(visit, "thresholds", o.thresholds);
  TENURE_FIELDS(visit, o, top_k, class_id);
}
void fields(Fields& visit, AUCOptions& o) {
  bool multi_label = false;  // there is no other
  TENURE_FIELDS(visit, o, num_thresholds, curve, summation_method);
  visit("multi_label", multi_label);
  field_or_null(visit, "thresholds", o.thresholds);
  TENURE_FIELDS(visit, o, from_logits);
  // Keras writes the ones that it added as well.
  if (visit.reads()) std::erase_if(o.thresholds, [](double each) { return each < 0 || each > 1; });
}
void fields(Fields& visit, FBetaScoreOptions& o) {
  field_or_null(visit, "average", o.average);
  TENURE_FIELDS(visit, o, threshold, beta);
}
void fields(Fields& visit, MeanIoUOptions& o) {
  TENURE_FIELDS(visit, o, num_classes, ignore_class, sparse_y_true, sparse_y_pred);
}

namespace {

constexpr double kLowest = -1e10;  // below any score

// Counts at each of T rising thresholds.
struct Counts {
  std::vector<double> tp, fp, tn, fn;
};

// Predictions are put between the thresholds once, and counted from there: the work does not grow
// with the number of thresholds.
class ThresholdMetric : public ConfiguredMetric {
 public:
  ThresholdMetric(const char* class_name, std::string name, Settings settings,
                  std::vector<double> thresholds)
      : ConfiguredMetric(class_name, std::move(name), std::move(settings)),
        thresholds_(std::move(thresholds)) {
    for (std::size_t i = 1; i < thresholds_.size(); ++i) {
      if (!(thresholds_[i - 1] < thresholds_[i])) {
        raise<ValueError>("{}: thresholds must rise: {}, then {}", class_name, thresholds_[i - 1],
                          thresholds_[i]);
      }
    }
  }

 protected:
  void count(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) {
    Tensor weights = full_like(y_pred, 1.0);
    if (sample_weight.defined()) {
      weights = weights * weights_for(name(), sample_weight, y_pred);
    }
    const auto flat = [](const Tensor& x) { return reshape(x, {-1}); };
    const Tensor each = cast(flat(weights), DType::float64);
    const Tensor truth = cast(not_equal(flat(y_true), 0.0), DType::float64);
    const Tensor positive = each * truth, negative = each * (1.0 - truth);
    const std::vector<float> rising(thresholds_.begin(), thresholds_.end());
    const Tensor above =
        lower_bound(tensor(rising), cast(flat(y_pred), DType::float32));  // thresholds below
    const auto size = static_cast<std::int64_t>(thresholds_.size());
    const auto beyond = [&](const Tensor& amounts) {
      const Tensor between = bincount(above, amounts, size + 1);
      return slice(cumsum(between, 0, {.exclusive = true, .reverse = true}), {0}, {size});
    };
    const Tensor tp = beyond(positive), fp = beyond(negative);
    accumulate({{"true_positives", tp},
                {"false_positives", fp},
                {"true_negatives", sum(negative) - fp},
                {"false_negatives", sum(positive) - tp}});
  }
  Counts counts() const { return {numbers(0), numbers(1), numbers(2), numbers(3)}; }

 private:
  std::vector<double> thresholds_;
};

using FromCounts = double (*)(const Counts& counts, std::size_t at);

class ConfusionMetric final : public ThresholdMetric {
 public:
  ConfusionMetric(const char* class_name, ConfusionOptions options, FromCounts result)
      : ThresholdMetric(class_name, options.name, settings_of(options), options.thresholds),
        options_(std::move(options)),
        result_(result) {
    if (options_.top_k && *options_.top_k < 1) {
      raise<ValueError>("{}: top_k must be positive: {}", class_name, *options_.top_k);
    }
    if (options_.class_id && *options_.class_id < 0) {
      raise<ValueError>("{}: class_id must not be negative: {}", class_name, *options_.class_id);
    }
  }
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights) override {
    Pair pair = paired(name(), y_true, y_pred);
    const Shape shape = shape_of(pair.y_pred, "y_pred");
    if (options_.top_k) {
      const std::int64_t k = std::min(*options_.top_k, shape[-1]);
      const Tensor last = min(top_k(pair.y_pred, k).values, {-1}, {.keep_dims = true});
      pair.y_pred = where(pair.y_pred >= last, pair.y_pred, kLowest);
    }
    if (options_.class_id) {
      if (*options_.class_id >= shape[-1]) {
        raise<ShapeError>("{}: there is no class {} in y_pred of shape {}", name(),
                          *options_.class_id, shape);
      }
      const auto pick = [&](const Tensor& x) {
        return gather(x, tensor(static_cast<std::int32_t>(*options_.class_id)), {.axis = -1});
      };
      pair = {pick(pair.y_true), pick(pair.y_pred)};
    }
    count(pair.y_true, pair.y_pred, weights);
  }
  std::vector<double> results() const override {
    const Counts all = counts();
    std::vector<double> each(all.tp.size());
    for (std::size_t i = 0; i < each.size(); ++i) each[i] = result_(all, i);
    return each;
  }
  std::shared_ptr<MetricBase> fresh() const override {
    return std::make_shared<ConfusionMetric>(class_name(), options_, result_);
  }

 private:
  ConfusionOptions options_;
  FromCounts result_;
};

Metric confusion_metric(const char* class_name, ConfusionOptions options, FromCounts result) {
  if (options.name.empty()) options.name = snake_case(class_name);
  if (options.thresholds.empty()) options.thresholds = {options.top_k ? kLowest : 0.5};
  return Metric(std::make_shared<ConfusionMetric>(class_name, std::move(options), result));
}

// Even, or the user's; one just below 0 and one just above 1, so that the curve is whole.
std::vector<double> curve_thresholds(const AUCOptions& o) {
  std::vector<double> inner = o.thresholds;
  std::ranges::sort(inner);
  if (o.thresholds.empty()) {
    if (o.num_thresholds < 2) {
      raise<ValueError>("AUC: num_thresholds must be above 1: {}", o.num_thresholds);
    }
    for (std::int64_t i = 1; i < o.num_thresholds - 1; ++i) {
      inner.push_back(static_cast<double>(i) / static_cast<double>(o.num_thresholds - 1));
    }
  }
  for (const double each : inner) {
    if (!(each >= 0 && each <= 1)) {
      raise<ValueError>("AUC: thresholds lie between 0 and 1: {}", each);
    }
  }
  std::vector<double> all{-kFuzz};
  all.insert(all.end(), inner.begin(), inner.end());
  all.push_back(1 + kFuzz);
  return all;
}

class AUCMetric final : public ThresholdMetric {
 public:
  explicit AUCMetric(AUCOptions options)
      : ThresholdMetric("AUC", options.name, settings_of(options), curve_thresholds(options)),
        options_(std::move(options)) {}
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights) override {
    const Pair pair = paired(name(), y_true, y_pred);
    count(pair.y_true, options_.from_logits ? sigmoid(pair.y_pred) : pair.y_pred, weights);
  }
  std::vector<double> results() const override {
    const Counts c = counts();
    if (options_.curve == Curve::pr && options_.summation_method == Summation::interpolation) {
      return {interpolated(c)};
    }
    double area = 0;
    const auto x = [&](std::size_t i) {
      return options_.curve == Curve::roc ? ratio(c.fp[i], c.fp[i] + c.tn[i])
                                          : ratio(c.tp[i], c.tp[i] + c.fn[i]);
    };
    const auto y = [&](std::size_t i) {
      return options_.curve == Curve::roc ? ratio(c.tp[i], c.tp[i] + c.fn[i])
                                          : ratio(c.tp[i], c.tp[i] + c.fp[i]);
    };
    for (std::size_t i = 0; i + 1 < c.tp.size(); ++i) {
      double height = (y(i) + y(i + 1)) / 2;
      if (options_.summation_method == Summation::minoring) height = std::min(y(i), y(i + 1));
      if (options_.summation_method == Summation::majoring) height = std::max(y(i), y(i + 1));
      area += (x(i) - x(i + 1)) * height;
    }
    return {area};
  }
  std::shared_ptr<MetricBase> fresh() const override {
    return std::make_shared<AUCMetric>(options_);
  }

 private:
  // Precision is not a line between two points of its curve; true positives over all positives are
  // (Davis and Goadrich, 2006).
  static double interpolated(const Counts& c) {
    double area = 0;
    for (std::size_t i = 0; i + 1 < c.tp.size(); ++i) {
      const double p = c.tp[i] + c.fp[i], next_p = c.tp[i + 1] + c.fp[i + 1];
      const double slope = ratio(c.tp[i] - c.tp[i + 1], std::max(p - next_p, 0.0));
      const double intercept = c.tp[i + 1] - slope * next_p;
      const double logarithm = p > 0 && next_p > 0 ? std::log(p / next_p) : 0;
      area += ratio(slope * (c.tp[i] - c.tp[i + 1] + intercept * logarithm),
                    std::max(c.tp[i + 1] + c.fn[i + 1], 0.0));
    }
    return area;
  }
  AUCOptions options_;
};

class FBetaMetric final : public ConfiguredMetric {
 public:
  FBetaMetric(const char* class_name, FBetaScoreOptions options)
      // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): the base has the settings
      : ConfiguredMetric(class_name, options.name, settings_for(class_name, options)),
        options_(std::move(options)) {
    const std::string& average = options_.average;
    if (!average.empty() && average != "macro" && average != "micro" && average != "weighted") {
      raise<ValueError>("{}: no such average: \"{}\" (there are: macro, micro, weighted)",
                        class_name, average);
    }
    if (!(options_.beta > 0)) {
      raise<ValueError>("{}: beta must be above 0: {}", class_name, options_.beta);
    }
  }
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights) override {
    constexpr double kNothing = 1e-9;  // a row without any score has no largest
    const Pair pair = paired(name(), y_true, y_pred);
    const Shape& shape = shape_of(pair.y_pred, "y_pred");
    if (shape.rank() != 2) {
      raise<ShapeError>("{}: takes labels and predictions of rank 2, was given {}", name(), shape);
    }
    Tensor positive = options_.threshold
                          ? pair.y_pred > *options_.threshold
                          : logical_and(pair.y_pred >= max(pair.y_pred, {-1}, {.keep_dims = true}),
                                        abs(pair.y_pred) > kNothing);
    const Tensor guess = cast(positive, pair.y_true.dtype());
    const auto add_up = [&](Tensor x) {
      if (weights.defined()) x = x * weights_for(name(), weights, x);
      return options_.average == "micro" ? sum(x, {0, 1}) : sum(x, {0});
    };
    accumulate({{"true_positives", add_up(guess * pair.y_true)},
                {"false_positives", add_up(guess * (1.0 - pair.y_true))},
                {"false_negatives", add_up((1.0 - guess) * pair.y_true)},
                {"intermediate_weights", add_up(pair.y_true)}});
  }
  std::vector<double> results() const override {
    const auto tp = numbers(0), fp = numbers(1), fn = numbers(2), support = numbers(3);
    const double square = options_.beta * options_.beta;
    std::vector<double> scores;
    double all = 0, weighted = 0, total = 0;
    for (std::size_t i = 0; i < tp.size(); ++i) {
      const double score =
          ratio((1 + square) * tp[i], (1 + square) * tp[i] + square * fn[i] + fp[i]);
      scores.push_back(score);
      all += score;
      weighted += score * support[i];
      total += support[i];
    }
    if (options_.average == "macro") return {ratio(all, static_cast<double>(scores.size()))};
    if (options_.average == "weighted") return {ratio(weighted, total)};
    return scores;
  }
  std::shared_ptr<MetricBase> fresh() const override {
    return std::make_shared<FBetaMetric>(class_name(), options_);
  }

 private:
  static Settings settings_for(std::string_view class_name, const FBetaScoreOptions& o) {
    return class_name == "F1Score" ? settings_of(F1Options{o}) : settings_of(o);
  }
  FBetaScoreOptions options_;
};

class MeanIoUMetric final : public ConfiguredMetric {
 public:
  explicit MeanIoUMetric(MeanIoUOptions options)
      : ConfiguredMetric("MeanIoU", options.name, settings_of(options)),
        options_(std::move(options)) {
    if (options_.num_classes < 1) {
      raise<ValueError>("MeanIoU: num_classes must be positive: {}", options_.num_classes);
    }
  }
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights) override {
    const Tensor truth = options_.sparse_y_true ? y_true : arg_max(y_true, -1);
    const Tensor guess = options_.sparse_y_pred ? y_pred : arg_max(y_pred, -1);
    const Pair pair = paired(name(), truth, guess);
    Tensor each = cast(full_like(pair.y_pred, 1.0), DType::float64);
    if (weights.defined()) each = each * weights_for(name(), weights, each);
    Tensor labels = cast(pair.y_true, DType::int32);
    if (options_.ignore_class) {
      const Tensor counts = not_equal(labels, *options_.ignore_class);
      each = each * cast(counts, DType::float64);
      labels = labels * cast(counts, DType::int32);
    }
    // Looked up, so that a number that is no class is an error.
    const Tensor classes = arange(options_.num_classes);
    const auto checked = [&](const Tensor& x) {
      return gather(classes, reshape(cast(x, DType::int32), {-1}));
    };
    const Tensor at = checked(labels) * options_.num_classes + checked(pair.y_pred);
    accumulate({{"total_confusion_matrix",
                 bincount(at, reshape(each, {-1}), options_.num_classes * options_.num_classes)}});
  }
  std::vector<double> results() const override {
    const std::vector<double> matrix = numbers(0);
    const auto n = static_cast<std::size_t>(options_.num_classes);
    double total = 0, classes = 0;
    for (std::size_t c = 0; c < n; ++c) {
      double row = 0, column = 0;
      for (std::size_t i = 0; i < n; ++i) {
        row += matrix[c * n + i];
        column += matrix[i * n + c];
      }
      const double both = matrix[c * n + c], either = row + column - both;
      if (either <= 0) continue;
      total += both / either;
      classes += 1;
    }
    return {ratio(total, classes)};
  }
  std::shared_ptr<MetricBase> fresh() const override {
    return std::make_shared<MeanIoUMetric>(options_);
  }

 private:
  MeanIoUOptions options_;
};

constexpr Row<Metric> kConfusionMetrics[] = {
    {"true_positives", made_by<TruePositives>},
    {"true_negatives", made_by<TrueNegatives>},
    {"false_positives", made_by<FalsePositives>},
    {"false_negatives", made_by<FalseNegatives>},
    {"precision", made_by<Precision>},
    {"recall", made_by<Recall>},
    {"auc", made_by<AUC>},
    {"f1_score", made_by<F1Score>},
    {"fbeta_score", made_by<FBetaScore>},
    {"mean_io_u", made_by<MeanIoU>},
};

}  // namespace

std::optional<Metric> find_confusion_metric(const std::string& name, Fields& settings) {
  return find_named(kConfusionMetrics, name, settings);
}
std::string confusion_metric_names() { return names_of(kConfusionMetrics); }

}  // namespace detail

using detail::confusion_metric;
using detail::Counts;
using detail::ratio;

Metric TruePositives(ConfusionOptions o) {
  return confusion_metric("TruePositives", std::move(o),
                          [](const Counts& c, std::size_t i) { return c.tp[i]; });
}
Metric TrueNegatives(ConfusionOptions o) {
  return confusion_metric("TrueNegatives", std::move(o),
                          [](const Counts& c, std::size_t i) { return c.tn[i]; });
}
Metric FalsePositives(ConfusionOptions o) {
  return confusion_metric("FalsePositives", std::move(o),
                          [](const Counts& c, std::size_t i) { return c.fp[i]; });
}
Metric FalseNegatives(ConfusionOptions o) {
  return confusion_metric("FalseNegatives", std::move(o),
                          [](const Counts& c, std::size_t i) { return c.fn[i]; });
}
Metric Precision(ConfusionOptions o) {
  return confusion_metric("Precision", std::move(o), [](const Counts& c, std::size_t i) {
    return ratio(c.tp[i], c.tp[i] + c.fp[i]);
  });
}
Metric Recall(ConfusionOptions o) {
  return confusion_metric("Recall", std::move(o), [](const Counts& c, std::size_t i) {
    return ratio(c.tp[i], c.tp[i] + c.fn[i]);
  });
}
Metric AUC(AUCOptions o) {
  if (o.name.empty()) o.name = "auc";
  return Metric(std::make_shared<detail::AUCMetric>(std::move(o)));
}
Metric F1Score(FBetaScoreOptions o) {
  if (o.name.empty()) o.name = "f1_score";
  o.beta = 1;
  return Metric(std::make_shared<detail::FBetaMetric>("F1Score", std::move(o)));
}
Metric FBetaScore(FBetaScoreOptions o) {
  if (o.name.empty()) o.name = "fbeta_score";
  return Metric(std::make_shared<detail::FBetaMetric>("FBetaScore", std::move(o)));
}
Metric MeanIoU(MeanIoUOptions o) {
  if (o.name.empty()) o.name = "mean_io_u";
  return Metric(std::make_shared<detail::MeanIoUMetric>(std::move(o)));
}

}  // namespace tenure::nn
