// Metrics of classes, labels and regressions against plain loops, and their results in Logs.
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "nn/config.h"
#include "support/expect.h"

namespace tenure::testing {
namespace {

using Doubles = std::vector<double>;

struct Updates {
  std::vector<Tensor> y_true, y_pred, weights;
};

// Eager and traced, after a reset, and as a copy from JSON.
void expect_results(const nn::Metric& metric, const Updates& updates, const Doubles& wanted,
                    double tolerance = 1e-6) {
  const nn::Metric again = nn::detail::metric_from_json(nn::detail::to_json(metric));
  EXPECT_EQ(again.config(), metric.config());
  const auto traced =
      function("update", [&](Tensor a, Tensor b, Tensor w) { again.update(a, b, w); });
  metric.update(updates.y_true[0], updates.y_pred[0]);
  metric.reset();
  for (std::size_t i = 0; i < updates.y_true.size(); ++i) {
    const bool weighted = !updates.weights.empty();
    metric.update(updates.y_true[i], updates.y_pred[i], weighted ? updates.weights[i] : Tensor());
    traced(updates.y_true[i], updates.y_pred[i],
           weighted ? updates.weights[i] : ones({updates.y_true[i].dim(0)}));
  }
  for (const nn::Metric& each : {metric, again}) {
    const Doubles results = each.results();
    ASSERT_EQ(results.size(), wanted.size()) << metric.name();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(results[i], wanted[i], tolerance) << metric.name() << " at " << i;
    }
  }
}

// ---- R2 and correlations

struct Fit {
  // Two outputs of 12 examples, in two batches.
  Doubles truth, guess, weights;
  Fit() {
    for (int i = 0; i < 24; ++i) {
      truth.push_back(static_cast<float>(std::sin(0.9 * i) * (i % 2 == 0 ? 1 : 3) + 5));
      guess.push_back(static_cast<float>(truth.back() + 0.4 * std::cos(2.3 * i)));
    }
    for (int i = 0; i < 12; ++i) weights.push_back(0.25 * (i % 4));
  }
  Updates updates(bool weighted) const {
    Updates all;
    for (const std::int64_t at : {0, 5}) {
      const std::int64_t rows = at == 0 ? 5 : 7;
      const auto part = [&](const Doubles& x) {
        return cast(slice(tensor(x, {12, 2}), {at, 0}, {rows, 2}), DType::float32);
      };
      all.y_true.push_back(part(truth));
      all.y_pred.push_back(part(guess));
      if (weighted)
        all.weights.push_back(cast(slice(tensor(weights), {at}, {rows}), DType::float32));
    }
    return all;
  }
  // Per output: the score and the spread of the labels.
  std::pair<double, double> score(std::size_t output, bool weighted) const {
    const auto each = [&](auto value) {
      double sum = 0;
      for (std::size_t i = 0; i < 12; ++i) {
        sum += (weighted ? weights[i] : 1) * value(truth[2 * i + output], guess[2 * i + output]);
      }
      return sum;
    };
    const double mean =
        each([](double t, double) { return t; }) / each([](double, double) { return 1.0; });
    const double spread = each([&](double t, double) { return (t - mean) * (t - mean); });
    const double left = each([](double t, double p) { return (t - p) * (t - p); });
    return {1 - left / spread, spread};
  }
};

TEST(R2Score, is_what_predictions_explain_of_the_variance) {
  const Fit fit;
  for (const bool weighted : {false, true}) {
    const auto [a, spread_a] = fit.score(0, weighted);
    const auto [b, spread_b] = fit.score(1, weighted);
    const Updates updates = fit.updates(weighted);
    expect_results(nn::R2Score(), updates, {(a + b) / 2});
    expect_results(nn::R2Score({.class_aggregation = ""}), updates, {a, b});
    const double together = (a * spread_a + b * spread_b) / (spread_a + spread_b);
    expect_results(nn::R2Score({.class_aggregation = "variance_weighted_average"}), updates,
                   {together});
    const auto adjusted = [](double score) { return 1 - (1 - score) * 23 / (24 - 3 - 1); };
    expect_results(nn::R2Score({.num_regressors = 3}), updates, {adjusted((a + b) / 2)});
    expect_results(nn::R2Score({.num_regressors = 23}), updates, {(a + b) / 2});
  }
}

TEST(R2Score, of_labels_far_from_0) {
  for (const double far : {1e4, 1e6, 1e8, 1e9}) {
    const nn::Metric r2("r2_score");
    for (const bool reset : {false, true}) {
      if (reset) r2.reset();
      for (const double label : {0.0, 1.0, 3.0}) {
        r2.update(full({1}, far + label, DType::float64), full({1}, far, DType::float64));
      }
      EXPECT_NEAR(r2.result(), 1 - 10 / (14.0 / 3), 1e-9) << far;
    }
    r2.update(zeros({0}, DType::float64), zeros({0}, DType::float64));
    EXPECT_NEAR(r2.result(), 1 - 10 / (14.0 / 3), 1e-9) << far;
  }
}

TEST(R2Score, of_columns_and_of_labels_without_variance) {
  // From Keras's documentation.
  const nn::Metric r2("r2_score");
  r2.update(tensor({1.f, 4.f, 3.f}), tensor({2.f, 4.f, 4.f}, {3, 1}));
  EXPECT_NEAR(r2.result(), 0.57142854, 1e-6);
  r2.reset();
  r2.update(ones({3}), tensor({2.f, 4.f, 4.f}));
  EXPECT_EQ(r2.result(), 0);
  EXPECT_EQ(r2.direction(), nn::Direction::higher);
  EXPECT_HAS(
      message_of<ShapeError>([&] { r2.update(ones({2, 2, 2}), ones({2, 2, 2})); }),
      "r2_score: takes labels and predictions of shape [batch, outputs], was given [2, 2, 2]");
}

TEST(Correlations, of_an_empty_batch_are_those_of_the_others) {
  for (const nn::Metric& metric :
       {nn::PearsonCorrelation({.axis = 0}), nn::ConcordanceCorrelation({.axis = 0})}) {
    metric.update(zeros({0, 2}), zeros({0, 2}));
    const Tensor y = tensor({1.f, 2.f, 3.f, 5.f}, {4, 1});
    metric.update(y, y);
    EXPECT_NEAR(metric.result(), 1, 1e-6);
  }
}

TEST(Correlations, follow_their_formulas) {
  // From Keras's documentation.
  const Updates rows{{tensor({0.f, 1.f, 0.5f, 1.f, 1.f, 0.2f}, {2, 3})},
                     {tensor({0.1f, 0.9f, 0.5f, 1.f, 0.9f, 0.2f}, {2, 3})},
                     {}};
  expect_results(nn::PearsonCorrelation(), rows, {0.9966996338993913}, 1e-5);
  expect_results(nn::ConcordanceCorrelation(), rows, {0.9816320385426076}, 1e-5);
  // Over the batch, by the definition.
  const Doubles t{1, 2, 4, 3}, p{1.5, 2, 3, 5};
  double st = 0, sp = 0, both = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    st += (t[i] - 2.5) * (t[i] - 2.5) / 4;
    sp += (p[i] - 2.875) * (p[i] - 2.875) / 4;
    both += (t[i] - 2.5) * (p[i] - 2.875) / 4;
  }
  const Updates column{{tensor(t, {4, 1})}, {tensor(p, {4, 1})}, {}};
  const nn::Metric pearson = nn::PearsonCorrelation({.axis = 0});
  pearson.update(column.y_true[0], column.y_pred[0]);
  EXPECT_NEAR(pearson.result(), both / std::sqrt(st * sp), 1e-6);
  const nn::Metric lin = nn::ConcordanceCorrelation({.axis = 0});
  lin.update(column.y_true[0], column.y_pred[0]);
  EXPECT_NEAR(lin.result(), 2 * both / (st + sp + 0.375 * 0.375), 1e-6);
  EXPECT_HAS(message_of<ShapeError>(
                 [&] { nn::PearsonCorrelation().update(column.y_true[0], column.y_pred[0]); }),
             "pearson_correlation: along axis -1 of shape [4, 1] there is nothing to correlate");
}

