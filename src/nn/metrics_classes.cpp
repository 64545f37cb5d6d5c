// Metrics of classes, each counted apart: F scores, and how much of what two call a class is
// common.
#include <algorithm>

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

namespace {

void classes_field(Fields& visit, std::vector<std::int64_t>& classes) {
  Shape list;
  for (const std::int64_t each : classes) list.push_back(each);
  visit("target_class_ids", Numbers{list, true});
  classes.assign(list.begin(), list.end());
}

}  // namespace

void fields(Fields& visit, F1ScoreOptions& o) {
  field_or_null(visit, "average", o.average);
  TENURE_FIELDS(visit, o, threshold);
}
void fields(Fields& visit, FBetaScoreOptions& o) {
  field_or_null(visit, "average", o.average);
  TENURE_FIELDS(visit, o, threshold, beta);
}
void fields(Fields& visit, IoUOptions& o) {
  visit("num_classes", o.num_classes);
  classes_field(visit, o.target_class_ids);
  TENURE_FIELDS(visit, o, ignore_class, sparse_y_true, sparse_y_pred, axis);
}
void fields(Fields& visit, MeanIoUOptions& o) {
  TENURE_FIELDS(visit, o, num_classes, ignore_class, sparse_y_true, sparse_y_pred, axis);
}
void fields(Fields& visit, BinaryIoUOptions& o) {
  classes_field(visit, o.target_class_ids);
  TENURE_FIELDS(visit, o, threshold);
}
void fields(Fields& visit, OneHotIoUOptions& o) {
  visit("num_classes", o.num_classes);
  classes_field(visit, o.target_class_ids);
  TENURE_FIELDS(visit, o, ignore_class, sparse_y_pred, axis);
}
void fields(Fields& visit, OneHotMeanIoUOptions& o) {
  TENURE_FIELDS(visit, o, num_classes, ignore_class, sparse_y_pred, axis);
}

