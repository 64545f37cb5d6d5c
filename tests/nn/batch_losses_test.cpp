// Losses of sequences and of batches, against all that their definitions sum over.
#include <cmath>
#include <functional>
#include <numeric>

#include "support/expect.h"
#include "tenure/nn/losses.h"

namespace tenure::testing {
namespace {

using Doubles = std::vector<double>;

Doubles in_double(const Tensor& x) { return cast(x, DType::float64).to_vector<double>(); }

void expect_each_near(const Doubles& found, const Doubles& wanted, double tolerance,
                      const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(found[i], wanted[i], tolerance * (1 + std::abs(wanted[i]))) << what << " at " << i;
  }
}

// One value per example of these predictions.
using OfBatch = std::function<Doubles(const Doubles& y_pred)>;

// Values eager and traced, in both precisions, weighted; the gradient of their sum.
void expect_batch_loss(const std::function<nn::Loss(nn::Reduction)>& make, const Tensor& y_true,
                       const Doubles& y_pred, const Shape& shape, const OfBatch& reference) {
  const nn::Loss each = make(nn::Reduction::none), total = make(nn::Reduction::sum);
  const std::string what = each.name();
  const Doubles wanted = reference(y_pred);
  const Tensor predictions = tensor(y_pred, shape);
  expect_each_near(in_double(each(y_true, predictions)), wanted, 1e-9, what);
  expect_each_near(in_double(each(y_true, cast(predictions, DType::float32))), wanted, 1e-4, what);
  const auto traced = function("loss", [&](Tensor a, Tensor b) { return each(a, b); });
  expect_each_near(in_double(traced(y_true, predictions)), wanted, 1e-9, what + ", traced");
  Doubles weighted = wanted;
  std::vector<float> weights;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    weights.push_back(0.5f * static_cast<float>(i % 3));
    weighted[i] *= weights.back();
  }
  expect_each_near(in_double(each(y_true, predictions, tensor(weights))), weighted, 1e-9,
                   what + ", weighted");

  Doubles slopes;
  for (std::size_t i = 0; i < y_pred.size(); ++i) {
    constexpr double kStep = 1e-6;
    Doubles up = y_pred, down = y_pred;
    up[i] += kStep;
    down[i] -= kStep;
    const Doubles above = reference(up), below = reference(down);
    slopes.push_back((std::accumulate(above.begin(), above.end(), 0.0) -
                      std::accumulate(below.begin(), below.end(), 0.0)) /
                     (2 * kStep));
  }
  const auto gradient_of = [&](const Tensor& labels, const Tensor& at) {
    GradientTape tape;
    tape.watch(at);
    return tape.gradient(total(labels, at), at);
  };
  expect_each_near(in_double(gradient_of(y_true, predictions)), slopes, 1e-5, what + ", gradient");
  const auto traced_gradient = function("gradient", gradient_of);
  expect_each_near(in_double(traced_gradient(y_true, predictions)), slopes, 1e-5,
                   what + ", traced gradient");
}

Doubles waves(std::size_t count, double scale) {
  Doubles values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = scale * std::sin(1.7 * static_cast<double>(i) + 0.3);
  }
  return values;
}

// ---- CTC

// The probability of all paths through these logits, [steps, classes], that spell the labels.
double spelled(const Doubles& logits, int classes, const std::vector<int>& labels) {
  const int steps = static_cast<int>(logits.size()) / classes;
  double total = 0;
  std::vector<int> path(static_cast<std::size_t>(steps), 0);
  while (true) {
    std::vector<int> text;
    double probability = 1;
    for (int t = 0; t < steps; ++t) {
      const auto row = logits.begin() + t * classes;
      double sum = 0;
      for (int c = 0; c < classes; ++c) sum += std::exp(row[c]);
      const int at = path[static_cast<std::size_t>(t)];
      probability *= std::exp(row[at]) / sum;
      const bool repeats = t > 0 && path[static_cast<std::size_t>(t) - 1] == at;
      if (at != 0 && !repeats) text.push_back(at);
    }
    if (text == labels) total += probability;
    std::size_t digit = 0;
    while (digit < path.size() && ++path[digit] == classes) path[digit++] = 0;
    if (digit == path.size()) return total;
  }
}

