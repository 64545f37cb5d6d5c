// Each loss against its formula in plain loops, and its gradient against finite differences.
#include "tenure/nn/losses.h"

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "nn/config.h"
#include "support/expect.h"

namespace tenure::testing {
namespace {

using Doubles = std::vector<double>;
using Row = std::function<double(const Doubles& y_true, const Doubles& y_pred)>;

constexpr double kFuzz = 1e-7;
constexpr std::int64_t kRows = 4, kColumns = 3;

double clipped(double p) { return std::min(std::max(p, kFuzz), 1 - kFuzz); }
double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

Row mean_over(const std::function<double(double, double)>& element) {
  return [element](const Doubles& t, const Doubles& p) {
    double total = 0;
    for (std::size_t i = 0; i < t.size(); ++i) total += element(t[i], p[i]);
    return total / static_cast<double>(t.size());
  };
}

Doubles softmax_of(const Doubles& x) {
  Doubles p;
  double total = 0;
  for (const double each : x) total += std::exp(each);
  for (const double each : x) p.push_back(std::exp(each) / total);
  return p;
}

Doubles normalised(const Doubles& x) {
  const double total = std::accumulate(x.begin(), x.end(), 0.0);
  Doubles p;
  for (const double each : x) p.push_back(clipped(each / total));
  return p;
}

struct Data {
  Doubles y_true, y_pred;
};

// Predictions between 0 and 1, labels of several kinds.
Data probabilities() {
  return {{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0},
          {0.7, 0.2, 0.1, 0.3, 0.3, 0.4, 0.05, 0.15, 0.8, 0.25, 0.6, 0.15}};
}
Data logits() {
  return {probabilities().y_true, {0.7, -2, 1.1, 3, -0.3, 0.4, -5, 1.5, 0.8, 2.5, 0.6, -1.5}};
}
Data reals() {
  return {{1.2, 0.3, -0.7, 2.1, 0.4, -1.1, 0.6, 0.9, 1.4, -0.2, 1.7, 0.8},
          {0.7, -0.2, 1.1, 3.5, 0.35, 0.4, -0.5, 1.5, 0.8, 2.5, 0.6, -1.5}};
}
Data positives() {
  Data data = reals();
  for (double& each : data.y_true) each = std::abs(each);
  for (double& each : data.y_pred) each = std::abs(each);
  return data;
}
Data signs() {
  Data data = reals();
  for (double& each : data.y_true) each = each > 0 ? 1 : -1;
  return data;
}

Tensor rows_of(const Doubles& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return tensor(values, {count / kColumns, kColumns});
}

Doubles row(const Doubles& values, std::size_t i) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i) * kColumns;
  return {begin, begin + kColumns};
}

void expect_values(const Tensor& found, const Doubles& wanted, double tolerance,
                   const std::string& what) {
  const Doubles values = cast(found, DType::float64).to_vector<double>();
  ASSERT_EQ(values.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(values[i], wanted[i], tolerance * (1 + std::abs(wanted[i]))) << what << " at " << i;
  }
}

