// Metrics that are means (or sums) of values per example.
#include <cmath>

#include "core/raise.h"
#include "memory/context.h"
#include "nn/loss_functions.h"
#include "nn/loss_spec.h"
#include "nn/metric.h"
#include "nn/parts.h"
#include "tenure/create.h"
#include "tenure/indexing.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure::nn {

namespace detail {

void fields(Fields&, MetricOptions&) {}
void fields(Fields& visit, BinaryAccuracyOptions& o) { TENURE_FIELDS(visit, o, threshold); }
void fields(Fields& visit, TopKOfClassesOptions& o) { TENURE_FIELDS(visit, o, k); }
void fields(Fields& visit, CorrelationOptions& o) { TENURE_FIELDS(visit, o, axis); }

namespace {

// Values per example, and which of them count: all where it is empty.
struct Measured {
  Measured(Tensor each, Tensor which = {}) : values(std::move(each)), counts(std::move(which)) {}
  Tensor values, counts;
};
using PerExample = std::function<Measured(const std::string& name, const Tensor&, const Tensor&)>;

enum class Kind { mean, sum, root_mean };

// Total and weight of what a function gives.
class MeanMetric : public ConfiguredMetric {
 public:
  MeanMetric(const std::string& class_name, const std::string& name, const Settings& settings,
             const PerExample& fn, Direction direction, Kind kind = Kind::mean)
      : ConfiguredMetric(class_name, name, settings, direction),
        remake_([=] {
          return std::make_shared<MeanMetric>(class_name, name, settings, fn, direction, kind);
        }),
        fn_(fn),
        kind_(kind) {}

  void update(const Tensor& y_true, const Tensor& y_pred, const Tensor& weights) override {
    if (!fn_) {
      raise<UnsupportedError>(
          "metric \"{}\": measures values, not labels and predictions: call add", name());
    }
    if (shape_of(y_pred, "y_pred").numel() == 0) return;  // a mean over no examples is no number
    const Measured measured = fn_(name(), y_true, y_pred);
    add_values(measured.values, measured.counts, weights);
  }
  void add(const Tensor& values, const Tensor& weights) override {
    if (fn_) MetricBase::add(values, weights);
    add_values(is_floating(values.dtype()) ? values : cast(values, DType::float64), {}, weights);
  }
  std::vector<double> results() const override {
    const double total = numbers(0)[0];
    if (kind_ == Kind::sum) return {total};
    const double mean = ratio(total, numbers(1)[0]);
    return {kind_ == Kind::mean ? mean : std::sqrt(mean)};
  }
  std::shared_ptr<MetricBase> fresh() const override { return remake_(); }
  bool takes_mask() const override { return fn_ != nullptr; }

 private:
  void add_values(Tensor values, Tensor count, const Tensor& weights) {
    if (!count.defined()) count = ones_like(values);
    if (weights.defined()) {
      const Tensor each = weights_for(name(), weights, values);
      count = count * each;
      // Not multiplied: what counts for nothing may be infinite.
      values = where(not_equal(each, 0), values * each, 0);
    }
    if (kind_ == Kind::sum) {
      accumulate({{"total", sum(values)}});
    } else {
      accumulate({{"total", sum(values)}, {"count", sum(count)}});
    }
  }

