// Each optimizer against its formulas in plain loops, eager and traced.
#include "tenure/nn/optimizers.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "nn/config.h"
#include "optimizer_reference.h"
#include "support/expect.h"

namespace tenure::testing {
namespace {

Plain plain_sgd(double momentum, bool nesterov) {
  return {{0.0}, [=](Doubles& w, const Doubles& g, std::vector<Doubles>& s, double rate, int) {
            for (std::size_t i = 0; i < w.size(); ++i) {
              s[0][i] = momentum * s[0][i] - rate * g[i];
              w[i] += nesterov ? momentum * s[0][i] - rate * g[i] : s[0][i];
            }
          }};
}

Plain plain_adam(double b1, double b2, double epsilon, bool amsgrad) {
  return {{0, 0, 0},
          [=](Doubles& w, const Doubles& g, std::vector<Doubles>& s, double rate, int t) {
            const double alpha = rate * std::sqrt(1 - std::pow(b2, t)) / (1 - std::pow(b1, t));
            for (std::size_t i = 0; i < w.size(); ++i) {
              s[0][i] += (g[i] - s[0][i]) * (1 - b1);
              s[1][i] += (g[i] * g[i] - s[1][i]) * (1 - b2);
              s[2][i] = std::max(s[2][i], s[1][i]);
              w[i] -= alpha * s[0][i] / (std::sqrt(amsgrad ? s[2][i] : s[1][i]) + epsilon);
            }
          }};
}

Plain plain_adamax() {
  return {{0, 0}, [](Doubles& w, const Doubles& g, std::vector<Doubles>& s, double rate, int t) {
            for (std::size_t i = 0; i < w.size(); ++i) {
              s[0][i] += (g[i] - s[0][i]) * (1 - 0.9);
              s[1][i] = std::max(0.999 * s[1][i], std::abs(g[i]));
              w[i] -= rate * s[0][i] / ((1 - std::pow(0.9, t)) * (s[1][i] + 1e-7));
            }
          }};
}

Plain plain_nadam() {
  return {{0, 0}, [](Doubles& w, const Doubles& g, std::vector<Doubles>& s, double rate, int t) {
            const auto u = [](int n) { return 0.9 * (1 - 0.5 * std::pow(0.96, n)); };
            double product = 1;
            for (int n = 1; n <= t; ++n) product *= u(n);
            for (std::size_t i = 0; i < w.size(); ++i) {
              s[0][i] = 0.9 * s[0][i] + (1 - 0.9) * g[i];
              s[1][i] = 0.999 * s[1][i] + (1 - 0.999) * g[i] * g[i];
              const double m =
                  u(t + 1) * s[0][i] / (1 - product * u(t + 1)) + (1 - u(t)) * g[i] / (1 - product);
              const double v = s[1][i] / (1 - std::pow(0.999, t));
              w[i] -= rate * m / (std::sqrt(v) + 1e-7);
            }
          }};
}

Plain plain_rmsprop(double rho, double momentum, bool centered) {
  return {{0, 0, 0}, [=](Doubles& w, const Doubles& g, std::vector<Doubles>& s, double rate, int) {
            for (std::size_t i = 0; i < w.size(); ++i) {
              s[0][i] = rho * s[0][i] + (1 - rho) * g[i] * g[i];
              s[1][i] = rho * s[1][i] + (1 - rho) * g[i];
              const double spread = s[0][i] - (centered ? s[1][i] * s[1][i] : 0) + 1e-7;
              s[2][i] = momentum * s[2][i] + rate * g[i] / std::sqrt(spread);
              w[i] -= s[2][i];
            }
          }};
}

Plain plain_adagrad(double initial) {
  return {{initial}, [](Doubles& w, const Doubles& g, std::vector<Doubles>& s, double rate, int) {
            for (std::size_t i = 0; i < w.size(); ++i) {
              s[0][i] += g[i] * g[i];
              w[i] -= rate * g[i] / std::sqrt(s[0][i] + 1e-7);
            }
          }};
}

Plain plain_adadelta() {
  return {{0, 0}, [](Doubles& w, const Doubles& g, std::vector<Doubles>& s, double rate, int) {
            for (std::size_t i = 0; i < w.size(); ++i) {
              s[0][i] = 0.95 * s[0][i] + (1 - 0.95) * g[i] * g[i];
              const double delta = -std::sqrt(s[1][i] + 1e-7) / std::sqrt(s[0][i] + 1e-7) * g[i];
              s[1][i] = 0.95 * s[1][i] + (1 - 0.95) * delta * delta;
              w[i] += rate * delta;
            }
          }};
}

Plain plain_lion() {
  return {{0}, [](Doubles& w, const Doubles& g, std::vector<Doubles>& s, double rate, int) {
            for (std::size_t i = 0; i < w.size(); ++i) {
              const double c = 0.9 * s[0][i] + (1 - 0.9) * g[i];
              w[i] -= rate * (c > 0 ? 1 : c < 0 ? -1 : 0);
              s[0][i] = 0.99 * s[0][i] + (1 - 0.99) * g[i];
            }
          }};
}

Plain plain_ftrl(double power, double l1, double l2, double shrinkage, double beta) {
  return {{0.2, 0}, [=](Doubles& w, const Doubles& g, std::vector<Doubles>& s, double rate, int) {
            for (std::size_t i = 0; i < w.size(); ++i) {
              const double before = s[0][i], now = before + g[i] * g[i];
              const double sigma = (std::pow(now, -power) - std::pow(before, -power)) / rate;
              s[1][i] += g[i] + 2 * shrinkage * w[i] - sigma * w[i];
              s[0][i] = now;
              const double z = s[1][i], sign = z > 0 ? 1 : -1;
              w[i] = std::abs(z) <= l1
                         ? 0
                         : (sign * l1 - z) / ((beta + std::pow(now, -power)) / rate + 2 * l2);
            }
          }};
}

// Of the matrix among the variables, 3 rows of 4; the others are not factored.
Plain plain_adafactor(double decay, double epsilon_2, double threshold, bool relative) {
  return {{0, 0, 0},
          [=](Doubles& w, const Doubles& g, std::vector<Doubles>& s, double rate, int t) {
            const double beta = 1 - std::pow(t, decay), n = static_cast<double>(w.size());
            const bool matrix = w.size() == 12;
            Doubles spread(w.size());
            for (std::size_t i = 0; i < w.size(); ++i) {
              const double square = g[i] * g[i] + 1e-30;
              if (matrix) {
                // Rows in the first of the slots, columns in the second.
                if (i % 4 == 0) s[0][i / 4] *= beta;
                if (i < 4) s[1][i] *= beta;
                s[0][i / 4] += (1 - beta) * square / 4;
                s[1][i % 4] += (1 - beta) * square / 3;
              } else {
                spread[i] = s[2][i] = beta * s[2][i] + (1 - beta) * square;
              }
            }
            double of_w = 0, of_step = 0;
            for (std::size_t i = 0; i < w.size(); ++i) {
              if (matrix) {
                const double rows = (s[0][0] + s[0][1] + s[0][2]) / 3;
                spread[i] = s[0][i / 4] * s[1][i % 4] / rows;
              }
              of_w += w[i] * w[i] / n;
              of_step += g[i] * g[i] / spread[i] / n;
            }
            const double rho = relative ? std::min(rate, 1 / std::sqrt(t)) : rate;
            const double length = std::max(epsilon_2, std::sqrt(of_w)) * rho;
            const double clipped = std::max(1.0, std::sqrt(of_step) / threshold);
            for (std::size_t i = 0; i < w.size(); ++i) {
              w[i] -= length * g[i] / std::sqrt(spread[i]) / clipped;
            }
          }};
}

Plain plain_lamb() {
  return {{0, 0}, [](Doubles& w, const Doubles& g, std::vector<Doubles>& s, double rate, int t) {
            Doubles step(w.size());
            for (std::size_t i = 0; i < w.size(); ++i) {
              s[0][i] = 0.9 * s[0][i] + (1 - 0.9) * g[i];
              s[1][i] = 0.999 * s[1][i] + (1 - 0.999) * g[i] * g[i];
              const double m = s[0][i] / (1 - std::pow(0.9, t));
              const double v = s[1][i] / (1 - std::pow(0.999, t));
              step[i] = m / (std::sqrt(v) + 1e-7);
            }
            const double ratio = norm_of(w) / norm_of(step);
            for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * ratio * step[i];
          }};
}

TEST(Optimizers, sgd) {
  expect_steps([] { return nn::SGD(); }, plain_sgd(0, false), rate(0.01));
  expect_steps([] { return nn::SGD({.learning_rate = 0.1, .momentum = 0.9}); },
               plain_sgd(0.9, false), rate(0.1));
  expect_steps([] { return nn::SGD({.learning_rate = 0.1, .momentum = 0.8, .nesterov = true}); },
               plain_sgd(0.8, true), rate(0.1));
}

TEST(Optimizers, adam) {
  expect_steps([] { return nn::Adam(); }, plain_adam(0.9, 0.999, 1e-7, false), rate(0.001));
  expect_steps(
      [] {
        return nn::Adam(
            {.learning_rate = 0.1, .beta_1 = 0.8, .beta_2 = 0.9, .epsilon = 1e-3, .amsgrad = true});
      },
      plain_adam(0.8, 0.9, 1e-3, true), rate(0.1));
}

TEST(Optimizers, adamw_decays_weights) {
  Settings settings = rate(0.001);
  settings.weight_decay = 0.004;
  expect_steps([] { return nn::AdamW(); }, plain_adam(0.9, 0.999, 1e-7, false), settings);
}

TEST(Optimizers, adamax) {
  expect_steps([] { return nn::Adamax({.learning_rate = 0.02}); }, plain_adamax(), rate(0.02));
}

TEST(Optimizers, nadam) {
  expect_steps([] { return nn::Nadam({.learning_rate = 0.02}); }, plain_nadam(), rate(0.02));
}

TEST(Optimizers, rmsprop) {
  expect_steps([] { return nn::RMSprop(); }, plain_rmsprop(0.9, 0, false), rate(0.001));
  expect_steps([] { return nn::RMSprop({.rho = 0.8, .momentum = 0.5}); },
               plain_rmsprop(0.8, 0.5, false), rate(0.001));
  expect_steps([] { return nn::RMSprop({.centered = true}); }, plain_rmsprop(0.9, 0, true),
               rate(0.001));
  expect_steps([] { return nn::RMSprop({.momentum = 0.5, .centered = true}); },
               plain_rmsprop(0.9, 0.5, true), rate(0.001));
}

TEST(Optimizers, adagrad) {
  expect_steps([] { return nn::Adagrad({.initial_accumulator_value = 0.3}); }, plain_adagrad(0.3),
               rate(0.001));
}

TEST(Optimizers, adadelta) {
  expect_steps([] { return nn::Adadelta({.learning_rate = 1}); }, plain_adadelta(), rate(1));
}

TEST(Optimizers, lion) {
  expect_steps([] { return nn::Lion(); }, plain_lion(), rate(0.001));
}

TEST(Optimizers, ftrl) {
  expect_steps([] { return nn::Ftrl({.initial_accumulator_value = 0.2}); },
               plain_ftrl(-0.5, 0, 0, 0, 0), rate(0.001));
  expect_steps(
      [] {
        return nn::Ftrl({.learning_rate = 0.1,
                         .learning_rate_power = -0.7,
                         .initial_accumulator_value = 0.2,
                         .l1_regularization_strength = 0.6,
                         .l2_regularization_strength = 0.3,
                         .l2_shrinkage_regularization_strength = 0.05,
                         .beta = 0.4});
      },
      plain_ftrl(-0.7, 0.6, 0.3, 0.05, 0.4), rate(0.1));
}

TEST(Optimizers, ftrl_holds_small_weights_at_zero) {
  const nn::Ftrl ftrl({.learning_rate = 1, .l1_regularization_strength = 2});
  const Variable w(zeros({2}));
  ftrl.apply({tensor({1.f, 10.f})}, {w});
  const Floats values = floats(w.read());
  EXPECT_EQ(values[0], 0);
  EXPECT_NEAR(values[1], -(10 - 2) / std::sqrt(100.1), 1e-5);
  const nn::Ftrl fresh({.initial_accumulator_value = 0});  // 0 / 0 where there is no gradient
  fresh.apply({tensor({0.f, 1.f})}, {w});
  EXPECT_EQ(floats(w.read())[0], 0);
}

TEST(Optimizers, adafactor) {
  expect_steps([] { return nn::Adafactor(); }, plain_adafactor(-0.8, 1e-3, 1, true), rate(0.001));
  expect_steps(
      [] {
        return nn::Adafactor(
            {.learning_rate = 0.7, .beta_2_decay = -0.6, .epsilon_2 = 2, .clip_threshold = 0.4});
      },
      plain_adafactor(-0.6, 2, 0.4, true), rate(0.7));
  expect_steps([] { return nn::Adafactor({.learning_rate = 0.7, .relative_step = false}); },
               plain_adafactor(-0.8, 1e-3, 1, false), rate(0.7));
}

TEST(Optimizers, adafactor_remembers_rows_and_columns_of_the_last_two_axes) {
  const nn::Adafactor adafactor;
  const Variable kernel(ones({3, 3, 16, 32}), {.name = "kernel"}), bias(ones({32}), {.name = "b"});
  adafactor.apply({ones({3, 3, 16, 32}), ones({32})}, {kernel, bias});
  std::map<std::string, Shape> shapes;
  for (const Variable& each : adafactor.variables()) shapes[each.name()] = each.shape();
  EXPECT_EQ(shapes["kernel/rows"], (Shape{3, 3, 16}));
  EXPECT_EQ(shapes["kernel/columns"], (Shape{3, 3, 32}));
  EXPECT_EQ(shapes["kernel/velocity"], Shape());
  EXPECT_EQ(shapes["b/rows"], Shape());
  EXPECT_EQ(shapes["b/velocity"], Shape{32});
}

TEST(Optimizers, lamb) {
  expect_steps([] { return nn::Lamb(); }, plain_lamb(), rate(0.001));
  Settings settings = rate(0.05);
  settings.weight_decay = 0.1;
  expect_steps([] { return nn::Lamb({.learning_rate = 0.05, .weight_decay = 0.1}); }, plain_lamb(),
               settings);
  // A weight of zeros, or a step of none, has no length to go by.
  const nn::Lamb lamb({.learning_rate = 0.5});
  const Variable none(zeros({2})), still(ones({2}));
  lamb.apply({ones({2}), zeros({2})}, {none, still});
  EXPECT_NEAR(floats(none.read())[0], -0.5, 1e-5);
  EXPECT_EQ(floats(still.read()), (Floats{1, 1}));
}

TEST(Optimizers, gradients_are_clipped_in_three_ways) {
  Settings settings = rate(0.1);
  settings.clipvalue = 0.5;
  expect_steps([] { return nn::SGD({.learning_rate = 0.1, .clipvalue = 0.5}); },
               plain_sgd(0, false), settings);
  settings = rate(0.1);
  settings.clipnorm = 1;
  expect_steps([] { return nn::SGD({.learning_rate = 0.1, .clipnorm = 1}); }, plain_sgd(0, false),
               settings);
  settings = rate(0.001);
  settings.global_clipnorm = 1.5;
  expect_steps([] { return nn::Adam({.global_clipnorm = 1.5}); },
               plain_adam(0.9, 0.999, 1e-7, false), settings);
}

TEST(Optimizers, weight_decay_is_for_every_optimizer) {
  Settings settings = rate(0.1);
  settings.weight_decay = 0.2;
  expect_steps([] { return nn::SGD({.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.2}); },
               plain_sgd(0.9, false), settings);
}

TEST(Optimizers, a_schedule_sets_the_rate) {
  expect_steps(
      [] {
        return nn::Adam({.learning_rate = nn::ExponentialDecay(
                             {.initial_learning_rate = 0.1, .decay_steps = 2, .decay_rate = 0.5})});
      },
      plain_adam(0.9, 0.999, 1e-7, false),
      {.rate = [](int step) { return 0.1 * std::pow(0.5, step / 2.0); }});
  expect_steps(
      [] { return nn::SGD({.learning_rate = [](Tensor step) { return 0.1 / sqrt(step + 1.0); }}); },
      plain_sgd(0, false), {.rate = [](int step) { return 0.1 / std::sqrt(step + 1.0); }});
}

TEST(Optimizers, variables_may_be_left_out_of_weight_decay) {
  const nn::SGD sgd(
      {.learning_rate = 1, .weight_decay = 0.5, .exclude_from_weight_decay = {"bias"}});
  const Variable kernel(ones({2}), {.name = "dense/kernel"}),
      bias(ones({2}), {.name = "dense/bias"});
  sgd.apply({zeros({2}), zeros({2})}, {kernel, bias});
  EXPECT_EQ(floats(kernel.read()), (Floats{0.5f, 0.5f}));
  EXPECT_EQ(floats(bias.read()), (Floats{1, 1}));
}

TEST(Optimizers, a_traced_adam_step_is_one_node_per_variable) {
  const nn::Adam adam({.global_clipnorm = 1});
  const Variable w(ones({8, 8})), b(ones({8}));
  const auto step = function("step", [&](Tensor x) {
    GradientTape tape;
    const Tensor loss = mean(square(matmul(x, w) + b));
    adam.apply(tape.gradient(loss, {w, b}), {w, b});
    return loss;
  });
  const Tensor x = ones({4, 8});
  const float first = step(x).item<float>();
  EXPECT_LT(step(x).item<float>(), first);
  const std::string dump = step.dump({.optimised = true});
  std::size_t count = 0;
  for (std::size_t at = dump.find(" adam"); at != std::string::npos;
       at = dump.find(" adam", at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 2u) << dump;
}

TEST(Optimizers, a_new_learning_rate_takes_no_new_trace) {
  const nn::SGD sgd({.learning_rate = 1});
  const Variable w(zeros({2}));
  const auto step = function("step", [&](Tensor g) { sgd.apply({g}, {w}); });
  sgd.set_learning_rate(0.5);
  step(ones({2}));
  EXPECT_EQ(floats(w.read()), (Floats{-0.5f, -0.5f}));
  sgd.set_learning_rate(2);
  step(ones({2}));
  EXPECT_EQ(floats(w.read()), (Floats{-2.5f, -2.5f}));
  EXPECT_EQ(sgd.learning_rate(), 2);
  EXPECT_EQ(step.traces().size(), 1u);
}

TEST(Optimizers, state_is_named_counted_and_not_trainable) {
  const std::size_t before = memory().optimizer_bytes;
  {
    const nn::Adam adam;
    const Variable w(ones({4}), {.name = "dense/kernel"});
    EXPECT_TRUE(adam.variables().empty());
    adam.build({w});
    std::vector<std::string> names;
    for (const Variable& each : adam.variables()) {
      names.push_back(each.name());
      EXPECT_FALSE(each.trainable());
    }
    EXPECT_EQ(names, (std::vector<std::string>{"Adam/iterations", "Adam/learning_rate",
                                               "dense/kernel/m", "dense/kernel/v"}));
    EXPECT_EQ(adam.variables()[0].dtype(), DType::int64);
    EXPECT_EQ(memory().optimizer_bytes - before, 2 * 16u + 2 * 8u);
  }
  EXPECT_EQ(memory().optimizer_bytes, before);
}

TEST(Optimizers, what_has_no_gradient_stays_and_more_variables_may_come) {
  const nn::SGD sgd({.learning_rate = 1, .momentum = 0.5});
  const Variable a(zeros({2})), b(zeros({3}));
  sgd.apply({ones({2}), Tensor()}, {a, b});
  EXPECT_EQ(floats(b.read()), (Floats{0, 0, 0}));
  const Variable c(zeros({1}));
  sgd.apply({ones({1}), ones({2})}, {c, a});
  EXPECT_EQ(floats(a.read()), (Floats{-2.5f, -2.5f}));
  EXPECT_EQ(floats(c.read()), (Floats{-1}));
}

TEST(Optimizers, a_tape_keeps_nothing_of_a_step) {
  const nn::Adam adam;
  const Variable w(ones({4}));
  GradientTape tape({.persistent = true});
  const Tensor loss = sum(square(w));
  const std::size_t saved = tape.saved_bytes();
  adam.apply(tape.gradient(loss, {w}), {w});
  EXPECT_EQ(tape.saved_bytes(), saved);
}

TEST(Optimizers, L30_a_step_that_runs_out_of_memory_changes_nothing) {
  constexpr std::int64_t kSize = 1 << 18;
  for (const bool traced : {false, true}) {
    const nn::Adam adam({.clipnorm = 1});
    std::vector<Variable> variables;
    for (int i = 0; i < 3; ++i) variables.emplace_back(ones({kSize}));
    const auto step =
        function("step", [&](std::vector<Tensor> gradients) { adam.apply(gradients, variables); });
    const auto run = [&](const std::vector<Tensor>& gradients) {
      if (traced) {
        step(gradients);
      } else {
        adam.apply(gradients, variables);
      }
    };
    const std::vector<Tensor> gradients(3, full({kSize}, 0.5));
    run(gradients);
    const auto snapshot = [&] {
      std::vector<Floats> values;
      for (const Variable& each : variables) values.push_back(floats(each.read()));
      for (const Variable& each : adam.variables()) {
        if (each.dtype() == DType::float32) values.push_back(floats(each.read()));
      }
      return values;
    };
    // Less and less room, until a step fails.
    bool failed = false;
    for (std::size_t room = 20; room-- > 0;) {
      const std::vector<Floats> before = snapshot();
      const std::int64_t taken = adam.iterations();
      trim_pool();
      set_memory_budget(memory().reserved_bytes + room * static_cast<std::size_t>(kSize));
      try {
        run(gradients);
        set_memory_budget(0);
      } catch (const OutOfMemoryError&) {
        set_memory_budget(0);
        failed = true;
        EXPECT_EQ(adam.iterations(), taken);
        EXPECT_EQ(snapshot(), before) << room;
      }
    }
    if (!traced) {
      EXPECT_TRUE(failed);
    }
  }
}

TEST(Optimizers, errors_name_the_values) {
  const nn::Adam adam;
  const Variable w(ones({2, 3}), {.name = "w"}), v(ones({2}), {.name = "v"});
  std::string text = message_of<ShapeError>([&] { adam.apply({ones({3, 2})}, {w}); });
  EXPECT_HAS(text, "variable \"w\" has shape [2, 3], its gradient [3, 2]");
  text = message_of<ValueError>([&] { adam.apply({ones({2})}, {w, v}); });
  EXPECT_HAS(text, "1 gradients for 2 variables");
  text = message_of<ValueError>([&] { adam.apply({Tensor(), Tensor()}, {w, v}); });
  EXPECT_HAS(text, "\"w\", \"v\"");
  text = message_of<ValueError>([&] { adam.apply({ones({2}), ones({2})}, {v, v}); });
  EXPECT_HAS(text, "\"v\" was given twice");
  for (const Tensor& gradient : {ones({2}), Tensor()}) {
    text = message_of<ValueError>([&] { adam.apply({gradient}, {Variable()}); });
    EXPECT_HAS(text, "variable 0 is an empty handle");
  }
  text = message_of<DtypeError>([&] { adam.apply({ones({2}, DType::float64)}, {v}); });
  EXPECT_HAS(text, "is float32, its gradient float64");
  text = message_of<ValueError>([] { nn::Optimizer("adm"); });
  EXPECT_HAS(text, "no such one: \"adm\" (there are: adadelta, adafactor, adagrad, adam, ");
  text = message_of<ValueError>([] { nn::SGD({.clipnorm = 1, .clipvalue = 1}); });
  EXPECT_HAS(text, "only one of clipnorm, clipvalue and global_clipnorm");
  text = message_of<ValueError>([] { nn::Adam({.beta_2 = 1}); });
  EXPECT_HAS(text, "Adam: beta_2 must be at least 0 and below 1: 1");
  text = message_of<ValueError>(
      [] { nn::SGD({.learning_rate = nn::CosineDecay({.decay_steps = 5})}).set_learning_rate(1); });
  EXPECT_HAS(text, "set by a schedule");
}

TEST(Optimizers, L20_a_disposed_one_has_no_state_and_says_where_it_went) {
  const nn::Adam adam;
  const Variable w(ones({2}), {.name = "w"});
  adam.apply({ones({2})}, {w});
  const Variable slot = adam.variables()[2];
  EXPECT_EQ(adam.dispose().variables, 4);
  EXPECT_EQ(adam.dispose().variables, 0);
  EXPECT_TRUE(adam.is_disposed());
  try {
    slot.read();
    FAIL();
  } catch (const DisposedError& error) {
    ASSERT_TRUE(error.story().death);
    EXPECT_EQ(error.story().death->cause, Cause::owner_disposed);
    EXPECT_HAS(error.what(), "Adam");
  }
  const std::string text = message_of<DisposedError>([&] { adam.apply({ones({2})}, {w}); });
  EXPECT_HAS(text, "Adam was disposed");
  EXPECT_HAS(text, "optimizers_test.cpp:");
  EXPECT_EQ(floats(w.read()).size(), 2u) << "variables are not the optimizer's";
}

TEST(Optimizers, L20_what_was_freed_before_is_not_freed_again) {
  const nn::SGD sgd({.momentum = 0.9});
  sgd.build({Variable(ones({2}))});
  sgd.variables().back().dispose();
  EXPECT_EQ(sgd.dispose().variables, 2);  // iterations and learning_rate
}

TEST(Optimizers, L20_a_traced_step_of_a_disposed_one_is_refused) {
  const nn::Adam adam;
  const Variable w(ones({2}), {.name = "w"});
  const auto step = function("step", [&](Tensor g) { adam.apply({g}, {w}); });
  step(ones({2}));
  const Floats before = floats(w.read());
  adam.dispose();
  EXPECT_THROW(step(ones({2})), DisposedError);
  EXPECT_EQ(floats(w.read()), before);
}

struct HalfStep : nn::OptimizerBase {
  HalfStep() : OptimizerBase({.learning_rate = 1}) {}
  Update update(const Tensor& value, const Tensor& gradient, const std::vector<Tensor>&,
                const std::vector<Tensor>& numbers) const override {
    return {value - gradient * numbers[0] * 0.5, {}};
  }
};

TEST(Optimizers, one_of_ones_own_takes_a_few_lines) {
  const nn::Optimizer half = nn::make_optimizer<HalfStep>();
  const Variable w(zeros({2}));
  half.apply({ones({2})}, {w});
  EXPECT_EQ(floats(w.read()), (Floats{-0.5f, -0.5f}));
}

// A unit that never fires has a row and a column without a gradient.
TEST(Optimizers, adafactor_leaves_alone_what_has_no_gradient) {
  const nn::Optimizer adafactor = nn::Adafactor({.learning_rate = 0.1});
  const Variable w(ones({2, 2}));
  for (int i = 0; i < 2; ++i) adafactor.apply({tensor({0.f, 0.f, 0.f, 1.f}, {2, 2})}, {w});
  const Floats values = floats(w.read());
  EXPECT_EQ(values[0], 1.f);
  EXPECT_LT(values[3], 1.f);
}

TEST(Optimizers, settings_survive_json) {
  using nn::detail::Json;
  const std::vector<nn::Optimizer> all{
      nn::SGD({.learning_rate = 0.5, .momentum = 0.9, .nesterov = true, .clipnorm = 2}),
      nn::Adam({.amsgrad = true}),
      nn::AdamW({.weight_decay = 0.1}),
      nn::Adamax(),
      nn::Nadam(),
      nn::RMSprop({.momentum = 0.1, .centered = true}),
      nn::Adagrad({.initial_accumulator_value = 0.7}),
      nn::Adadelta({.rho = 0.8}),
      nn::Ftrl({.l1_regularization_strength = 0.1, .beta = 0.5}),
      nn::Adafactor({.beta_2_decay = -0.7, .relative_step = false}),
      nn::Lamb({.beta_1 = 0.8}),
      nn::Lion({.learning_rate = nn::PiecewiseConstantDecay({{10}, {1, 0.1}}), .name = "lion_1"})};
  for (const nn::Optimizer& each : all) {
    const Json json = nn::detail::to_json(each);
    const nn::Optimizer again = nn::detail::optimizer_from_json(json);
    EXPECT_EQ(again.class_name(), each.class_name());
    EXPECT_EQ(again.config(), each.config());
  }
  // As Keras writes it.
  const nn::Optimizer keras = nn::detail::optimizer_from_json(Json::parse(
      R"({"module": "keras.optimizers", "class_name": "Adam", "config": {"name": "adam",
          "learning_rate": {"class_name": "CosineDecay", "config": {"initial_learning_rate": 0.1,
          "decay_steps": 100, "alpha": 0.0, "warmup_target": null, "warmup_steps": 0}},
          "weight_decay": null, "clipnorm": 1.5, "use_ema": false, "beta_1": 0.8,
          "beta_2": 0.999, "epsilon": 1e-07, "amsgrad": false}})"));
  EXPECT_NEAR(keras.learning_rate(), 0.1, 1e-12);
  EXPECT_HAS(keras.config(), R"("beta_1":0.8)");
  EXPECT_HAS(keras.config(), R"("clipnorm":1.5)");
  // As TensorFlow.js does.
  const auto from_text = [](const char* text) {
    return nn::detail::optimizer_from_json(Json::parse(text));
  };
  EXPECT_HAS(from_text(R"({"class_name": "Adam", "config": {"learningRate": 0.25, "beta1": 0.7,
                           "beta2": 0.8, "epsilon": null}})")
                 .config(),
             R"("beta_1":0.7,"beta_2":0.8,"epsilon":1e-07)");
  EXPECT_EQ(
      from_text(R"({"class_name": "Adam", "config": {"learning_rate": 0.25}})").learning_rate(),
      0.25);
  EXPECT_HAS(from_text(R"({"class_name": "Momentum", "config": {"learning_rate": 0.1,
                           "momentum": 0.6, "use_nesterov": true}})")
                 .config(),
             R"("momentum":0.6,"nesterov":true)");
  EXPECT_HAS(from_text(R"({"class_name": "RMSProp", "config": {"decay": 0.6}})").config(),
             R"("rho":0.6)");
  EXPECT_THROW(nn::detail::to_json(nn::SGD({.learning_rate = [](Tensor x) { return x; }})),
               UnsupportedError);
}

}  // namespace
}  // namespace tenure::testing