// Values per example, the mean, weights, masks, sums; gradients; eager and traced.
void expect_loss(const nn::Loss& loss, const Row& reference, const Data& data,
                 const Tensor& labels = {}) {
  const std::string what = loss.name();
  const Tensor y_true = labels.defined() ? labels : rows_of(data.y_true);
  const Tensor y_pred = rows_of(data.y_pred);
  Doubles each;
  const auto reference_of = [&](const Doubles& predictions) {
    Doubles values;
    for (std::size_t i = 0; i < kRows; ++i) {
      values.push_back(reference(row(data.y_true, i), row(predictions, i)));
    }
    return values;
  };
  each = reference_of(data.y_pred);
  expect_values(loss.per_example(y_true, y_pred), each, 1e-10, what);
  expect_values(loss.per_example(y_true, cast(y_pred, DType::float32)), each, 2e-5, what);
  const double total = each[0] + each[1] + each[2] + each[3];
  expect_values(loss(y_true, y_pred), {total / 4}, 1e-10, what);
  const Tensor weights = tensor({0.5f, 2.f, 0.f, 1.f});
  expect_values(loss(y_true, y_pred, weights), {(0.5 * each[0] + 2 * each[1] + each[3]) / 4}, 1e-7,
                what + ", weighted");
  const Tensor mask = tensor(std::vector<bool>{true, false, true, true});
  expect_values(loss(y_true, y_pred, {}, mask), {(each[0] + each[2] + each[3]) / 3}, 1e-10,
                what + ", masked");
  const auto traced = function("loss", [&](Tensor a, Tensor b, Tensor w) { return loss(a, b, w); });
  expect_values(traced(y_true, y_pred, weights), {(0.5 * each[0] + 2 * each[1] + each[3]) / 4},
                1e-7, what + ", traced");

  GradientTape tape;
  tape.watch(y_pred);
  const Tensor gradient = tape.gradient(loss(y_true, y_pred), y_pred);
  Doubles slopes;
  for (std::size_t i = 0; i < data.y_pred.size(); ++i) {
    constexpr double kStep = 1e-6;
    Doubles up = data.y_pred, down = data.y_pred;
    up[i] += kStep;
    down[i] -= kStep;
    const Doubles above = reference_of(up), below = reference_of(down);
    double change = 0;
    for (std::size_t r = 0; r < kRows; ++r) change += above[r] - below[r];
    slopes.push_back(change / (2 * kStep) / kRows);
  }
  expect_values(gradient, slopes, 1e-6, what + ", gradient");
}

TEST(Losses, of_halves_are_those_of_float32) {
  set_seed(8);
  const Tensor labels = softmax(random::normal({64, 3})), weights = random::uniform({64});
  for (const char* name :
       {"mse", "mae", "mape", "msle", "bce", "categorical_crossentropy", "kld", "poisson", "hinge",
        "squared_hinge", "categorical_hinge", "huber", "log_cosh", "cosine_similarity",
        "binary_focal_crossentropy", "categorical_focal_crossentropy"}) {
    for (const DType dtype : {DType::float16, DType::bfloat16}) {
      const Tensor guess = cast(softmax(random::normal({64, 3})), dtype);
      const Tensor wide = cast(guess, DType::float32);
      const nn::Loss loss(name);
      for (const Tensor& weight : {Tensor(), weights}) {
        const Tensor narrow = loss(labels, guess, weight);
        EXPECT_EQ(narrow.dtype(), DType::float32);
        EXPECT_TRUE(equal(narrow, loss(labels, wide, weight)).item<bool>()) << name << ' ' << dtype;
      }
      const Tensor each = loss.per_example(labels, guess);
      EXPECT_TRUE(all(equal(each, loss.per_example(labels, wide))).item<bool>())
          << name << ' ' << dtype;
    }
  }
  const Tensor far = full({1, 256}, 240, DType::float16);  // the squares add up to no float16
  EXPECT_TRUE(equal(nn::MeanSquaredError()(zeros({1, 256}), far), 57600).item<bool>());
}

TEST(Losses, of_real_values) {
  expect_loss("mse", mean_over([](double t, double p) { return (t - p) * (t - p); }), reals());
  expect_loss("mae", mean_over([](double t, double p) { return std::abs(t - p); }), reals());
  expect_loss("mape", mean_over([](double t, double p) {
                return 100 * std::abs((t - p) / std::max(std::abs(t), kFuzz));
              }),
              reals());
  expect_loss("msle", mean_over([](double t, double p) {
                const double d =
                    std::log(std::max(p, kFuzz) + 1) - std::log(std::max(t, kFuzz) + 1);
                return d * d;
              }),
              positives());
  expect_loss("log_cosh", mean_over([](double t, double p) { return std::log(std::cosh(p - t)); }),
              reals());
  expect_loss("poisson", mean_over([](double t, double p) { return p - t * std::log(p + kFuzz); }),
              positives());
  for (const double delta : {1.0, 0.4}) {
    expect_loss(nn::Huber({.delta = delta}), mean_over([delta](double t, double p) {
                  const double e = std::abs(t - p);
                  return e <= delta ? e * e / 2 : delta * e - delta * delta / 2;
                }),
                reals());
  }
}

