// Metrics of what lies above a threshold and what does not.
#include <algorithm>
#include <cmath>

#include "core/raise.h"
#include "memory/context.h"
#include "nn/bounds.h"
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

void fields(Fields& visit, ConfusionOptions& o) {
  field_or_null<std::vector<double>>(visit, "thresholds", o.thresholds);
  TENURE_FIELDS(visit, o, top_k, class_id);
}
void fields(Fields& visit, AUCOptions& o) {
  TENURE_FIELDS(visit, o, num_thresholds, curve, summation_method, multi_label, num_labels);
  field_or_null(visit, "label_weights", o.label_weights);
  field_or_null(visit, "thresholds", o.thresholds);
  TENURE_FIELDS(visit, o, from_logits);
  // Keras writes the ones that it added as well.
  if (visit.reads()) std::erase_if(o.thresholds, [](double each) { return each < 0 || each > 1; });
}
void fields(Fields& visit, SensitivityAtSpecificityOptions& o) {
  TENURE_FIELDS(visit, o, specificity, num_thresholds, class_id);
}
void fields(Fields& visit, SpecificityAtSensitivityOptions& o) {
  TENURE_FIELDS(visit, o, sensitivity, num_thresholds, class_id);
}
void fields(Fields& visit, PrecisionAtRecallOptions& o) {
  TENURE_FIELDS(visit, o, recall, num_thresholds, class_id);
}
void fields(Fields& visit, RecallAtPrecisionOptions& o) {
  TENURE_FIELDS(visit, o, precision, num_thresholds, class_id);
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
                  std::vector<double> thresholds, Direction direction)
      : ConfiguredMetric(class_name, std::move(name), std::move(settings), direction),
        thresholds_(std::move(thresholds)) {
    for (std::size_t i = 1; i < thresholds_.size(); ++i) {
      if (!(thresholds_[i - 1] < thresholds_[i])) {
        raise<ValueError>("{}: thresholds must rise: {}, then {}", class_name, thresholds_[i - 1],
                          thresholds_[i]);
      }
    }
  }

 protected:
  // All values as they come; or, with `labels`, those of the last axis apart.
  void count(const Pair& pair, const Tensor& sample_weight, std::int64_t labels = 0) {
    Tensor weights = full_like(pair.y_pred, 1.0);
    if (sample_weight.defined()) {
      weights = weights * weights_for(name(), sample_weight, pair.y_pred);
    }
    const auto flat = [](const Tensor& x) { return reshape(x, {-1}); };
    const Tensor each = cast(flat(weights), DType::float64);
    const Tensor truth = cast(not_equal(flat(pair.y_true), 0.0), DType::float64);
    const Tensor positive = each * truth, negative = each * (1.0 - truth);
    const std::vector<float> rising(thresholds_.begin(), thresholds_.end());
    Tensor above =
        lower_bound(tensor(rising), cast(flat(pair.y_pred), DType::float32));  // thresholds below
    const auto size = static_cast<std::int64_t>(thresholds_.size());
    const std::int64_t rows = std::max<std::int64_t>(labels, 1);
    if (labels > 0) {
      const Tensor first = arange(0, labels * (size + 1), size + 1, DType::int32);
      above = flat(reshape(above, {-1, labels}) + first);
    }
    const auto beyond = [&](const Tensor& amounts) {
      const Tensor between = bincount(above, amounts, rows * (size + 1));
      return slice(
          cumsum(reshape(between, {rows, size + 1}), 1, {.exclusive = true, .reverse = true}),
          {0, 0}, {rows, size});
    };
    const Tensor tp = beyond(positive), fp = beyond(negative);
    const auto total = [&](const Tensor& amounts) {
      return expand_dims(sum(reshape(amounts, {-1, rows}), {0}), -1);
    };
    accumulate({{"true_positives", tp},
                {"false_positives", fp},
                {"true_negatives", total(negative) - fp},
                {"false_negatives", total(positive) - tp}});
  }
  // Of all, one label after the other.
  std::vector<Counts> counts() const {
    const auto tp = numbers(0), fp = numbers(1), tn = numbers(2), fn = numbers(3);
    std::vector<Counts> each;
    const auto size = static_cast<std::ptrdiff_t>(thresholds_.size());
    for (std::ptrdiff_t at = 0; at < std::ssize(tp); at += size) {
      const auto part = [&](const std::vector<double>& x) {
        return std::vector<double>(x.begin() + at, x.begin() + at + size);
      };
      each.push_back({part(tp), part(fp), part(tn), part(fn)});
    }
    return each;
  }

 private:
  std::vector<double> thresholds_;
};

