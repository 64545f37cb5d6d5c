// How much of the labels' variance predictions explain.
#include "core/raise.h"
#include "memory/context.h"
#include "nn/bounds.h"
#include "nn/loss_functions.h"
#include "nn/metric.h"
#include "nn/parts.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure::nn {

namespace detail {

void fields(Fields& visit, R2ScoreOptions& o) {
  field_or_null(visit, "class_aggregation", o.class_aggregation);
  TENURE_FIELDS(visit, o, num_regressors);
}

namespace {

// The variance is the difference of two sums in float64. They are of labels less the mean of the
// first batch, or labels far from 0 would leave nothing of it.
class R2Metric final : public ConfiguredMetric {
 public:
  explicit R2Metric(R2ScoreOptions options)
      : ConfiguredMetric("R2Score", options.name, settings_of(options), Direction::higher),
        options_(std::move(options)) {
    const std::string& aggregation = options_.class_aggregation;
    if (!aggregation.empty() && aggregation != "uniform_average" &&
        aggregation != "variance_weighted_average") {
      raise<ValueError>(
          "R2Score: no such class_aggregation: \"{}\" (there are: uniform_average, "
          "variance_weighted_average, and none: \"\")",
          aggregation);
    }
    check_at_least<std::int64_t>("R2Score", "num_regressors", options_.num_regressors, 0);
  }
  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights) override {
    Pair pair = paired(name(), y_true, y_pred);
    const Shape& shape = shape_of(pair.y_pred, "y_pred");
    if (shape.rank() == 1) pair = {expand_dims(pair.y_true, -1), expand_dims(pair.y_pred, -1)};
    if (shape.rank() > 2) {
      raise<ShapeError>("{}: takes labels and predictions of shape [batch, outputs], was given {}",
                        name(), shape);
    }
    const Tensor truth = cast(pair.y_true, DType::float64);
    const Tensor error = truth - cast(pair.y_pred, DType::float64);
    const Tensor ones = ones_like(truth);
    const Tensor each = weights.defined() ? ones * weights_for(name(), weights, truth) : ones;
    if (truth.dim(0) == 0) return;
    const Tensor middle = mean(truth, {0}), none = zeros_like(middle);
    std::vector<Part> parts{{"origin", none},   {"squared_sum", none}, {"sum", none},
                            {"residual", none}, {"count", none},       {"num_samples", sum(ones)}};
    const std::vector<Tensor> before = held(parts);
    const Tensor moved = where(equal(before[kCount], 0.0), middle - before[kOrigin], none);
    const Tensor offset = truth - (before[kOrigin] + moved);
    parts[kOrigin].value = moved;
    parts[kSquares].value = sum(offset * offset * each, {0});
    parts[kSum].value = sum(offset * each, {0});
    parts[kResidual].value = sum(error * error * each, {0});
    parts[kCount].value = sum(each, {0});
    accumulate(std::move(parts));
  }
  std::vector<double> results() const override {
    const auto squares = numbers(kSquares), sums = numbers(kSum), residuals = numbers(kResidual),
               counts = numbers(kCount);
    std::vector<double> scores;
    double all = 0, weighted = 0, total = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double spread = squares[i] - sums[i] * ratio(sums[i], counts[i]);
      // Of labels that are all the same nothing can be explained.
      const double score = spread > 0 ? 1 - residuals[i] / spread : 0;
      scores.push_back(score);
      all += score;
      weighted += score * spread;
      total += spread;
    }
    if (options_.class_aggregation == "uniform_average") {
      scores = {ratio(all, static_cast<double>(scores.size()))};
    } else if (options_.class_aggregation == "variance_weighted_average") {
      scores = {ratio(weighted, total)};
    }
    if (options_.num_regressors > 0) adjust(scores);
    return scores;
  }
  std::shared_ptr<MetricBase> fresh() const override {
    return std::make_shared<R2Metric>(options_);
  }

 private:
  enum Place : std::size_t { kOrigin, kSquares, kSum, kResidual, kCount, kSamples };
  // For what so many regressors explain by chance.
  void adjust(std::vector<double>& scores) const {
    const double n = numbers(kSamples)[0], p = static_cast<double>(options_.num_regressors);
    if (p >= n - 1) return;
    for (double& score : scores) score = 1 - (1 - score) * (n - 1) / (n - p - 1);
  }
  R2ScoreOptions options_;
};

constexpr Row<Metric> kRegressionMetrics[] = {
    {"r2_score", made_by<R2Score>, " r2 "},
};

}  // namespace

std::optional<Metric> find_regression_metric(const std::string& name, Fields& settings) {
  return find_named(kRegressionMetrics, name, settings);
}
std::string regression_metric_names() { return names_of(kRegressionMetrics); }

}  // namespace detail

Metric R2Score(R2ScoreOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  if (o.name.empty()) o.name = "r2_score";
  return Metric(std::make_shared<detail::R2Metric>(std::move(o)));
}

}  // namespace tenure::nn
