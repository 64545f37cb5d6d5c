// Metrics over several batches, with weights, eager and traced, against plain loops.
#include "tenure/nn/metrics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "nn/config.h"
#include "support/expect.h"

namespace tenure::testing {
namespace {

using Doubles = std::vector<double>;

struct Batch {
  Tensor y_true, y_pred, weights;
};

// Updates a metric with the batches in three ways.
void expect_result(const nn::Metric& metric, const std::vector<Batch>& batches, double wanted,
                   double tolerance = 1e-6) {
  EXPECT_EQ(metric.result(), 0) << metric.name();
  for (const Batch& batch : batches) metric.update(batch.y_true, batch.y_pred, batch.weights);
  EXPECT_NEAR(metric.result(), wanted, tolerance) << metric.name();
  const nn::Metric other = metric.fresh();
  EXPECT_EQ(other.result(), 0) << metric.name();
  const auto traced = function("update", [&](Tensor y_true, Tensor y_pred, Tensor weights) {
    other.update(y_true, y_pred, weights);
  });
  const auto unweighted =
      function("update", [&](Tensor y_true, Tensor y_pred) { other.update(y_true, y_pred); });
  for (int round = 0; round < 2; ++round) {
    other.reset();
    for (const Batch& batch : batches) {
      if (batch.weights.defined()) {
        traced(batch.y_true, batch.y_pred, batch.weights);
      } else {
        unweighted(batch.y_true, batch.y_pred);
      }
    }
    EXPECT_NEAR(other.result(), wanted, tolerance) << metric.name() << ", traced";
  }
  EXPECT_NEAR(metric.result(), wanted, tolerance) << metric.name();
}

TEST(Metrics, binary_accuracy) {
  const Tensor y_true = tensor({1.f, 0.f, 1.f, 1.f}, {4, 1});
  const Tensor y_pred = tensor({0.9f, 0.4f, 0.3f, 0.6f}, {4, 1});
  expect_result("binary_accuracy", {{y_true, y_pred, {}}}, 0.75);
  expect_result("binary_accuracy", {{y_true, y_pred, {}}, {zeros({2, 1}), zeros({2, 1}), {}}},
                5.0 / 6);
  expect_result(nn::BinaryAccuracy({.threshold = 0.7}), {{y_true, y_pred, {}}}, 0.5);
  expect_result("binary_accuracy", {{y_true, y_pred, tensor({1.f, 1.f, 2.f, 0.f})}}, 0.5);
}

TEST(Metrics, categorical_accuracy) {
  const Tensor y_pred = tensor({0.7f, 0.2f, 0.1f, 0.1f, 0.3f, 0.6f, 0.3f, 0.4f, 0.3f}, {3, 3});
  const Tensor numbers = tensor({0, 1, 1});
  const Tensor one_hots = one_hot(numbers, 3), weights = tensor({1.f, 2.f, 3.f});
  expect_result("categorical_accuracy", {{one_hots, y_pred, {}}}, 2.0 / 3);
  expect_result("categorical_accuracy", {{one_hots, y_pred, weights}}, 4.0 / 6);
  expect_result("sparse_categorical_accuracy", {{numbers, y_pred, weights}}, 4.0 / 6);
  expect_result("sparse_categorical_accuracy",
                {{cast(reshape(numbers, {3, 1}), DType::float32), y_pred, {}}}, 2.0 / 3);
  expect_result(nn::TopKCategoricalAccuracy({.k = 2}), {{one_hots, y_pred, {}}}, 1);
  expect_result(nn::SparseTopKCategoricalAccuracy({.k = 1}), {{numbers, y_pred, {}}}, 2.0 / 3);
  expect_result(nn::SparseTopKCategoricalAccuracy({.k = 2}), {{tensor({2, 0, 1}), y_pred, {}}},
                1.0 / 3);
}

TEST(Metrics, accuracy_of_sequences_counts_every_step) {
  const Tensor y_pred = tensor({0.7f, 0.3f, 0.1f, 0.9f, 0.6f, 0.4f, 0.2f, 0.8f}, {2, 2, 2});
  const Tensor labels = tensor({0, 1, 1, 1}, {2, 2});
  expect_result("sparse_categorical_accuracy", {{labels, y_pred, {}}}, 0.75);
  expect_result("sparse_categorical_accuracy", {{labels, y_pred, tensor({1.f, 0.f})}}, 1);
}

TEST(Metrics, losses_are_averaged) {
  const Tensor y_true = tensor({1.f, 2.f, 3.f}, {3, 1}), y_pred = tensor({1.f, 4.f, 6.f}, {3, 1});
  expect_result("mse", {{y_true, y_pred, {}}, {y_true, y_true, {}}}, 13.0 / 6);
  expect_result("mae", {{y_true, y_pred, tensor({0.f, 1.f, 3.f})}}, 11.0 / 4);
  expect_result("root_mean_squared_error", {{y_true, y_pred, {}}}, std::sqrt(13.0 / 3));
  expect_result("rmse", {{y_true, y_pred, tensor({0.f, 1.f, 1.f})}}, std::sqrt(13.0 / 2));
  expect_result(nn::Huber({.delta = 1}), {{y_true, y_pred, {}}}, (1.5 + 2.5) / 3);
  expect_result("cosine_similarity", {{tensor({3.f, 4.f}, {1, 2}), tensor({4.f, 3.f}, {1, 2}), {}}},
                24.0 / 25);
  const nn::Loss ignoring = nn::SparseCategoricalCrossentropy({.ignore_class = 0});
  expect_result(ignoring, {{tensor({0, 1}), full({2, 2}, 0.5), {}}}, std::log(2.0));
  expect_result({[](Tensor a, Tensor b) { return max(abs(a - b), {-1}); }, "worst"},
                {{y_true, y_pred, {}}}, 5.0 / 3);
}

TEST(Metrics, mean_and_sum_of_values) {
  const nn::Metric mean = nn::Mean(), sum = nn::Sum();
  for (const nn::Metric& each : {mean, sum}) {
    each.add(tensor({1.f, 2.f, 3.f}));
    each.add(tensor(6), tensor(2.f));
  }
  EXPECT_NEAR(mean.result(), 18.0 / 5, 1e-9);
  EXPECT_NEAR(sum.result(), 18, 1e-9);
  EXPECT_THROW(mean.update(ones({2, 1}), ones({2, 1})), UnsupportedError);
  EXPECT_THROW(nn::Metric("mse").add(ones({2})), UnsupportedError);
}

// Scores and labels of 200 examples that have something to do with each other.
struct Scored {
  Doubles scores, labels, weights;
  Scored() {
    for (int i = 0; i < 200; ++i) {
      const double noise = 0.5 + 0.49 * std::sin(12.9898 * i);
      labels.push_back(std::sin(78.233 * i) > 0.2 ? 1 : 0);
      scores.push_back(static_cast<float>(0.6 * noise + 0.4 * labels.back()));
      weights.push_back(i % 3 + 1);
    }
  }
  std::vector<Batch> batches(bool weighted) const {
    std::vector<Batch> made;
    for (std::int64_t at = 0; at < 200; at += 50) {
      const auto part = [&](const Doubles& x) {
        return cast(slice(tensor(x), {at}, {50}), DType::float32);
      };
      made.push_back({reshape(part(labels), {50, 1}), reshape(part(scores), {50, 1}),
                      weighted ? part(weights) : Tensor()});
    }
    return made;
  }
  double weight(std::size_t i, bool weighted) const { return weighted ? weights[i] : 1; }
  struct Counts {
    double tp = 0, fp = 0, tn = 0, fn = 0;
  };
  Counts counts(double threshold, bool weighted) const {
    Counts c;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const bool positive = static_cast<float>(scores[i]) > static_cast<float>(threshold);
      double& count = labels[i] > 0 ? (positive ? c.tp : c.fn) : (positive ? c.fp : c.tn);
      count += weight(i, weighted);
    }
    return c;
  }
};

TEST(Metrics, precision_recall_and_what_they_are_made_of) {
  const Scored data;
  for (const bool weighted : {false, true}) {
    for (const double threshold : {0.5, 0.65}) {
      const Scored::Counts c = data.counts(threshold, weighted);
      const std::vector<Batch> batches = data.batches(weighted);
      expect_result(nn::TruePositives({.thresholds = {threshold}}), batches, c.tp);
      expect_result(nn::FalsePositives({.thresholds = {threshold}}), batches, c.fp);
      expect_result(nn::TrueNegatives({.thresholds = {threshold}}), batches, c.tn);
      expect_result(nn::FalseNegatives({.thresholds = {threshold}}), batches, c.fn);
      expect_result(nn::Precision({.thresholds = {threshold}}), batches, c.tp / (c.tp + c.fp));
      expect_result(nn::Recall({.thresholds = {threshold}}), batches, c.tp / (c.tp + c.fn));
    }
  }
  const nn::Metric both = nn::Recall({.thresholds = {0.5, 0.65}});
  for (const Batch& batch : data.batches(false)) both.update(batch.y_true, batch.y_pred);
  ASSERT_EQ(both.results().size(), 2u);
  const Scored::Counts c = data.counts(0.65, false);
  EXPECT_NEAR(both.results()[1], c.tp / (c.tp + c.fn), 1e-9);
}

TEST(Metrics, precision_among_the_largest_or_of_one_class) {
  const Tensor y_true = tensor({0.f, 1.f, 1.f, 1.f, 0.f, 0.f}, {2, 3});
  const Tensor y_pred = tensor({0.1f, 0.2f, 0.6f, 0.3f, 0.4f, 0.2f}, {2, 3});
  expect_result(nn::Precision({.top_k = 1}), {{y_true, y_pred, {}}}, 0.5);
  expect_result(nn::Recall({.top_k = 2}), {{y_true, y_pred, {}}}, 1);
  expect_result(nn::Recall({.thresholds = {0.25}, .class_id = 1}), {{y_true, y_pred, {}}}, 0);
  expect_result(nn::Recall({.thresholds = {0.25}, .class_id = 2}), {{y_true, y_pred, {}}}, 1);
}

TEST(Metrics, area_under_the_roc_curve) {
  const Scored data;
  for (const bool weighted : {false, true}) {
    // How often a positive example scores higher than a negative one.
    double above = 0, pairs = 0;
    for (std::size_t i = 0; i < 200; ++i) {
      for (std::size_t j = 0; j < 200; ++j) {
        if (data.labels[i] == 0 || data.labels[j] == 1) continue;
        const double weight = data.weight(i, weighted) * data.weight(j, weighted);
        pairs += weight;
        if (data.scores[i] > data.scores[j]) above += weight;
        if (data.scores[i] == data.scores[j]) above += weight / 2;
      }
    }
    expect_result(nn::AUC({.num_thresholds = 20000}), data.batches(weighted), above / pairs, 2e-4);
    for (const auto& [method, low] :
         {std::pair(nn::Summation::minoring, true), std::pair(nn::Summation::majoring, false)}) {
      double area = 0;
      Scored::Counts last = data.counts(-1e-7, weighted);
      for (int i = 1; i < 10; ++i) {
        const Scored::Counts next = data.counts(i < 9 ? i / 9.0 : 1 + 1e-7, weighted);
        const double y0 = last.tp / (last.tp + last.fn), y1 = next.tp / (next.tp + next.fn);
        area +=
            (last.fp - next.fp) / (last.fp + last.tn) * (low ? std::min(y0, y1) : std::max(y0, y1));
        last = next;
      }
      expect_result(nn::AUC({.num_thresholds = 10, .summation_method = method}),
                    data.batches(weighted), area);
    }
  }
}

TEST(Metrics, area_under_the_precision_recall_curve) {
  // From Keras's documentation of AUC: labels 0 0 1 1, scores 0 0.5 0.3 0.9, three thresholds.
  const Tensor y_true = tensor({0.f, 0.f, 1.f, 1.f}), y_pred = tensor({0.f, 0.5f, 0.3f, 0.9f});
  expect_result(nn::AUC({.num_thresholds = 3}), {{y_true, y_pred, {}}}, 0.75);
  expect_result(nn::AUC({.num_thresholds = 3}), {{y_true, y_pred, tensor({1.f, 0.f, 0.f, 1.f})}},
                1);
  // Between two points, true positives go along a line: integrated in small steps.
  const Scored data;
  double area = 0;
  Scored::Counts last = data.counts(-1e-7, false);
  for (int i = 1; i < 10; ++i) {
    const Scored::Counts next = data.counts(i < 9 ? i / 9.0 : 1 + 1e-7, false);
    constexpr int kParts = 20000;
    const double d = last.tp - next.tp, f = last.fp - next.fp;
    for (int k = 0; k < kParts; ++k) {
      const double at = (k + 0.5) / kParts, tp = next.tp + at * d, fp = next.fp + at * f;
      if (tp + fp > 0) area += tp / (tp + fp) * d / kParts / (last.tp + last.fn);
    }
    last = next;
  }
  expect_result(nn::AUC({.num_thresholds = 10, .curve = nn::Curve::pr}), data.batches(false), area,
                1e-4);
  const Tensor raw = tensor({-3.f, 2.f, 1.f, 4.f});
  expect_result(nn::AUC({.thresholds = {0.8}, .from_logits = true}), {{y_true, raw, {}}}, 0.5);
}

TEST(Metrics, f_scores) {
  const Tensor y_true = tensor({1.f, 1.f, 1.f, 1.f, 0.f, 0.f, 1.f, 1.f, 0.f}, {3, 3});
  const Tensor y_pred = tensor({0.2f, 0.6f, 0.7f, 0.2f, 0.6f, 0.6f, 0.6f, 0.8f, 0.f}, {3, 3});
  const nn::Metric each = nn::F1Score({.threshold = 0.5});
  each.update(y_true, y_pred);
  ASSERT_EQ(each.results().size(), 3u);
  EXPECT_NEAR(each.results()[0], 0.5, 1e-6);
  EXPECT_NEAR(each.results()[1], 0.8, 1e-6);
  EXPECT_NEAR(each.results()[2], 2.0 / 3, 1e-6);
  const std::vector<Batch> batches{{y_true, y_pred, {}}};
  expect_result(nn::F1Score({.average = "macro", .threshold = 0.5}), batches,
                (0.5 + 0.8 + 2.0 / 3) / 3);
  expect_result(nn::F1Score({.average = "weighted", .threshold = 0.5}), batches,
                (3 * 0.5 + 2 * 0.8 + 2.0 / 3) / 6);
  // Of all: 4 right, 2 wrong, 2 missed.
  expect_result(nn::F1Score({.average = "micro", .threshold = 0.5}), batches, 8.0 / 12);
  expect_result(nn::FBetaScore({.average = "micro", .beta = 2, .threshold = 0.5}), batches,
                5.0 * 4 / (5.0 * 4 + 4 * 2 + 2));
}

TEST(Metrics, mean_intersection_over_union) {
  const Tensor y_true = tensor({0, 0, 1, 1}), y_pred = tensor({0, 1, 0, 1});
  expect_result(nn::MeanIoU({.num_classes = 2}), {{y_true, y_pred, {}}}, 1.0 / 3);
  expect_result(nn::MeanIoU({.num_classes = 2}),
                {{y_true, y_pred, tensor({0.3f, 0.3f, 0.3f, 0.1f})}},
                (0.3 / (0.3 + 0.3 + 0.3) + 0.1 / (0.1 + 0.3 + 0.3)) / 2);
  expect_result(nn::MeanIoU({.num_classes = 2, .ignore_class = 1}), {{y_true, y_pred, {}}},
                (0.5 + 0) / 2);
  expect_result(nn::MeanIoU({.num_classes = 2, .sparse_y_pred = false}),
                {{y_true, one_hot(y_pred, 2), {}}}, 1.0 / 3);
  EXPECT_THROW(nn::MeanIoU({.num_classes = 2}).update(tensor({2}), tensor({0})), ValueError);
}

TEST(Metrics, accuracy_becomes_the_kind_that_fits) {
  const nn::Metric accuracy("accuracy");
  const auto kind = [&](const nn::Loss& loss, const Shape& output) {
    const nn::Metric metric = accuracy.resolved(loss, output);
    EXPECT_EQ(metric.name(), "accuracy");
    return metric.class_name();
  };
  EXPECT_EQ(kind("binary_crossentropy", {nn::kAny, 3}), "BinaryAccuracy");
  EXPECT_EQ(kind("mse", {nn::kAny, 1}), "BinaryAccuracy");
  EXPECT_EQ(kind("categorical_crossentropy", {nn::kAny, 3}), "CategoricalAccuracy");
  EXPECT_EQ(kind("sparse_categorical_crossentropy", {nn::kAny, 3}), "SparseCategoricalAccuracy");
  EXPECT_EQ(nn::Metric("crossentropy").resolved("binary_crossentropy", {4, 1}).class_name(),
            "BinaryCrossentropy");
  EXPECT_EQ(nn::Metric("mse").resolved("mae", {4, 1}).class_name(), "MeanSquaredError");
  // Where nothing tells, the shapes do.
  const Tensor y_pred = tensor({0.7f, 0.2f, 0.1f, 0.1f, 0.3f, 0.6f}, {2, 3});
  expect_result("accuracy", {{tensor({0, 1}), y_pred, {}}}, 0.5);
  expect_result("acc", {{one_hot(tensor({0, 2}), 3), y_pred, {}}}, 1);
  expect_result("accuracy", {{tensor({1.f, 0.f}), tensor({0.7f, 0.6f}, {2, 1}), {}}}, 0.5);
  expect_result("ce", {{tensor({0, 2}), y_pred, {}}}, -(std::log(0.7) + std::log(0.6)) / 2);
}

TEST(Metrics, a_tape_keeps_nothing_of_an_update) {
  const nn::Metric accuracy("binary_accuracy");
  const Variable w(ones({3, 1}));
  GradientTape tape;
  const Tensor y = matmul(ones({2, 3}), w);
  const std::size_t saved = tape.saved_bytes();
  accuracy.update(ones({2, 1}), y);
  EXPECT_EQ(tape.saved_bytes(), saved);
  tape.gradient(sum(y), {w});
}

TEST(Metrics, one_trace_serves_all_batch_sizes) {
  const nn::Metric accuracy("categorical_accuracy"), precision("precision");
  auto update = function("update", [&](Tensor y_true, Tensor y_pred) {
    accuracy.update(y_true, y_pred);
    precision.update(y_true, y_pred);
  });
  update.input({dyn, 3}).input({dyn, 3});
  const Tensor right = one_hot(tensor({0, 1, 2}), 3), wrong = one_hot(tensor({1, 2}), 3);
  update(right, right);
  update(wrong, one_hot(tensor({0, 0}), 3));
  EXPECT_NEAR(accuracy.result(), 0.6, 1e-9);
  EXPECT_NEAR(precision.result(), 0.6, 1e-9);
}

TEST(Metrics, errors_name_the_values) {
  std::string text = message_of<ValueError>([] { nn::Metric("acuracy"); });
  EXPECT_HAS(text, "metric: no such one: \"acuracy\" (there are: accuracy, ");
  text = message_of<ShapeError>(
      [] { nn::Metric("categorical_accuracy").update(ones({2, 3}), ones({2, 4})); });
  EXPECT_HAS(text, "y_true has shape [2, 3], y_pred [2, 4]");
  text = message_of<ShapeError>([] {
    const nn::Metric f1("f1_score");
    f1.update(ones({2, 3}), ones({2, 3}));
    f1.update(ones({2, 4}), ones({2, 4}));
  });
  EXPECT_HAS(text, "of shape [3], now of [4]");
  EXPECT_THROW(nn::Precision({.thresholds = {0.5, 0.2}}), ValueError);
  EXPECT_THROW(nn::AUC({.num_thresholds = 1}), ValueError);
  EXPECT_THROW(nn::F1Score({.average = "some"}), ValueError);
  EXPECT_THROW(nn::MeanIoU({.num_classes = 0}), ValueError);
}

TEST(Metrics, a_disposed_one_is_refused) {
  const nn::Metric mse("mse");
  mse.update(ones({2, 1}), zeros({2, 1}));
  EXPECT_EQ(mse.variables().size(), 2u);
  EXPECT_EQ(mse.variables()[0].name(), "mse/total");
  EXPECT_EQ(mse.dispose().variables, 2);
  EXPECT_EQ(mse.dispose().variables, 0);
  EXPECT_THROW(mse.update(ones({2, 1}), zeros({2, 1})), DisposedError);
  EXPECT_THROW(mse.result(), DisposedError);
}

TEST(Metrics, settings_survive_json) {
  using nn::detail::Json;
  const std::vector<nn::Metric> all{
      "binary_accuracy",
      "categorical_accuracy",
      "sparse_categorical_accuracy",
      nn::TopKCategoricalAccuracy({.k = 2, .name = "top"}),
      nn::SparseTopKCategoricalAccuracy({.k = 3}),
      "rmse",
      nn::Accuracy(),
      nn::Mean(),
      nn::Sum({.name = "all"}),
      nn::Precision({.thresholds = {0.2, 0.7}, .class_id = 2}),
      nn::Recall({.top_k = 3}),
      "true_positives",
      nn::AUC({.num_thresholds = 20, .curve = nn::Curve::pr}),
      nn::AUC({.summation_method = nn::Summation::majoring, .thresholds = {0.1, 0.4}}),
      nn::F1Score({.average = "macro"}),
      nn::FBetaScore({.beta = 2, .threshold = 0.4}),
      nn::MeanIoU({.num_classes = 3, .ignore_class = 0}),
      nn::Huber({.delta = 3})};
  for (const nn::Metric& each : all) {
    const nn::Metric again = nn::detail::metric_from_json(nn::detail::to_json(each));
    EXPECT_EQ(again.class_name(), each.class_name());
    EXPECT_EQ(again.config(), each.config());
    EXPECT_EQ(each.fresh().config(), each.config());
  }
  EXPECT_EQ(nn::detail::to_json(nn::Metric("acc")), Json("acc"));
  EXPECT_EQ(nn::detail::metric_from_json(Json::parse(R"({"class_name": "MeanMetricWrapper",
                                "config": {"name": "acc", "fn": "categorical_accuracy"}})"))
                .name(),
            "acc");
}

TEST(Metrics, know_which_results_are_better) {
  for (const char* name : {"accuracy", "acc", "binary_accuracy", "categorical_accuracy",
                           "sparse_top_k_categorical_accuracy", "precision", "recall", "auc",
                           "f1_score", "true_positives", "cosine_similarity"}) {
    EXPECT_EQ(nn::Metric(name).direction(), nn::Direction::higher) << name;
    EXPECT_EQ(nn::Metric(name).fresh().direction(), nn::Direction::higher) << name;
  }
  for (const char* name : {"mse", "mae", "rmse", "crossentropy", "false_negatives", "hinge"}) {
    EXPECT_EQ(nn::Metric(name).direction(), nn::Direction::lower) << name;
    EXPECT_EQ(nn::Metric(name).fresh().direction(), nn::Direction::lower) << name;
  }
  EXPECT_EQ(nn::Metric("acc").resolved("bce", {4, 1}).direction(), nn::Direction::higher);
  EXPECT_EQ(nn::Metric("ce").resolved("bce", {4, 1}).direction(), nn::Direction::lower);
  EXPECT_EQ(nn::Mean().direction(), nn::Direction::unknown);
  const nn::Metric own([](Tensor a, Tensor b) { return mean(abs(a - b), {-1}); }, "own");
  EXPECT_EQ(own.direction(), nn::Direction::unknown);
}

TEST(Metrics, are_called_by_their_class_in_snake_case_unless_named) {
  EXPECT_EQ(nn::Mean().name(), "mean");
  EXPECT_EQ(nn::BinaryAccuracy().name(), "binary_accuracy");
  EXPECT_EQ(nn::SparseTopKCategoricalAccuracy().name(), "sparse_top_k_categorical_accuracy");
  EXPECT_EQ(nn::RootMeanSquaredError().name(), "root_mean_squared_error");
  EXPECT_EQ(nn::FalseNegatives().name(), "false_negatives");
  EXPECT_EQ(nn::Recall({.name = "hits"}).name(), "hits");
}

}  // namespace
}  // namespace tenure::testing