  std::function<std::shared_ptr<MetricBase>()> remake_;
  PerExample fn_;
  Kind kind_;
};

Tensor as_floats(const Tensor& truths) { return cast(truths, DType::float32); }

Tensor accuracy_of_equals(const std::string& name, const Tensor& y_true, const Tensor& y_pred) {
  const Pair pair = paired(name, y_true, y_pred);
  return mean(as_floats(equal(pair.y_true, pair.y_pred)), {-1});
}

PerExample binary_accuracy(double threshold) {
  return [threshold](const std::string& name, const Tensor& y_true, const Tensor& y_pred) {
    const Pair pair = paired(name, y_true, y_pred);
    const Tensor guess = cast(pair.y_pred > threshold, pair.y_pred.dtype());
    return mean(as_floats(equal(pair.y_true, guess)), {-1});
  };
}

Tensor categorical_accuracy(const std::string& name, const Tensor& y_true, const Tensor& y_pred) {
  const Pair pair = paired(name, y_true, y_pred);
  return as_floats(equal(arg_max(pair.y_true, -1), arg_max(pair.y_pred, -1)));
}

Tensor sparse_categorical_accuracy(const std::string& name, const Tensor& y_true,
                                   const Tensor& y_pred) {
  const Pair pair = paired_sparse(name, y_true, y_pred, -1);
  return as_floats(equal(pair.y_true, arg_max(pair.y_pred, -1)));
}

// Whether fewer than k scores of a row are above its label's.
Tensor in_top_k(const Tensor& labels, const Tensor& scores, std::int64_t k) {
  const Tensor of_label = take_along_axis(scores, expand_dims(labels, -1), -1);
  const Tensor above = sum(as_floats(scores > of_label), {-1});
  return as_floats(logical_and(above < k, is_finite(squeeze(of_label, {-1}))));
}

PerExample top_k_accuracy(std::int64_t k) {
  return [k](const std::string& name, const Tensor& y_true, const Tensor& y_pred) {
    const Pair pair = paired(name, y_true, y_pred);
    return in_top_k(arg_max(pair.y_true, -1), pair.y_pred, k);
  };
}

PerExample sparse_top_k_accuracy(std::int64_t k) {
  return [k](const std::string& name, const Tensor& y_true, const Tensor& y_pred) {
    const Pair pair = paired_sparse(name, y_true, y_pred, -1);
    return in_top_k(pair.y_true, pair.y_pred, k);
  };
}

Metric mean_metric(const char* class_name, const std::string& name, Settings settings,
                   PerExample fn, Direction direction, Kind kind = Kind::mean) {
  return Metric(std::make_shared<MeanMetric>(class_name,
                                             name.empty() ? snake_case(class_name) : name,
                                             std::move(settings), std::move(fn), direction, kind));
}

// Labels and predictions about their means along an axis.
struct Centred {
  Centred(const std::string& name, const Tensor& y_true, const Tensor& y_pred, int axis) {
    const Pair pair = paired(name, y_true, y_pred);
    const Shape shape = shape_of(pair.y_pred, "y_pred");
    if (axis < -shape.rank() || axis >= shape.rank() || shape[axis] == 1) {
      raise<ShapeError>(
          "{}: along axis {} of shape {} there is nothing to correlate: set .axis to one with "
          "several values (0: over the batch)",
          name, axis, shape);
    }
    const auto centre = [&](const Tensor& x) { return mean(x, {axis}, {.keep_dims = true}); };
    const Tensor true_mean = centre(pair.y_true), pred_mean = centre(pair.y_pred);
    const Tensor t = pair.y_true - true_mean, p = pair.y_pred - pred_mean;
    covariance = mean(t * p, {axis});
    true_variance = mean(square(t), {axis});
    pred_variance = mean(square(p), {axis});
    distance = squeeze(true_mean - pred_mean, {axis});
  }
  Tensor covariance, true_variance, pred_variance, distance;
};

PerExample pearson_correlation(int axis) {
  return [axis](const std::string& name, const Tensor& y_true, const Tensor& y_pred) {
    const Centred c(name, y_true, y_pred, axis);
    return c.covariance / ((sqrt(c.true_variance) + kFuzz) * (sqrt(c.pred_variance) + kFuzz));
  };
}

// Of how far points lie from the line on which both are equal (Lin, 1989).
PerExample concordance_correlation(int axis) {
  return [axis](const std::string& name, const Tensor& y_true, const Tensor& y_pred) {
    const Centred c(name, y_true, y_pred, axis);
    return c.covariance * 2.0 / (c.true_variance + c.pred_variance + square(c.distance) + kFuzz);
  };
}

enum class Labels { binary, one_hot, numbers };

PerExample accuracy_for(Labels labels) {
  if (labels == Labels::binary) return binary_accuracy(0.5);
  return labels == Labels::one_hot ? PerExample(categorical_accuracy) : sparse_categorical_accuracy;
}
const char* accuracy_class(Labels labels) {
  if (labels == Labels::binary) return "BinaryAccuracy";
  return labels == Labels::one_hot ? "CategoricalAccuracy" : "SparseCategoricalAccuracy";
}
Loss crossentropy_for(Labels labels) {
  if (labels == Labels::binary) return BinaryCrossentropy();
  return labels == Labels::one_hot ? CategoricalCrossentropy() : SparseCategoricalCrossentropy();
}

Labels labels_like(const Tensor& y_true, const Tensor& y_pred) {
  const Shape &truth = shape_of(y_true, "y_true"), &guess = shape_of(y_pred, "y_pred");
  if (guess.rank() < 2 || guess[-1] == 1) return Labels::binary;
  return truth.rank() < guess.rank() || truth[-1] == 1 ? Labels::numbers : Labels::one_hot;
}

// "accuracy" or "crossentropy" before it is known of what kind; updated nevertheless, it goes by
// the shapes.
class UnresolvedMetric final : public MeanMetric {
 public:
  UnresolvedMetric(bool accuracy, std::string name)
      : MeanMetric(
            accuracy ? "accuracy" : "crossentropy", name, {},
            [accuracy](const std::string& metric, const Tensor& y_true, const Tensor& y_pred) {
              const Labels labels = labels_like(y_true, y_pred);
              if (accuracy) return accuracy_for(labels)(metric, y_true, y_pred);
              return Measured(crossentropy_for(labels).per_example(y_true, y_pred));
            },
            accuracy ? Direction::higher : Direction::lower),
        accuracy_(accuracy) {}
  std::shared_ptr<MetricBase> fresh() const override {
    return std::make_shared<UnresolvedMetric>(accuracy_, name());
  }
  std::shared_ptr<MetricBase> resolved(const Loss& loss, const Shape& output) const override {
    const std::string kind = loss.class_name();
    Labels labels{};
    if ((output.rank() > 0 && output[-1] == 1) || kind == "BinaryCrossentropy" ||
        kind == "BinaryFocalCrossentropy") {
      labels = Labels::binary;
    } else if (kind == "SparseCategoricalCrossentropy") {
      labels = Labels::numbers;
    } else if (kind == "CategoricalCrossentropy" || kind == "CategoricalFocalCrossentropy") {
      labels = Labels::one_hot;
    } else {
      return nullptr;
    }
    if (accuracy_) {
      const bool has_threshold = labels == Labels::binary;
      return std::make_shared<MeanMetric>(
          accuracy_class(labels), name(),
          has_threshold ? settings_of(BinaryAccuracyOptions()) : Settings(), accuracy_for(labels),
          direction());
    }
    const Loss entropy = crossentropy_for(labels);
    return std::make_shared<MeanMetric>(
        entropy.class_name(), name(), LossAccess::spec(entropy).settings,
        [entropy](const std::string&, const Tensor& y_true, const Tensor& y_pred) {
          return entropy.per_example(y_true, y_pred);
        },
        direction());
  }