// ---- Intersection over union

const Updates kRegions{{tensor({0, 0, 1, 1})}, {tensor({0, 1, 0, 1})}, {}};
const Updates kWeightedRegions{
    {tensor({0, 0, 1, 1})}, {tensor({0, 1, 0, 1})}, {tensor({0.3f, 0.3f, 0.3f, 0.1f})}};

TEST(IoU, of_some_classes) {
  expect_results(nn::IoU({.num_classes = 2, .target_class_ids = {0}}), kRegions, {1.0 / 3});
  expect_results(nn::IoU({.num_classes = 2, .target_class_ids = {1}}), kWeightedRegions,
                 {0.1 / 0.7});
  expect_results(nn::IoU({.num_classes = 2, .target_class_ids = {0, 1}}), kWeightedRegions,
                 {(0.3 / 0.9 + 0.1 / 0.7) / 2});
  const Updates far{{tensor({0, 7, 1, 1})}, {tensor({0, 7, 0, 1})}, {}};
  expect_results(nn::MeanIoU({.num_classes = 2, .ignore_class = 7}), far, {(0.5 + 0.5) / 2});
}

TEST(IoU, of_scores_and_of_one_hot_labels) {
  // From Keras's documentation of BinaryIoU and OneHotIoU.
  const Updates scores{{tensor({0, 1, 0, 1})},
                       {tensor({0.1f, 0.2f, 0.4f, 0.7f})},
                       {tensor({0.2f, 0.3f, 0.4f, 0.1f})}};
  expect_results(nn::BinaryIoU({.threshold = 0.3}), scores, {(0.2 / 0.9 + 0.1 / 0.8) / 2});
  expect_results(nn::BinaryIoU({.target_class_ids = {1}, .threshold = 0.3}), scores, {0.1 / 0.8});
  const Updates hot{
      {tensor({0.f, 0.f, 1.f, 1.f, 0.f, 0.f, 0.f, 1.f, 0.f, 1.f, 0.f, 0.f}, {4, 3})},
      {tensor({0.2f, 0.3f, 0.5f, 0.1f, 0.2f, 0.7f, 0.5f, 0.3f, 0.1f, 0.1f, 0.4f, 0.5f}, {4, 3})},
      {tensor({0.1f, 0.2f, 0.3f, 0.4f})}};
  expect_results(nn::OneHotIoU({.num_classes = 3, .target_class_ids = {0, 2}}), hot,
                 {(0.0 + 0.1 / 0.7) / 2});
  expect_results(nn::OneHotMeanIoU({.num_classes = 3}), hot, {(0.0 + 0.0 + 0.1 / 0.7) / 3});
  const Updates first{{transpose(hot.y_true[0])}, {transpose(hot.y_pred[0])}, {}};
  nn::Metric along = nn::OneHotMeanIoU({.num_classes = 3, .axis = 0});
  along.update(first.y_true[0], first.y_pred[0], hot.weights[0]);
  EXPECT_NEAR(along.result(), 0.1 / 0.7 / 3, 1e-6);
}