OfBatch all_paths(int steps, int classes, const std::vector<std::vector<int>>& labels) {
  return [=](const Doubles& y_pred) {
    Doubles losses;
    const std::ptrdiff_t size = steps * classes;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto begin = y_pred.begin() + static_cast<std::ptrdiff_t>(i) * size;
      losses.push_back(-std::log(spelled({begin, begin + size}, classes, labels[i])));
    }
    return losses;
  };
}

nn::Loss ctc(nn::Reduction reduction) { return nn::CTC({.reduction = reduction}); }

TEST(CTC, is_the_sum_over_all_paths) {
  const std::vector<std::vector<int>> labels{{1, 2}, {1, 1}, {2}, {}, {2, 1, 2}};
  const Tensor padded = tensor({1, 2, 0, 1, 1, 0, 2, 0, 0, 0, 0, 0, 2, 1, 2}, {5, 3});
  expect_batch_loss(ctc, padded, waves(5 * 5 * 3, 2), {5, 5, 3}, all_paths(5, 3, labels));
  expect_batch_loss(ctc, cast(padded, DType::float32), waves(5 * 5 * 3, 2), {5, 5, 3},
                    all_paths(5, 3, labels));
}

TEST(CTC, of_one_step_and_of_one_label) {
  expect_batch_loss(ctc, tensor({1, 0, 2}, {3, 1}), waves(9, 1), {3, 1, 3},
                    all_paths(1, 3, {{1}, {}, {2}}));
}

TEST(CTC, padding_may_stand_anywhere) {
  const Tensor logits = tensor(waves(2 * 6 * 4, 1), {2, 6, 4});
  const Tensor after = nn::CTC()(tensor({1, 3, 0, 0, 2, 0, 0, 0}, {2, 4}), logits);
  const Tensor before = nn::CTC()(tensor({0, 0, 1, 3, 0, 2, 0, 0}, {2, 4}), logits);
  EXPECT_EQ(after.item<double>(), before.item<double>());
}

TEST(CTC, is_stable_over_many_steps) {
  // All classes alike, and one label: each path has probability 2^-steps, and a run of the label
  // may begin and end anywhere.
  constexpr std::int64_t kSteps = 2000;
  const double paths = kSteps * (kSteps + 1) / 2.0;
  const double wanted = kSteps * std::log(2.0) - std::log(paths);
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor loss = nn::CTC()(tensor({1}, {1, 1}), zeros({1, kSteps, 2}, dtype));
    EXPECT_NEAR(in_double(loss)[0], wanted, dtype == DType::float64 ? 1e-8 : 0.05);
  }
}

TEST(CTC, is_infinite_without_a_gradient_where_steps_are_too_few) {
  const Tensor labels = tensor({1, 1, 1, 2}, {2, 2});
  const Tensor logits = tensor(waves(2 * 2 * 3, 1), {2, 2, 3});
  const nn::Loss loss = ctc(nn::Reduction::none);
  GradientTape tape;
  tape.watch(logits);
  const Tensor each = loss(labels, logits);
  EXPECT_TRUE(std::isinf(in_double(each)[0]));  // 1 blank 1
  EXPECT_TRUE(std::isfinite(in_double(each)[1]));
  const Doubles slopes = in_double(tape.gradient(sum(each), logits));
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(slopes[i], 0);
  EXPECT_NE(slopes[6], 0);
}

TEST(CTC, trains_a_model_to_spell) {
  for (const bool eager : {false, true}) {
    set_seed(4);
    const nn::Sequential model(
        {nn::LSTM({.units = 12, .return_sequences = true, .input_shape = {6, 3}}),
         nn::Dense({.units = 4})});
    model.compile({.optimizer = nn::Adam({.learning_rate = 0.05}), .loss = "ctc", .eager = eager});
    const Tensor x = random::normal({4, 6, 3});
    const Tensor y = tensor({1, 2, 3, 3, 2, 0, 1, 0, 0, 2, 2, 0}, {4, 3});
    double loss = 0;
    for (int step = 0; step < 80; ++step) loss = model.train_on_batch(x, y)[0].second;
    EXPECT_LT(loss, 0.5);
  }
}