 private:
  bool accuracy_;
};

constexpr Row<Metric> kMeanMetrics[] = {
    {"binary_accuracy", made_by<BinaryAccuracy>},
    {"categorical_accuracy", made_by<CategoricalAccuracy>},
    {"sparse_categorical_accuracy", made_by<SparseCategoricalAccuracy>},
    {"top_k_categorical_accuracy", made_by<TopKCategoricalAccuracy>},
    {"sparse_top_k_categorical_accuracy", made_by<SparseTopKCategoricalAccuracy>},
    {"root_mean_squared_error", made_by<RootMeanSquaredError>, " rmse "},
    {"pearson_correlation", made_by<PearsonCorrelation>},
    {"concordance_correlation", made_by<ConcordanceCorrelation>},
    {"mean", made_by<Mean>},
    {"sum", made_by<Sum>},
};

}  // namespace

std::optional<Metric> find_mean_metric(const std::string& name, Fields& settings) {
  const std::string plain = plain_name(name);
  if (name == "Accuracy") return made_by<Accuracy>(settings);  // the class; else one of several
  if (plain == "accuracy" || plain == "acc") {
    return Metric(std::make_shared<UnresolvedMetric>(true, name));
  }
  if (plain == "crossentropy" || plain == "ce") {
    return Metric(std::make_shared<UnresolvedMetric>(false, name));
  }
  return find_named(kMeanMetrics, name, settings);
}
std::string mean_metric_names() { return names_of(kMeanMetrics); }

}  // namespace detail