double precision(const Counts& c, std::size_t i) { return ratio(c.tp[i], c.tp[i] + c.fp[i]); }
double recall(const Counts& c, std::size_t i) { return ratio(c.tp[i], c.tp[i] + c.fn[i]); }
double specificity(const Counts& c, std::size_t i) { return ratio(c.tn[i], c.tn[i] + c.fp[i]); }

void check_class(const char* metric, std::optional<std::int64_t> class_id) {
  if (class_id && *class_id < 0) {
    raise<ValueError>("{}: class_id must not be negative: {}", metric, *class_id);
  }
}

// What belongs to one class of the last axis, if only one counts.
Pair of_class(const std::string& metric, Pair pair, std::optional<std::int64_t> class_id) {
  if (!class_id) return pair;
  const Shape shape = shape_of(pair.y_pred, "y_pred");
  if (*class_id >= shape[-1]) {
    raise<ShapeError>("{}: there is no class {} in y_pred of shape {}", metric, *class_id, shape);
  }
  const auto pick = [&](const Tensor& x) {
    return gather(x, tensor(static_cast<std::int32_t>(*class_id)), {.axis = -1});
  };
  return {pick(pair.y_true), pick(pair.y_pred)};
}

using FromCounts = double (*)(const Counts& counts, std::size_t at);

class ConfusionMetric final : public ThresholdMetric {
 public:
  ConfusionMetric(const char* class_name, ConfusionOptions options, FromCounts result,
                  Direction direction)
      : ThresholdMetric(class_name, options.name, settings_of(options), options.thresholds,
                        direction),
        options_(std::move(options)),
        result_(result) {
    if (options_.top_k && *options_.top_k < 1) {
      raise<ValueError>("{}: top_k must be positive: {}", class_name, *options_.top_k);
    }
    check_class(class_name, options_.class_id);
  }
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights) override {
    Pair pair = paired(name(), y_true, y_pred);
    if (options_.top_k) {
      const std::int64_t k = std::min(*options_.top_k, shape_of(pair.y_pred, "y_pred")[-1]);
      const Tensor last = min(top_k(pair.y_pred, k).values, {-1}, {.keep_dims = true});
      pair.y_pred = where(pair.y_pred >= last, pair.y_pred, kLowest);
    }
    count(of_class(name(), std::move(pair), options_.class_id), weights);
  }
  std::vector<double> results() const override {
    const Counts all = counts().front();
    std::vector<double> each(all.tp.size());
    for (std::size_t i = 0; i < each.size(); ++i) each[i] = result_(all, i);
    return each;
  }
  std::shared_ptr<MetricBase> fresh() const override {
    return std::make_shared<ConfusionMetric>(class_name(), options_, result_, direction());
  }

 private:
  ConfusionOptions options_;
  FromCounts result_;
};