TEST(Losses, hinges) {
  const auto hinge = [](double t, double p) { return std::max(1 - t * p, 0.0); };
  const auto from_binary = [&](double t, double p) { return hinge(2 * t - 1, p); };
  const auto squared = [&](double t, double p) { return hinge(t, p) * hinge(t, p); };
  expect_loss("hinge", mean_over(hinge), signs());
  expect_loss("hinge", mean_over(from_binary), logits());
  expect_loss("squared_hinge", mean_over(squared), signs());
  expect_loss(
      "categorical_hinge",
      [](const Doubles& t, const Doubles& p) {
        double right = 0, wrong = -1e9;
        for (std::size_t i = 0; i < t.size(); ++i) {
          right += t[i] * p[i];
          wrong = std::max(wrong, (1 - t[i]) * p[i]);
        }
        return std::max(wrong - right + 1, 0.0);
      },
      logits());
}

TEST(Losses, cosine_similarity_and_divergence) {
  const auto length = [](const Doubles& x) {
    return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
  };
  expect_loss(
      "cosine_similarity",
      [&](const Doubles& t, const Doubles& p) {
        return -std::inner_product(t.begin(), t.end(), p.begin(), 0.0) / length(t) / length(p);
      },
      reals());
  Data data = probabilities();
  data.y_true = {0.5, 0.3, 0.2, 0.1, 0.1, 0.8, 0.9, 0.05, 0.05, 0.3, 0.3, 0.4};
  expect_loss(
      "kl_divergence",
      [](const Doubles& t, const Doubles& p) {
        double total = 0;
        for (std::size_t i = 0; i < t.size(); ++i) total += t[i] * std::log(t[i] / p[i]);
        return total;
      },
      data);
}

double binary_entropy(double t, double p) {
  return -t * std::log(clipped(p)) - (1 - t) * std::log(1 - clipped(p));
}

TEST(Losses, binary_crossentropy) {
  expect_loss("binary_crossentropy", mean_over(binary_entropy), probabilities());
  expect_loss(
      nn::BinaryCrossentropy({.from_logits = true, .label_smoothing = 0.2}),
      mean_over([](double t, double x) { return binary_entropy(t * 0.8 + 0.1, sigmoid_of(x)); }),
      logits());
}

Row crossentropy(double smoothing, bool from_logits) {
  return [=](const Doubles& t, const Doubles& x) {
    const Doubles p = from_logits ? softmax_of(x) : normalised(x);
    double total = 0;
    for (std::size_t i = 0; i < t.size(); ++i) {
      const double label = t[i] * (1 - smoothing) + smoothing / static_cast<double>(t.size());
      total -= label * std::log(p[i]);
    }
    return total;
  };
}

TEST(Losses, categorical_crossentropy) {
  expect_loss("categorical_crossentropy", crossentropy(0, false), probabilities());
  expect_loss(nn::CategoricalCrossentropy({.label_smoothing = 0.3}), crossentropy(0.3, false),
              probabilities());
  expect_loss(nn::CategoricalCrossentropy({.from_logits = true, .label_smoothing = 0.3}),
              crossentropy(0.3, true), logits());
}

TEST(Losses, sparse_categorical_crossentropy_takes_class_numbers) {
  const Tensor numbers = tensor({0, 1, 2, 1});
  expect_loss("sparse_categorical_crossentropy", crossentropy(0, false), probabilities(), numbers);
  expect_loss(nn::SparseCategoricalCrossentropy({.from_logits = true}), crossentropy(0, true),
              logits(), numbers);
  expect_loss(nn::SparseCategoricalCrossentropy({.from_logits = true}), crossentropy(0, true),
              logits(), cast(reshape(numbers, {4, 1}), DType::float32));
}