using detail::mean_metric;

Metric::Metric(const Loss& loss)
    : base_([&] {
        const detail::LossSpec& spec = detail::LossAccess::spec(loss);
        // Losses are to be small, metrics to be read.
        const bool turned = spec.class_name == "CosineSimilarity";
        return std::make_shared<detail::MeanMetric>(
            spec.class_name, spec.name, spec.settings,
            [loss, turned](const std::string&, const Tensor& y_true, const Tensor& y_pred) {
              Tensor values = loss.per_example(y_true, y_pred);
              if (turned) values = -values;
              const auto& counts = detail::LossAccess::spec(loss).counts;
              return detail::Measured(values, counts ? counts(values, y_true) : Tensor());
            },
            turned ? Direction::higher : Direction::lower);
      }()) {}

Metric::Metric(std::function<Tensor(Tensor, Tensor)> fn, std::string name, int)
    : base_(std::make_shared<detail::MeanMetric>(
          "", std::move(name), detail::Settings(),
          [fn = std::move(fn)](const std::string&, const Tensor& y_true, const Tensor& y_pred) {
            const tenure::detail::CallbackScope callback;
            return fn(y_true, y_pred);
          },
          Direction::unknown)) {}

Metric Mean(MetricOptions o) { return mean_metric("Mean", o.name, {}, {}, Direction::unknown); }
Metric Sum(MetricOptions o) {
  return mean_metric("Sum", o.name, {}, {}, Direction::unknown, detail::Kind::sum);
}
Metric Accuracy(MetricOptions o) {
  return mean_metric("Accuracy", o.name, {}, detail::accuracy_of_equals, Direction::higher);
}
Metric BinaryAccuracy(BinaryAccuracyOptions o) {
  return mean_metric("BinaryAccuracy", o.name, detail::settings_of(o),
                     detail::binary_accuracy(o.threshold), Direction::higher);
}
Metric CategoricalAccuracy(MetricOptions o) {
  return mean_metric("CategoricalAccuracy", o.name, {}, detail::categorical_accuracy,
                     Direction::higher);
}
Metric SparseCategoricalAccuracy(MetricOptions o) {
  return mean_metric("SparseCategoricalAccuracy", o.name, {}, detail::sparse_categorical_accuracy,
                     Direction::higher);
}
Metric TopKCategoricalAccuracy(TopKOfClassesOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  if (o.k < 1) raise<ValueError>("TopKCategoricalAccuracy: k must be positive: {}", o.k);
  return mean_metric("TopKCategoricalAccuracy", o.name, detail::settings_of(o),
                     detail::top_k_accuracy(o.k), Direction::higher);
}
Metric SparseTopKCategoricalAccuracy(TopKOfClassesOptions o, std::source_location site) {
  const tenure::detail::UserLine line(site);
  if (o.k < 1) raise<ValueError>("SparseTopKCategoricalAccuracy: k must be positive: {}", o.k);
  return mean_metric("SparseTopKCategoricalAccuracy", o.name, detail::settings_of(o),
                     detail::sparse_top_k_accuracy(o.k), Direction::higher);
}
Metric RootMeanSquaredError(MetricOptions o) {
  return mean_metric(
      "RootMeanSquaredError", o.name, {},
      [](const std::string& name, const Tensor& y_true, const Tensor& y_pred) {
        const detail::Pair pair = detail::paired(name, y_true, y_pred);
        return square(pair.y_true - pair.y_pred);
      },
      Direction::lower, detail::Kind::root_mean);
}
Metric PearsonCorrelation(CorrelationOptions o) {
  return mean_metric("PearsonCorrelation", o.name, detail::settings_of(o),
                     detail::pearson_correlation(o.axis), Direction::higher);
}
Metric ConcordanceCorrelation(CorrelationOptions o) {
  return mean_metric("ConcordanceCorrelation", o.name, detail::settings_of(o),
                     detail::concordance_correlation(o.axis), Direction::higher);
}

}  // namespace tenure::nn