TEST(CTC, of_batches_whose_size_is_free) {
  auto traced = function("ctc", [](Tensor y, Tensor x) { return ctc(nn::Reduction::none)(y, x); });
  traced.input({dyn, 2}).input({dyn, 4, 3});
  for (const std::int64_t rows : {2, 3}) {
    const Doubles logits = waves(static_cast<std::size_t>(rows) * 12, 1.5);
    const std::vector<std::vector<int>> labels(static_cast<std::size_t>(rows), {2, 1});
    const Tensor y = broadcast_to(tensor({2, 1}), {rows, 2});
    expect_each_near(in_double(traced(y, tensor(logits, {rows, 4, 3}))),
                     all_paths(4, 3, labels)(logits), 1e-9, "ctc");
  }
}

TEST(CTC, errors_name_the_shapes_and_the_label) {
  const nn::Loss loss("ctc");
  EXPECT_HAS(message_of<ShapeError>([&] { loss(ones({2, 3}), ones({2, 5})); }),
             "ctc: takes logits of shape [batch, steps, classes], was given [2, 5]");
  EXPECT_HAS(message_of<ShapeError>([&] { loss(ones({2}), ones({2, 5, 3})); }),
             "ctc: takes labels of shape [batch, length], padded with 0, was given [2] for logits "
             "[2, 5, 3]");
  EXPECT_HAS(message_of<ValueError>([&] { loss(tensor({1, 2, 3, 0}, {2, 2}), ones({2, 5, 3})); }),
             "ctc: the label at position 2 of the batch is 3, but there are 3 classes in y_pred "
             "[2, 5, 3]");
}

// ---- Circle

struct CircleCase {
  double gamma = 80, margin = 0.4;
  bool remove_diagonal = true;
};

OfBatch circles(const CircleCase& o, const std::vector<int>& labels, std::size_t features) {
  return [=](const Doubles& y_pred) {
    Doubles losses;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      double near = 0, far = 0;
      for (std::size_t j = 0; j < labels.size(); ++j) {
        double cosine = 0;
        for (std::size_t k = 0; k < features; ++k) {
          cosine += y_pred[i * features + k] * y_pred[j * features + k];
        }
        const double d = std::max(1 - cosine, 0.0);
        if (labels[i] != labels[j]) {
          far += std::exp(o.gamma * std::max(1 + o.margin - d, 0.0) * (1 - o.margin - d));
        } else if (i != j || !o.remove_diagonal) {
          near += std::exp(-o.gamma * (o.margin + d) * (o.margin - d));
        }
      }
      losses.push_back(std::log1p(near * far));
    }
    return losses;
  };
}

TEST(Circle, is_its_formula_over_all_pairs) {
  // Four classes; the last has one example, which has no neighbours.
  const std::vector<int> labels{0, 1, 0, 2, 1, 1, 2, 3};
  Doubles embeddings = waves(8 * 3, 1);
  for (std::size_t i = 0; i < 8; ++i) {
    double length = 0;
    for (std::size_t k = 0; k < 3; ++k) length += embeddings[i * 3 + k] * embeddings[i * 3 + k];
    for (std::size_t k = 0; k < 3; ++k) embeddings[i * 3 + k] /= std::sqrt(length) * 1.01;
  }
  for (const CircleCase& each :
       {CircleCase{2, 0.25, true}, CircleCase{2, 0.25, false}, CircleCase{8, 0.4, true}}) {
    const auto make = [&](nn::Reduction reduction) {
      return nn::Circle({.gamma = each.gamma,
                         .margin = each.margin,
                         .remove_diagonal = each.remove_diagonal,
                         .reduction = reduction});
    };
    expect_batch_loss(make, tensor(labels), embeddings, {8, 3}, circles(each, labels, 3));
  }
  // Those without a loss do not count.
  const Doubles losses = circles({}, labels, 3)(embeddings);
  double total = 0, counted = 0;
  for (const double loss : losses) {
    total += loss;
    counted += loss > 1e-12 ? 1 : 0;
  }
  EXPECT_LT(counted, 8);
  const Tensor mean = nn::Circle()(tensor(labels, {8, 1}), tensor(embeddings, {8, 3}));
  EXPECT_NEAR(mean.item<double>(), total / counted, 1e-9 * total);
  EXPECT_HAS(message_of<ShapeError>([] { nn::Circle()(ones({2}), ones({2, 3, 4})); }),
             "circle: takes embeddings of shape [batch, features], was given [2, 3, 4]");
}

}  // namespace
}  // namespace tenure::testing