TEST(Losses, sparse_categorical_crossentropy_may_ignore_a_class) {
  const nn::Loss loss =
      nn::SparseCategoricalCrossentropy({.from_logits = true, .ignore_class = -1});
  const Tensor x = rows_of(logits().y_pred);
  const Row reference = crossentropy(0, true);
  const double first = reference({1, 0, 0}, row(logits().y_pred, 0));
  const double last = reference({0, 1, 0}, row(logits().y_pred, 3));
  const Tensor labels = tensor({0, -1, -1, 1});
  expect_values(loss.per_example(labels, x), {first, 0, 0, last}, 1e-10, "ignored");
  expect_values(loss(labels, x), {(first + last) / 2}, 1e-10, "ignored");
}

TEST(Losses, focal_crossentropies) {
  for (const bool balanced : {false, true}) {
    for (const bool from_logits : {false, true}) {
      expect_loss(nn::BinaryFocalCrossentropy({.apply_class_balancing = balanced,
                                               .alpha = 0.3,
                                               .gamma = 1.5,
                                               .from_logits = from_logits}),
                  mean_over([=](double t, double x) {
                    const double p = from_logits ? sigmoid_of(x) : x;
                    const double right = t * p + (1 - t) * (1 - p);
                    const double weight = balanced ? t * 0.3 + (1 - t) * 0.7 : 1;
                    return weight * std::pow(1 - right, 1.5) * binary_entropy(t, p);
                  }),
                  from_logits ? logits() : probabilities());
    }
  }
  for (const bool from_logits : {false, true}) {
    expect_loss(
        nn::CategoricalFocalCrossentropy({.from_logits = from_logits}),
        [=](const Doubles& t, const Doubles& x) {
          const Doubles p = from_logits ? softmax_of(x) : normalised(x);
          double total = 0;
          for (std::size_t i = 0; i < t.size(); ++i) {
            total -= 0.25 * std::pow(1 - p[i], 2) * t[i] * std::log(p[i]);
          }
          return total;
        },
        from_logits ? logits() : probabilities());
  }
}

TEST(Losses, generalized_crossentropy) {
  for (const double q : {0.5, 0.7}) {
    const auto reference = [q](const Doubles& t, const Doubles& p) {
      const double right = std::inner_product(t.begin(), t.end(), p.begin(), 0.0);
      return (1 - std::pow(right, q)) / q;
    };
    const Data data{{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0}, probabilities().y_pred};
    const nn::Loss loss = nn::CategoricalGeneralizedCrossEntropy({.q = q});
    expect_loss(loss, reference, data, tensor({0, 1, 2, 1}));
    expect_loss(loss, reference, data, tensor({0.f, 1.f, 2.f, 1.f}, {4, 1}));
    EXPECT_HAS(
        whole_message_of<ShapeError>([&] { loss(rows_of(data.y_true), rows_of(data.y_pred)); }),
        "the class numbers of one-hot labels are arg_max(y_true, -1)");
    EXPECT_HAS(
        whole_message_of<ValueError>([&] { loss(tensor({0, 1, 3, 1}), rows_of(data.y_pred)); }),
        "the label at position 2 of the batch is 3, but there are 3 classes");
  }
}

TEST(Losses, labels_of_the_other_kind_are_told_which_loss_takes_them) {
  const Tensor guess = full({2, 3}, 0.25f), numbers = tensor({0, 2});
  const Tensor rows = one_hot(numbers, 3);
  for (const Tensor& labels : {numbers, reshape(numbers, {2, 1})}) {
    EXPECT_HAS(
        whole_message_of<ShapeError>([&] { nn::Loss("categorical_crossentropy")(labels, guess); }),
        "class numbers are for the loss sparse_categorical_crossentropy; they become rows by "
        "one_hot(y_true, 3)");
  }
  for (const char* name : {"categorical_focal_crossentropy", "categorical_hinge"}) {
    EXPECT_HAS(whole_message_of<ShapeError>([&] { nn::Loss{name}(numbers, guess); }),
               "class numbers become rows by one_hot(y_true, 3)");
  }
  EXPECT_HAS(whole_message_of<ShapeError>(
                 [&] { nn::Loss("sparse_categorical_crossentropy")(rows, guess); }),
             "one-hot labels are for the loss categorical_crossentropy; their class numbers are "
             "arg_max(y_true, -1)");
}

