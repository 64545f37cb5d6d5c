// Training steps of whole models, traced: the same to the last bit as eager ones, and they learn.
#include <gtest/gtest.h>

#include <cmath>

#include "models/cnn.h"
#include "models/mlp.h"
#include "models/recurrent.h"
#include "models/transformer.h"
#include "support/expect.h"

namespace tenure::testing {
namespace {

namespace models = bench::models;

// Trains a model traced and a copy of it eagerly on one batch.
template <class Make>
void expect_same_training(const Make& make, int steps) {
  set_seed(1);
  models::Training eager(make());
  set_seed(1);
  models::Training traced(make());
  const auto step = traced.traced();
  const auto [x, y] = eager.model().random_batch();
  Floats losses;
  for (int i = 0; i < steps; ++i) {
    const Floats loss = floats(step(x, y));
    ASSERT_EQ(loss, floats(eager.step(x, y))) << "step " << i;
    losses.push_back(loss[0]);
  }
  EXPECT_EQ(step.traces().size(), 1U);
  EXPECT_LT(losses.back(), losses.front());
  const auto parameters = traced.model().parameters(), wanted = eager.model().parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ(floats(parameters[i].read()), floats(wanted[i].read())) << "parameter " << i;
  }
}

TEST(Training, mlp) {
  expect_same_training([] { return models::Mlp({20, 16, 16, 5}, 8); }, 10);
}

TEST(Training, rnn) {
  expect_same_training([] { return models::Rnn({3, 7, 4, 6}); }, 10);
}

TEST(Training, lstm) {
  expect_same_training([] { return models::Lstm({3, 7, 4, 6}); }, 10);
}

TEST(Training, cnn) {
  expect_same_training([] { return models::Cnn({2, 14, 3, 4, 8, 5}); }, 10);
}

TEST(Training, transformer) {
  expect_same_training([] { return models::Transformer({2, 5, 8, 2, 12}); }, 10);
}

using Doubles = std::vector<double>;

Doubles doubles(const Variable& variable) {
  const Floats values = floats(variable.read());
  return {values.begin(), values.end()};
}

// One dense layer after another in double precision: a step of the same training, in plain loops.
struct PlainMlp {
  std::vector<std::size_t> widths;
  std::vector<Doubles> parameters;  // kernel, bias, kernel, bias ...

  // The loss, and each parameter's gradient.
  double backward(const Doubles& x, const Doubles& labels, std::size_t batch,
                  std::vector<Doubles>& gradients) const {
    const std::size_t layers = widths.size() - 1;
    std::vector<Doubles> values{x};  // what goes into each layer, and the logits
    for (std::size_t l = 0; l < layers; ++l) {
      const std::size_t in = widths[l], out = widths[l + 1];
      Doubles y(batch * out);
      for (std::size_t row = 0; row < batch; ++row) {
        for (std::size_t j = 0; j < out; ++j) {
          double sum = parameters[2 * l + 1][j];
          for (std::size_t i = 0; i < in; ++i) {
            sum += values[l][row * in + i] * parameters[2 * l][i * out + j];
          }
          y[row * out + j] = l + 1 < layers ? std::max(sum, 0.0) : sum;
        }
      }
      values.push_back(std::move(y));
    }
    const std::size_t classes = widths.back();
    Doubles dy(batch * classes);
    double loss = 0;
    for (std::size_t row = 0; row < batch; ++row) {
      double total = 0;
      for (std::size_t c = 0; c < classes; ++c) {
        total += std::exp(values[layers][row * classes + c]);
      }
      for (std::size_t c = 0; c < classes; ++c) {
        const std::size_t at = row * classes + c;
        const double p = std::exp(values[layers][at]) / total;
        loss -= labels[at] * std::log(p) / static_cast<double>(batch);
        dy[at] = (p - labels[at]) / static_cast<double>(batch);
      }
    }
    gradients.assign(parameters.size(), {});
    for (std::size_t l = layers; l-- > 0;) {
      const std::size_t in = widths[l], out = widths[l + 1];
      Doubles kernel(in * out), bias(out), dx(batch * in);
      for (std::size_t row = 0; row < batch; ++row) {
        for (std::size_t j = 0; j < out; ++j) {
          const double d = dy[row * out + j];
          bias[j] += d;
          for (std::size_t i = 0; i < in; ++i) {
            kernel[i * out + j] += values[l][row * in + i] * d;
            if (values[l][row * in + i] > 0) dx[row * in + i] += d * parameters[2 * l][i * out + j];
          }
        }
      }
      gradients[2 * l] = std::move(kernel);
      gradients[2 * l + 1] = std::move(bias);
      dy = std::move(dx);
    }
    return loss;
  }
};

TEST(Training, mlp_and_adam_agree_with_plain_loops) {
  set_seed(2);
  models::Training training(models::Mlp({4, 6, 5, 3}, 7));
  const auto step = training.traced();
  const auto [x, y] = training.model().random_batch();
  const std::vector<Variable> parameters = training.model().parameters();
  PlainMlp plain{{4, 6, 5, 3}, {}};
  std::vector<Doubles> means, squares, gradients;
  for (const Variable& parameter : parameters) {
    plain.parameters.push_back(doubles(parameter));
    means.emplace_back(plain.parameters.back().size());
    squares.push_back(means.back());
  }
  const Floats inputs = floats(x), labels = floats(y);
  for (int t = 1; t <= 3; ++t) {
    const double wanted = plain.backward({inputs.begin(), inputs.end()},
                                         {labels.begin(), labels.end()}, 7, gradients);
    EXPECT_NEAR(step(x, y).item<float>(), wanted, 1e-6);
    for (std::size_t p = 0; p < gradients.size(); ++p) {
      for (std::size_t i = 0; i < gradients[p].size(); ++i) {
        const double g = gradients[p][i];
        double &mean = means[p][i], &square = squares[p][i];
        mean = 0.9 * mean + 0.1 * g;
        square = 0.999 * square + 0.001 * g * g;
        plain.parameters[p][i] -= 0.001 * (mean / (1 - std::pow(0.9, t))) /
                                  (std::sqrt(square / (1 - std::pow(0.999, t))) + 1e-8);
        // Where a gradient is almost 0, Adam divides one small number by another.
        if (std::abs(g) < 1e-6) continue;
        EXPECT_NEAR(doubles(parameters[p])[i], plain.parameters[p][i], 1e-6)
            << "step " << t << ", parameter " << p << ", element " << i;
      }
    }
  }
}

}  // namespace
}  // namespace tenure::testing