Metric confusion_metric(const char* class_name, ConfusionOptions options, FromCounts result,
                        Direction direction = Direction::higher) {
  if (options.name.empty()) options.name = snake_case(class_name);
  if (options.thresholds.empty()) options.thresholds = {options.top_k ? kLowest : 0.5};
  return Metric(
      std::make_shared<ConfusionMetric>(class_name, std::move(options), result, direction));
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
      : ThresholdMetric("AUC", options.name, settings_of(options), curve_thresholds(options),
                        Direction::higher),
        options_(std::move(options)) {
    for (const double weight : options_.label_weights) {
      check_at_least("AUC", "a label weight", weight, 0.0);
    }
  }
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights) override {
    Pair pair = paired(name(), y_true, y_pred);
    if (options_.from_logits) pair.y_pred = sigmoid(pair.y_pred);
    const Shape shape = shape_of(pair.y_pred, "y_pred");
    check_labels(shape);
    if (options_.multi_label) {
      count(pair, weights, shape[-1]);
      return;
    }
    Tensor each = weights;
    if (!options_.label_weights.empty()) {
      each =
          full_like(pair.y_pred, 1.0) * cast(tensor(options_.label_weights), pair.y_pred.dtype());
      if (weights.defined()) each = each * weights_for(name(), weights, pair.y_pred);
    }
    count(pair, each);
  }
  std::vector<double> results() const override {
    double total = 0, weight = 0;
    const std::vector<Counts> labels = counts();
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const bool weighted = options_.multi_label && !options_.label_weights.empty();
      const double share = weighted ? options_.label_weights.at(i) : 1;
      total += share * area(labels[i]);
      weight += share;
    }
    return {ratio(total, weight)};
  }
  std::shared_ptr<MetricBase> fresh() const override {
    return std::make_shared<AUCMetric>(options_);
  }

 private:
  void check_labels(const Shape& shape) const {
    if (options_.multi_label && shape.rank() != 2) {
      raise<ShapeError>("{}: with multi_label, takes predictions [batch, labels], was given {}",
                        name(), shape);
    }
    if (options_.multi_label && options_.num_labels && *options_.num_labels != shape[-1]) {
      raise<ShapeError>("{}: num_labels is {}, but y_pred has shape {}", name(),
                        *options_.num_labels, shape);
    }
    const std::vector<double>& weights = options_.label_weights;
    if (!weights.empty() && std::ssize(weights) != shape[-1]) {
      raise<ShapeError>("{}: there are {} label_weights, but y_pred has shape {}", name(),
                        weights.size(), shape);
    }
  }
  double area(const Counts& c) const {
    if (options_.curve == Curve::pr && options_.summation_method == Summation::interpolation) {
      return interpolated(c);
    }
    const bool roc = options_.curve == Curve::roc;
    const auto x = [&](std::size_t i) {
      return roc ? ratio(c.fp[i], c.fp[i] + c.tn[i]) : recall(c, i);
    };
    const auto y = [&](std::size_t i) { return roc ? recall(c, i) : precision(c, i); };
    double sum = 0;
    for (std::size_t i = 0; i + 1 < c.tp.size(); ++i) {
      double height = (y(i) + y(i + 1)) / 2;
      if (options_.summation_method == Summation::minoring) height = std::min(y(i), y(i + 1));
      if (options_.summation_method == Summation::majoring) height = std::max(y(i), y(i + 1));
      sum += (x(i) - x(i + 1)) * height;
    }
    return sum;
  }
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

// The best of one measure among the thresholds at which another is good enough.
struct Bound {
  const char* what;
  double least;
  FromCounts bounded, result;
};

std::vector<double> even_thresholds(const char* metric, std::int64_t count) {
  check_at_least<std::int64_t>(metric, "num_thresholds", count, 1);
  if (count == 1) return {0.5};
  std::vector<double> all;
  for (std::int64_t i = 0; i < count; ++i) {
    all.push_back(static_cast<double>(i) / static_cast<double>(count - 1));
  }
  return all;
}