TEST(Losses, a_reduction_may_be_named) {
  EXPECT_EQ(nn::MeanSquaredError({.reduction = "sum"}).reduction(), nn::Reduction::sum);
  EXPECT_EQ(nn::MeanSquaredError({.reduction = nn::Reduction::none}).reduction(),
            nn::Reduction::none);
  EXPECT_HAS(message_of<ValueError>([] { nn::MeanSquaredError({.reduction = "total"}); }),
             "reduction: no such one: \"total\" (there are: sum_over_batch_size, sum, none, "
             "mean_with_sample_weight)");
}

// What both have, what only the first has, and what only the second.
struct Overlap {
  double both = 0, first = 0, second = 0;
  Overlap(const Doubles& t, const Doubles& p) {
    for (std::size_t i = 0; i < t.size(); ++i) {
      both += t[i] * p[i];
      first += t[i] * (1 - p[i]);
      second += p[i] * (1 - t[i]);
    }
  }
};

TEST(Losses, of_what_overlaps) {
  const Row dice = [](const Doubles& t, const Doubles& p) {
    const Overlap o(t, p);
    return 1 - 2 * o.both / (2 * o.both + o.first + o.second + kFuzz);
  };
  const Row tversky = [](const Doubles& t, const Doubles& p) {
    const Overlap o(t, p);
    return 1 - o.both / (o.both + 0.3 * o.first + 0.9 * o.second + kFuzz);
  };
  expect_loss(nn::Dice({.axis = {1}}), dice, probabilities());
  expect_loss(nn::Tversky({.alpha = 0.3, .beta = 0.9, .axis = {-1}}), tversky, probabilities());
  // Without an axis all is one region.
  const Data all = probabilities();
  const Tensor y_true = rows_of(all.y_true), y_pred = rows_of(all.y_pred);
  expect_values(nn::Dice()(y_true, y_pred), {dice(all.y_true, all.y_pred)}, 1e-10, "dice");
  expect_values(nn::Tversky({.alpha = 0.3, .beta = 0.9})(y_true, y_pred),
                {tversky(all.y_true, all.y_pred)}, 1e-10, "tversky");
  EXPECT_HAS(message_of<ShapeError>([&] { nn::Dice()(y_true, y_pred, ones({4})); }),
             "dice: is one number for the whole batch, which weights of shape [4] cannot weigh: it "
             "should give one for each example (of Keras's losses that have it, set .axis");
}

TEST(Losses, of_logits_are_exact_where_probabilities_are_not) {
  const Tensor x = tensor({100.f, -100.f}, {1, 2}), y = tensor({0.f, 1.f}, {1, 2});
  EXPECT_EQ(nn::CategoricalCrossentropy({.from_logits = true})(y, x).item<float>(), 200.f);
  EXPECT_EQ(nn::BinaryCrossentropy({.from_logits = true})(y, x).item<float>(), 100.f);
  const nn::Loss before = nn::Loss("categorical_crossentropy").before("softmax").value();
  EXPECT_EQ(before(y, x).item<float>(), 200.f);
  EXPECT_TRUE(nn::Loss("binary_crossentropy").before("sigmoid"));
  EXPECT_FALSE(nn::Loss("binary_crossentropy").before("softmax"));
  EXPECT_FALSE(nn::Loss("mse").before("softmax"));
  EXPECT_FALSE(before.before("softmax"));
}

TEST(Losses, reductions) {
  const Tensor y = tensor({1.0, 2.0, 3.0, 4.0}, {4, 1}), zero = zeros({4, 1});
  const Tensor weights = tensor({1.f, 0.f, 0.f, 3.f});
  const auto with = [&](nn::Reduction reduction) {
    return nn::MeanSquaredError({.reduction = reduction})(y, zero, weights);
  };
  expect_values(with(nn::Reduction::none), {1, 0, 0, 48}, 1e-6, "none");
  expect_values(with(nn::Reduction::sum), {49}, 1e-6, "sum");
  expect_values(with(nn::Reduction::sum_over_batch_size), {49.0 / 4}, 1e-6, "mean");
  expect_values(with(nn::Reduction::mean), {49.0 / 4}, 1e-6, "mean");
  expect_values(with(nn::Reduction::mean_with_sample_weight), {49.0 / 4}, 1e-6, "weighted mean");
  expect_values(nn::Loss("mse")(y, zero, {}, tensor(std::vector<bool>(4, false))), {0}, 0,
                "nothing");
}