// ---- At a bound, and by label

struct Scores {
  Doubles labels, scores, weights;
  Scores() {
    for (int i = 0; i < 90; ++i) {
      labels.push_back(std::sin(78.233 * i) > 0.2 ? 1 : 0);
      const double noise = 0.5 + 0.49 * std::sin(12.9898 * i);
      scores.push_back(static_cast<float>(0.6 * noise + 0.4 * labels.back()));
      weights.push_back(0.5 * (i % 3 + 1));
    }
  }
  struct Rates {
    double recall, specificity, precision;
  };
  Rates rates(double threshold, bool weighted) const {
    double tp = 0, fp = 0, tn = 0, fn = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const bool positive = static_cast<float>(scores[i]) > static_cast<float>(threshold);
      (labels[i] > 0 ? (positive ? tp : fn) : (positive ? fp : tn)) += weighted ? weights[i] : 1;
    }
    const auto part = [](double x, double whole) { return whole > 0 ? x / whole : 0; };
    return {part(tp, tp + fn), part(tn, tn + fp), part(tp, tp + fp)};
  }
  double best(double Rates::* bounded, double least, double Rates::* of, int thresholds,
              bool weighted) const {
    double most = 0;
    for (int i = 0; i < thresholds; ++i) {
      const Rates at = rates(static_cast<double>(i) / (thresholds - 1), weighted);
      if (at.*bounded >= least) most = std::max(most, at.*of);
    }
    return most;
  }
  Updates updates(bool weighted) const {
    const auto column = [](const Doubles& x) { return cast(tensor(x, {90, 1}), DType::float32); };
    Updates all{{column(labels)}, {column(scores)}, {}};
    if (weighted) all.weights.push_back(cast(tensor(weights), DType::float32));
    return all;
  }
};