template <class O>
class BoundedMetric final : public ThresholdMetric {
 public:
  BoundedMetric(const char* class_name, O options, Bound bound)
      : ThresholdMetric(class_name, options.name, settings_of(options),
                        even_thresholds(class_name, options.num_thresholds), Direction::higher),
        options_(std::move(options)),
        bound_(bound) {
    check_between(class_name, bound_.what, bound_.least, 0, 1);
    check_class(class_name, options_.class_id);
  }
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights) override {
    count(of_class(name(), paired(name(), y_true, y_pred), options_.class_id), weights);
  }
  std::vector<double> results() const override {
    const Counts all = counts().front();
    double best = 0;
    for (std::size_t i = 0; i < all.tp.size(); ++i) {
      if (bound_.bounded(all, i) >= bound_.least) best = std::max(best, bound_.result(all, i));
    }
    return {best};
  }
  std::shared_ptr<MetricBase> fresh() const override {
    return std::make_shared<BoundedMetric>(class_name(), options_, bound_);
  }

 private:
  O options_;
  Bound bound_;
};

template <class O>
Metric bounded_metric(const char* class_name, O options, Bound bound) {
  if (options.name.empty()) options.name = snake_case(class_name);
  return Metric(std::make_shared<BoundedMetric<O>>(class_name, std::move(options), bound));
}

constexpr Row<Metric> kConfusionMetrics[] = {
    {"true_positives", made_by<TruePositives>},
    {"true_negatives", made_by<TrueNegatives>},
    {"false_positives", made_by<FalsePositives>},
    {"false_negatives", made_by<FalseNegatives>},
    {"precision", made_by<Precision>},
    {"recall", made_by<Recall>},
    {"auc", made_by<AUC>},
    {"sensitivity_at_specificity", made_by<SensitivityAtSpecificity>},
    {"specificity_at_sensitivity", made_by<SpecificityAtSensitivity>},
    {"precision_at_recall", made_by<PrecisionAtRecall>},
    {"recall_at_precision", made_by<RecallAtPrecision>},
};

}  // namespace

std::optional<Metric> find_confusion_metric(const std::string& name, Fields& settings) {
  return find_named(kConfusionMetrics, name, settings);
}
std::string confusion_metric_names() { return names_of(kConfusionMetrics); }

}  // namespace detail

using detail::confusion_metric;
using detail::Counts;

Metric TruePositives(ConfusionOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  return confusion_metric("TruePositives", std::move(o),
                          [](const Counts& c, std::size_t i) { return c.tp[i]; });
}
Metric TrueNegatives(ConfusionOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  return confusion_metric("TrueNegatives", std::move(o),
                          [](const Counts& c, std::size_t i) { return c.tn[i]; });
}
Metric FalsePositives(ConfusionOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  return confusion_metric(
      "FalsePositives", std::move(o), [](const Counts& c, std::size_t i) { return c.fp[i]; },
      Direction::lower);
}
Metric FalseNegatives(ConfusionOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  return confusion_metric(
      "FalseNegatives", std::move(o), [](const Counts& c, std::size_t i) { return c.fn[i]; },
      Direction::lower);
}
Metric Precision(ConfusionOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  return confusion_metric("Precision", std::move(o), detail::precision);
}
Metric Recall(ConfusionOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  return confusion_metric("Recall", std::move(o), detail::recall);
}
Metric AUC(AUCOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  if (o.name.empty()) o.name = "auc";
  return Metric(std::make_shared<detail::AUCMetric>(std::move(o)));
}
Metric SensitivityAtSpecificity(SensitivityAtSpecificityOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  const double least = o.specificity;
  return detail::bounded_metric("SensitivityAtSpecificity", std::move(o),
                                {"specificity", least, detail::specificity, detail::recall});
}
Metric SpecificityAtSensitivity(SpecificityAtSensitivityOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  const double least = o.sensitivity;
  return detail::bounded_metric("SpecificityAtSensitivity", std::move(o),
                                {"sensitivity", least, detail::recall, detail::specificity});
}
Metric PrecisionAtRecall(PrecisionAtRecallOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  const double least = o.recall;
  return detail::bounded_metric("PrecisionAtRecall", std::move(o),
                                {"recall", least, detail::recall, detail::precision});
}
Metric RecallAtPrecision(RecallAtPrecisionOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  const double least = o.precision;
  return detail::bounded_metric("RecallAtPrecision", std::move(o),
                                {"precision", least, detail::precision, detail::recall});
}

}  // namespace tenure::nn