TEST(Losses, weights_and_masks_of_sequences) {
  const Tensor y_true = zeros({2, 3, 1}),
               y_pred = tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {2, 3, 1});
  const nn::Loss mse("mse");
  expect_values(mse(y_true, y_pred, tensor({1.f, 0.f})), {14.0 / 6}, 1e-6, "per example");
  expect_values(mse(y_true, y_pred, tensor({1.f, 0.f}, {2, 1})), {14.0 / 6}, 1e-6, "per example");
  const Tensor steps = tensor(std::vector<bool>{true, true, false, true, false, false}, {2, 3});
  expect_values(mse(y_true, y_pred, cast(steps, DType::float32)), {21.0 / 6}, 1e-6, "per step");
  expect_values(mse(y_true, y_pred, {}, steps), {21.0 / 3}, 1e-6, "masked");
}

TEST(Losses, a_last_axis_of_size_1_may_lack) {
  const Tensor column = tensor({1.f, 2.f, 3.f}, {3, 1}), flat = tensor({1.f, 2.f, 4.f});
  const nn::Loss mse("mse");
  expect_values(mse(flat, column), {1.0 / 3}, 1e-6, "labels");
  expect_values(mse(column, flat), {1.0 / 3}, 1e-6, "predictions");
  expect_values(mse(tensor({1, 2, 4}), column), {1.0 / 3}, 1e-6, "integers");
  expect_values(mse(tensor(3.f), tensor(1.f)), {4}, 1e-6, "scalars");
}

TEST(Losses, a_function_of_ones_own) {
  const nn::Loss own([](Tensor y_true, Tensor y_pred) { return max(abs(y_true - y_pred), {-1}); },
                     "worst");
  EXPECT_EQ(own.name(), "worst");
  expect_values(own(zeros({2, 2}), tensor({1.f, 3.f, 2.f, 0.f}, {2, 2})), {2.5}, 1e-6, "own");
  EXPECT_THROW(nn::detail::to_json(own), UnsupportedError);
}

TEST(Losses, are_called_by_their_class_in_snake_case_unless_named) {
  EXPECT_EQ(nn::MeanSquaredError().name(), "mean_squared_error");
  EXPECT_EQ(nn::MeanSquaredLogarithmicError().name(), "mean_squared_logarithmic_error");
  EXPECT_EQ(nn::KLDivergence().name(), "kl_divergence");
  EXPECT_EQ(nn::LogCosh().name(), "log_cosh");
  EXPECT_EQ(nn::Huber().name(), "huber");
  EXPECT_EQ(nn::CosineSimilarity().name(), "cosine_similarity");
  EXPECT_EQ(nn::SparseCategoricalCrossentropy().name(), "sparse_categorical_crossentropy");
  EXPECT_EQ(nn::BinaryFocalCrossentropy().name(), "binary_focal_crossentropy");
  EXPECT_EQ(nn::CTC().name(), "ctc");
  EXPECT_EQ(nn::CategoricalGeneralizedCrossEntropy().name(),
            "categorical_generalized_cross_entropy");
  EXPECT_EQ(nn::Poisson({.name = "counts"}).name(), "counts");
}

TEST(Losses, are_born_where_the_user_wrote_them) {
  const nn::Loss mse("mse");
  const Tensor y_true = ones({2, 2}), y_pred = zeros({2, 2});
  // clang-format off
  const auto line = here().line(); const Tensor loss = mse(y_true, y_pred);
  // clang-format on
  EXPECT_HAS(loss.story().birth.site.file_name(), "losses_test.cpp");
  EXPECT_EQ(loss.story().birth.site.line(), line);
}