TEST(BoundedMetrics, are_the_best_among_thresholds_that_meet_the_bound) {
  const Scores data;
  using R = Scores::Rates;
  for (const bool weighted : {false, true}) {
    const Updates updates = data.updates(weighted);
    for (const double least : {0.3, 0.8, 0.97}) {
      expect_results(nn::SensitivityAtSpecificity({.specificity = least, .num_thresholds = 50}),
                     updates, {data.best(&R::specificity, least, &R::recall, 50, weighted)});
      expect_results(nn::SpecificityAtSensitivity({.sensitivity = least, .num_thresholds = 50}),
                     updates, {data.best(&R::recall, least, &R::specificity, 50, weighted)});
      expect_results(nn::PrecisionAtRecall({.recall = least}), updates,
                     {data.best(&R::recall, least, &R::precision, 200, weighted)});
      expect_results(nn::RecallAtPrecision({.precision = least}), updates,
                     {data.best(&R::precision, least, &R::recall, 200, weighted)});
    }
  }
  // From Keras's documentation of SensitivityAtSpecificity.
  const nn::Metric metric = nn::SensitivityAtSpecificity({.specificity = 0.5});
  metric.update(tensor({0, 0, 0, 1, 1}), tensor({0.f, 0.3f, 0.8f, 0.3f, 0.8f}));
  EXPECT_NEAR(metric.result(), 0.5, 1e-6);
  metric.reset();
  metric.update(tensor({0, 0, 0, 1, 1}), tensor({0.f, 0.3f, 0.8f, 0.3f, 0.8f}),
                tensor({1.f, 1.f, 2.f, 2.f, 1.f}));
  EXPECT_NEAR(metric.result(), 0.333333, 1e-5);
  EXPECT_EQ(metric.direction(), nn::Direction::higher);
}

TEST(AUC, of_several_labels_is_the_mean_of_theirs) {
  const Scores data;
  const auto area = [&](std::int64_t from, std::int64_t to, bool weighted) {
    const nn::Metric one = nn::AUC();
    const auto part = [&](const Doubles& x) {
      return cast(slice(tensor(x), {from}, {to - from}), DType::float32);
    };
    one.update(part(data.labels), part(data.scores), weighted ? part(data.weights) : Tensor());
    return one.result();
  };
  // Three labels of 30 examples each.
  const auto columns = [](const Doubles& x) {
    return cast(transpose(tensor(x, {3, 30})), DType::float32);
  };
  const Updates updates{{columns(data.labels)}, {columns(data.scores)}, {}};
  const double a = area(0, 30, false), b = area(30, 60, false), c = area(60, 90, false);
  expect_results(nn::AUC({.multi_label = true}), updates, {(a + b + c) / 3});
  expect_results(nn::AUC({.multi_label = true, .num_labels = 3, .label_weights = {1, 0, 3}}),
                 updates, {(a + 3 * c) / 4});
  // Otherwise labels' weights are those of their values.
  const nn::Metric all = nn::AUC({.label_weights = {1, 1, 1}}),
                   first = nn::AUC({.label_weights = {1, 0, 0}});
  all.update(updates.y_true[0], updates.y_pred[0]);
  first.update(updates.y_true[0], updates.y_pred[0]);
  EXPECT_NEAR(all.result(), area(0, 90, false), 1e-9);
  EXPECT_NEAR(first.result(), a, 1e-9);
  EXPECT_HAS(message_of<ShapeError>([&] {
               nn::AUC({.multi_label = true, .num_labels = 2})
                   .update(updates.y_true[0], updates.y_pred[0]);
             }),
             "auc: num_labels is 2, but y_pred has shape [30, 3]");
  EXPECT_HAS(message_of<ShapeError>([&] {
               nn::AUC({.label_weights = {1, 2}}).update(updates.y_true[0], updates.y_pred[0]);
             }),
             "auc: there are 2 label_weights, but y_pred has shape [30, 3]");
}

// ---- In Logs

TEST(Metrics, with_a_result_per_class_have_the_mean_and_each_in_logs) {
  const nn::Sequential model(
      {nn::Dense({.units = 3, .activation = "softmax", .input_shape = {2}})});
  model.compile({.optimizer = "sgd",
                 .loss = "categorical_crossentropy",
                 .metrics = {nn::F1Score(), nn::Precision({.thresholds = {0.2, 0.6}, .name = "p"}),
                             "categorical_accuracy"}});
  const Tensor x = random::normal({12, 2});
  const Tensor y = one_hot(tensor({0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2}), 3);
  const nn::Logs logs = model.evaluate(x, y);
  std::vector<std::string> names;
  for (const auto& [name, value] : logs) names.push_back(name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"loss", "f1_score", "f1_score[0]", "f1_score[1]",
                                      "f1_score[2]", "p", "p[0]", "p[1]", "categorical_accuracy"}));
  EXPECT_NEAR(nn::value_of(logs, "f1_score"),
              (nn::value_of(logs, "f1_score[0]") + nn::value_of(logs, "f1_score[1]") +
               nn::value_of(logs, "f1_score[2]")) /
                  3,
              1e-12);
  const nn::History history =
      model.fit(x, y, {.epochs = 2, .verbose = nn::Verbose::silent, .validation_split = 0.5});
  EXPECT_EQ(history["val_f1_score[2]"].size(), 2u);
}

}  // namespace
}  // namespace tenure::testing