namespace {

class FBetaMetric final : public ConfiguredMetric {
 public:
  FBetaMetric(const char* class_name, FBetaScoreOptions options)
      // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks): the base has the settings
      : ConfiguredMetric(class_name, options.name, settings_for(class_name, options),
                         Direction::higher),
        options_(std::move(options)) {
    const std::string& average = options_.average;
    if (!average.empty() && average != "macro" && average != "micro" && average != "weighted") {
      raise<ValueError>("{}: no such average: \"{}\" (there are: macro, micro, weighted)",
                        class_name, average);
    }
    check_above(class_name, "beta", options_.beta, 0);
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
    if (class_name != "F1Score") return settings_of(o);
    return settings_of(F1ScoreOptions{o.average, o.threshold, o.name});
  }
  FBetaScoreOptions options_;
};

// The intersection over union of two partitions into classes: of all of them, or of these.
class IoUMetric final : public ConfiguredMetric {
 public:
  IoUMetric(const char* class_name, const Settings& settings, IoUOptions options,
            std::optional<double> threshold = {})
      : ConfiguredMetric(class_name, options.name, settings, Direction::higher),
        settings_(settings),
        options_(std::move(options)),
        threshold_(threshold) {
    check_at_least<std::int64_t>(class_name, "num_classes", options_.num_classes, 1);
    for (const std::int64_t each : options_.target_class_ids) {
      if (each < 0 || each >= options_.num_classes) {
        raise<ValueError>("{}: target_class_ids: there is no class {} among {}", class_name, each,
                          options_.num_classes);
      }
    }
  }
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights) override {
    const Tensor truth = options_.sparse_y_true ? y_true : arg_max(y_true, options_.axis);
    Tensor guess = options_.sparse_y_pred ? y_pred : arg_max(y_pred, options_.axis);
    if (threshold_) guess = cast(guess >= *threshold_, DType::int32);
    const Pair pair = paired(name(), truth, guess);
    Tensor each = cast(full_like(pair.y_pred, 1.0), DType::float64);
    if (weights.defined()) each = each * weights_for(name(), weights, each);
    Tensor labels = cast(pair.y_true, DType::int32), found = cast(pair.y_pred, DType::int32);
    if (options_.ignore_class) {
      const Tensor counts = not_equal(labels, *options_.ignore_class);
      each = each * cast(counts, DType::float64);
      labels = labels * cast(counts, DType::int32);
      found = found * cast(counts, DType::int32);
    }
    // Looked up, so that a number that is no class is an error.
    const Tensor classes = arange(options_.num_classes);
    const auto checked = [&](const Tensor& x) { return gather(classes, reshape(x, {-1})); };
    const Tensor at = checked(labels) * options_.num_classes + checked(found);
    accumulate({{"total_confusion_matrix",
                 bincount(at, reshape(each, {-1}), options_.num_classes * options_.num_classes)}});
  }
  std::vector<double> results() const override {
    const std::vector<double> matrix = numbers(0);
    const auto n = static_cast<std::size_t>(options_.num_classes);
    double total = 0, classes = 0;
    for (std::size_t c = 0; c < n; ++c) {
      if (!counts(static_cast<std::int64_t>(c))) continue;
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
    return std::make_shared<IoUMetric>(class_name(), settings_, options_, threshold_);
  }

 private:
  bool counts(std::int64_t class_id) const {
    const std::vector<std::int64_t>& wanted = options_.target_class_ids;
    return wanted.empty() || std::ranges::find(wanted, class_id) != wanted.end();
  }
  Settings settings_;
  IoUOptions options_;
  std::optional<double> threshold_;
};

// `options` are those that it is asked for and written with.
template <class O>
Metric iou_metric(const char* class_name, O options, IoUOptions all,
                  std::optional<double> threshold = {}) {
  if constexpr (requires { options.target_class_ids; }) {
    all.target_class_ids = options.target_class_ids;
    if (all.target_class_ids.empty()) {
      raise<ValueError>("{}: target_class_ids is empty: say which classes count", class_name);
    }
  }
  if constexpr (requires { options.num_classes; }) {
    all.num_classes = options.num_classes;
    all.ignore_class = options.ignore_class;
    all.sparse_y_pred = options.sparse_y_pred;
    all.axis = options.axis;
  }
  all.name = options.name.empty() ? snake_case(class_name) : options.name;
  return Metric(std::make_shared<IoUMetric>(class_name, settings_of(std::move(options)),
                                            std::move(all), threshold));
}

constexpr Row<Metric> kClassMetrics[] = {
    {"f1_score", made_by<F1Score>},
    {"fbeta_score", made_by<FBetaScore>},
    {"io_u", made_by<IoU>},
    {"mean_io_u", made_by<MeanIoU>},
    {"binary_io_u", made_by<BinaryIoU>},
    {"one_hot_io_u", made_by<OneHotIoU>},
    {"one_hot_mean_io_u", made_by<OneHotMeanIoU>},
};

}  // namespace

std::optional<Metric> find_class_metric(const std::string& name, Fields& settings) {
  return find_named(kClassMetrics, name, settings);
}
std::string class_metric_names() { return names_of(kClassMetrics); }

}  // namespace detail

using detail::iou_metric;

Metric F1Score(F1ScoreOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  return Metric(std::make_shared<detail::FBetaMetric>(
      "F1Score", FBetaScoreOptions{.average = std::move(o.average),
                                   .threshold = o.threshold,
                                   .name = o.name.empty() ? "f1_score" : std::move(o.name)}));
}
Metric FBetaScore(FBetaScoreOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  if (o.name.empty()) o.name = "fbeta_score";
  return Metric(std::make_shared<detail::FBetaMetric>("FBetaScore", std::move(o)));
}
Metric IoU(IoUOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  const bool sparse = o.sparse_y_true;
  return iou_metric("IoU", std::move(o), {.sparse_y_true = sparse});
}
Metric MeanIoU(MeanIoUOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  const bool sparse = o.sparse_y_true;
  return iou_metric("MeanIoU", std::move(o), {.sparse_y_true = sparse});
}
Metric BinaryIoU(BinaryIoUOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  const double threshold = o.threshold;
  return iou_metric("BinaryIoU", std::move(o), {.num_classes = 2}, threshold);
}
Metric OneHotIoU(OneHotIoUOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  return iou_metric("OneHotIoU", std::move(o), {.sparse_y_true = false});
}
Metric OneHotMeanIoU(OneHotMeanIoUOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  return iou_metric("OneHotMeanIoU", std::move(o), {.sparse_y_true = false});
}

}  // namespace tenure::nn