TEST(Losses, one_trace_serves_all_batch_sizes) {
  for (const char* name : {"mse", "binary_crossentropy", "categorical_crossentropy", "huber"}) {
    const nn::Loss loss(name);
    auto traced = function("loss", [&](Tensor a, Tensor b) { return loss(a, b); });
    traced.input({dyn, 3}).input({dyn, 3});
    for (const std::int64_t rows : {2, 5}) {
      const Tensor a = full({rows, 3}, 0.25), b = full({rows, 3}, 0.5);
      EXPECT_NEAR(traced(a, b).item<float>(), loss(a, b).item<float>(), 1e-6) << name;
    }
  }
}

TEST(Losses, errors_name_the_values) {
  const nn::Loss mse("mse");
  std::string text = message_of<ShapeError>([&] { mse(ones({4, 1}), ones({4, 3})); });
  EXPECT_HAS(text, "mean_squared_error: y_true has shape [4, 1], y_pred [4, 3]");
  text = message_of<ShapeError>([&] { mse(ones({4, 3}), ones({4, 3}), ones({3})); });
  EXPECT_HAS(text, "weights of shape [3] do not fit values of shape [4]");
  text = message_of<ShapeError>(
      [] { nn::Loss("sparse_categorical_crossentropy")(ones({4, 3}), ones({4, 3})); });
  EXPECT_HAS(text, "y_true of shape [4, 3] is not one class number per row of y_pred, [4, 3]");
  EXPECT_THROW(nn::Loss("sparse_categorical_crossentropy")(tensor({7}), ones({1, 3})), ValueError);
  text = message_of<ValueError>([] { nn::Loss("msee"); });
  EXPECT_HAS(text, "loss: no such one: \"msee\" (there are: mean_squared_error, ");
  EXPECT_THROW(nn::Huber({.delta = 0}), ValueError);
  EXPECT_THROW(nn::CategoricalCrossentropy({.label_smoothing = 2}), ValueError);
}

TEST(Losses, settings_survive_json) {
  using nn::detail::Json;
  const std::vector<nn::Loss> all{"mse",
                                  "mae",
                                  "mape",
                                  "msle",
                                  "kld",
                                  "poisson",
                                  "hinge",
                                  "squared_hinge",
                                  "categorical_hinge",
                                  "log_cosh",
                                  nn::BinaryCrossentropy({.from_logits = true, .name = "entropy"}),
                                  nn::CategoricalCrossentropy({.label_smoothing = 0.1}),
                                  nn::SparseCategoricalCrossentropy({.ignore_class = 3}),
                                  nn::BinaryFocalCrossentropy({.gamma = 3}),
                                  nn::CategoricalFocalCrossentropy({.alpha = 0.5}),
                                  nn::Huber({.delta = 2, .reduction = nn::Reduction::sum}),
                                  nn::CosineSimilarity({.axis = 1}),
                                  nn::CategoricalGeneralizedCrossEntropy({.q = 0.3}),
                                  "ctc",
                                  nn::Dice({.axis = {1, 2}}),
                                  nn::Tversky({.alpha = 0.3, .name = "regions"}),
                                  nn::Circle({.gamma = 64, .remove_diagonal = false})};
  for (const nn::Loss& each : all) {
    const nn::Loss again = nn::detail::loss_from_json(nn::detail::to_json(each));
    EXPECT_EQ(again.class_name(), each.class_name());
    EXPECT_EQ(again.config(), each.config());
    EXPECT_EQ(again.name(), each.name());
  }
  EXPECT_EQ(nn::Loss("meanSquaredError").class_name(), "MeanSquaredError");
  EXPECT_EQ(nn::detail::loss_from_json(Json::parse(R"({"class_name": "MeanAbsoluteError",
                                "config": {"reduction": "auto", "name": "mae"}})"))
                .name(),
            "mae");
  EXPECT_THROW(nn::detail::loss_from_json(Json(3)), ValueError);
}

}  // namespace
}  // namespace tenure::testing
