// Training steps of whole models, traced: the same to the last bit as eager ones, they learn, and
// each variable is updated by one operation.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <sstream>

#include "nn/model_state.h"
#include "support/expect.h"

namespace tenure::testing {
namespace {

const nn::detail::Compiled::Step& step_of(const nn::Model& model) {
  return *nn::detail::ModelAccess::state(model).compiled->train;
}

double loss_of_step(const nn::Model& model, const Tensor& x, const Tensor& y) {
  return model.train_on_batch(x, y)[0].second;
}

const nn::Loss& crossentropy() {
  static const nn::Loss loss = nn::CategoricalCrossentropy({.from_logits = true});
  return loss;
}

// One-hot rows of random classes.
Tensor random_labels(std::int64_t rows, std::int64_t classes) {
  return cast(equal(random::randint({rows, 1}, 0, classes), arange(classes)), DType::float32);
}

// Trains a model traced and a copy of it eagerly on one batch.
template <class Make>
void expect_same_training(
    const Make& make, const nn::Loss& loss, const Tensor& x, const Tensor& y,
    const std::function<nn::Optimizer()>& optimizer = [] { return nn::Adam(); }) {
  const nn::Model eager = make(), traced = make();
  traced.set_weights(eager.get_weights());
  eager.compile({.optimizer = optimizer(), .loss = loss, .eager = true});
  traced.compile({.optimizer = optimizer(), .loss = loss});
  std::vector<double> losses;
  for (int i = 0; i < 10; ++i) {
    losses.push_back(loss_of_step(traced, x, y));
    ASSERT_EQ(losses.back(), loss_of_step(eager, x, y)) << "step " << i;
  }
  EXPECT_EQ(step_of(traced).traces().size(), 1U);
  EXPECT_LT(losses.back(), losses.front());
  const std::vector<Tensor> weights = traced.get_weights(), wanted = eager.get_weights();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_EQ(floats(weights[i]), floats(wanted[i])) << "weight " << i;
  }
}

nn::Sequential mlp(const std::vector<std::int64_t>& widths) {
  nn::Sequential model;
  for (std::size_t i = 1; i < widths.size(); ++i) {
    model.add(nn::Dense({.units = widths[i],
                         .activation = i + 1 < widths.size() ? "relu" : "linear",
                         .input_shape = {widths[i - 1]}}));
  }
  return model;
}

TEST(Steps, mlp) {
  expect_same_training([] { return mlp({20, 16, 16, 5}); }, crossentropy(),
                       random::uniform({8, 20}), random_labels(8, 5));
}

TEST(Steps, rnn) {
  expect_same_training(
      [] {
        return nn::Sequential(
            {nn::SimpleRNN({.units = 6, .input_shape = {7, 4}}), nn::Dense({.units = 1})});
      },
      "mse", random::uniform({3, 7, 4}), random::uniform({3, 1}));
}

TEST(Steps, lstm) {
  expect_same_training(
      [] {
        return nn::Sequential(
            {nn::LSTM({.units = 6, .input_shape = {7, 4}}), nn::Dense({.units = 1})});
      },
      "mse", random::uniform({3, 7, 4}), random::uniform({3, 1}));
}

TEST(Steps, cnn) {
  expect_same_training(
      [] {
        return nn::Sequential(
            {nn::Conv2D({.filters = 3,
                         .kernel_size = {3, 3},
                         .activation = "relu",
                         .input_shape = {14, 14, 1}}),
             nn::MaxPooling2D(),
             nn::Conv2D({.filters = 4, .kernel_size = {3, 3}, .activation = "relu"}),
             nn::MaxPooling2D(), nn::Flatten(), nn::Dense({.units = 8, .activation = "relu"}),
             nn::Dense({.units = 5})});
      },
      crossentropy(), random::uniform({2, 14, 14, 1}), random_labels(2, 5));
}

TEST(Steps, transformer) {
  expect_same_training(
      [] {
        const nn::Node x = nn::Input({.shape = {5, 8}});
        const auto normalised_sum = [](const nn::Node& a, const nn::Node& b) {
          return nn::LayerNormalization()(nn::Add()({a, b}));
        };
        const nn::Node attended =
            normalised_sum(x, nn::MultiHeadAttention({.num_heads = 2, .key_dim = 4})({x, x}));
        const nn::Node widened = nn::Dense({.units = 12, .activation = "relu"})(attended);
        return nn::Model({x}, {normalised_sum(attended, nn::Dense({.units = 8})(widened))});
      },
      "mse", random::uniform({2, 5, 8}), random::uniform({2, 5, 8}));
}

// What makes the values that a traced step assigns, by the variables' names: an op, or for one that
// follows another `matmul, then adam`.
std::map<std::string, std::string> makers_of_assigned(const std::string& dump) {
  std::map<std::string, std::string> maker_of, makers;
  std::istringstream lines(dump);
  for (std::string line; std::getline(lines, line);) {
    if (const std::size_t equals = line.find(" = "); equals != line.npos) {
      const std::string right = line.substr(equals + 3);
      std::string maker = right.substr(0, right.find_first_of("( "));
      if (maker == "finished") {
        const std::size_t producer = right.find(" = ") + 3;
        maker = right.substr(producer, right.find('(', producer) - producer) +
                (right.find("; adam(") != right.npos ? ", then adam" : ", then a program");
      }
      for (std::size_t at = line.find('%'); at < equals; at = line.find('%', at + 1)) {
        maker_of[line.substr(at, line.find(' ', at) - at)] = maker;
      }
    } else if (const std::size_t name = line.find("assign \""); name != line.npos) {
      const std::size_t begin = name + 8, end = line.find('"', begin);
      makers[line.substr(begin, end - begin)] = maker_of[line.substr(end + 2)];
    }
  }
  return makers;
}

TEST(Steps, an_update_by_adam_is_one_operation_that_follows_the_product) {
  struct Kind {
    nn::Optimizer optimizer;
    const char* of_kernels;  // what updates them
  };
  const nn::Adam adam, clipped({.clipvalue = 0.5});
  const nn::AdamW decaying;
  for (const auto& [optimizer, of_kernels] :
       {Kind{adam, "matmul, then adam"}, {decaying, "matmul, then adam"}, {clipped, "adam"}}) {
    const nn::Sequential model = mlp({20, 16, 5});
    model.compile({.optimizer = optimizer, .loss = crossentropy()});
    model.train_on_batch(random::uniform({8, 20}), random_labels(8, 5));
    const std::string dump = step_of(model).dump({.optimised = true});
    const auto makers = makers_of_assigned(dump);
    for (const Variable& weight : model.trainable_weights()) {
      for (const char* slot : {"", "/m", "/v"}) {
        EXPECT_EQ(makers.at(weight.name() + slot), weight.shape().rank() == 2 ? of_kernels : "adam")
            << weight.name() << slot << '\n'
            << dump;
      }
    }
  }
}

// What makes the new values of a kernel and all that is kept of it, and of a bias.
struct Update {
  const char* name;
  std::function<nn::Optimizer()> make;
  const char* of_kernel = "matmul, then a program";
  const char* of_bias = "fused";
  bool of_slots_too = true;
};
void PrintTo(const Update& update, std::ostream* out) { *out << update.name; }

const Update kUpdates[] = {
    {"sgd", [] { return nn::SGD(); }},
    {"momentum", [] { return nn::SGD({.momentum = 0.9}); }},
    {"nesterov", [] { return nn::SGD({.momentum = 0.9, .nesterov = true}); }},
    {"adam", [] { return nn::Adam(); }, "matmul, then adam", "adam"},
    {"amsgrad", [] { return nn::Adam({.amsgrad = true}); }},
    {"adamw", [] { return nn::AdamW(); }, "matmul, then adam", "adam"},
    {"adamax", [] { return nn::Adamax(); }},
    {"nadam", [] { return nn::Nadam(); }},
    {"rmsprop", [] { return nn::RMSprop(); }},
    {"centered", [] { return nn::RMSprop({.momentum = 0.9, .centered = true}); }},
    {"adagrad", [] { return nn::Adagrad(); }},
    {"adadelta", [] { return nn::Adadelta(); }},
    {"ftrl", [] { return nn::Ftrl(); }},
    {"lion", [] { return nn::Lion(); }},
    {"weight_decay", [] { return nn::SGD({.weight_decay = 0.01}); }},
    {"averages", [] { return nn::RMSprop({.use_ema = true}); }},
    {"clipvalue", [] { return nn::RMSprop({.clipvalue = 0.5}); }},
    // A norm needs the whole of what is updated before.
    {"lamb", [] { return nn::Lamb(); }, "fused", "fused", false},  // slots follow some products
    {"adafactor", [] { return nn::Adafactor(); }, "fused"},
    {"clipnorm", [] { return nn::RMSprop({.clipnorm = 0.5}); }, "fused"},
    {"global_clipnorm", [] { return nn::RMSprop({.global_clipnorm = 0.5}); }, "fused"},
};

struct Updates : ::testing::TestWithParam<Update> {};

TEST_P(Updates, follow_the_products_that_make_the_gradients) {
  const Update& update = GetParam();
  set_seed(1);
  const nn::Sequential model = mlp({20, 16, 5});
  model.compile({.optimizer = update.make(), .loss = crossentropy()});
  model.train_on_batch(random::uniform({8, 20}), random_labels(8, 5));
  const std::string dump = step_of(model).dump({.optimised = true});
  const auto makers = makers_of_assigned(dump);
  for (const Variable& weight : model.trainable_weights()) {
    EXPECT_TRUE(makers.contains(weight.name())) << dump;
    for (const auto& [variable, maker] : makers) {
      // What an update does not change is assigned as it was read.
      if (!variable.starts_with(weight.name()) || maker == "read") continue;
      if (variable != weight.name() && !update.of_slots_too) continue;
      EXPECT_EQ(maker, weight.shape().rank() == 2 ? update.of_kernel : update.of_bias)
          << variable << '\n'
          << dump;
    }
  }
  expect_same_training([] { return mlp({20, 16, 16, 5}); }, crossentropy(),
                       random::uniform({8, 20}), random_labels(8, 5), update.make);
}

INSTANTIATE_TEST_SUITE_P(Steps, Updates, ::testing::ValuesIn(kUpdates),
                         [](const auto& update) { return std::string(update.param.name); });

// Gradients of kernels are nowhere whole, whatever the optimizer: 512 x 512 floats are 1 MiB.
TEST(Steps, a_step_holds_no_gradient_of_a_kernel) {
  for (const char* optimizer : {"sgd", "adam", "rmsprop"}) {
    const nn::Sequential model = mlp({512, 512, 512});
    model.compile({.optimizer = optimizer, .loss = "mse"});
    model.train_on_batch(random::uniform({4, 512}), random::uniform({4, 512}));
    EXPECT_LT(step_of(model).traces()[0].arena_bytes, 512U << 10) << optimizer;
  }
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

TEST(Steps, mlp_and_adam_agree_with_plain_loops) {
  const nn::Sequential model = mlp({4, 6, 5, 3});
  model.compile({.optimizer = nn::Adam(), .loss = crossentropy()});
  const Tensor x = random::uniform({7, 4}), y = random_labels(7, 3);
  const std::vector<Variable> parameters = model.trainable_weights();
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
    EXPECT_NEAR(loss_of_step(model, x, y), wanted, 1e-6);
    const double rate = 0.001 * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t));
    for (std::size_t p = 0; p < gradients.size(); ++p) {
      for (std::size_t i = 0; i < gradients[p].size(); ++i) {
        const double g = gradients[p][i];
        double &mean = means[p][i], &square = squares[p][i];
        mean = 0.9 * mean + 0.1 * g;
        square = 0.999 * square + 0.001 * g * g;
        plain.parameters[p][i] -= rate * mean / (std::sqrt(square) + 1e-7);
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
