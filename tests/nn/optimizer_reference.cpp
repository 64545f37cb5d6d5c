#include "optimizer_reference.h"

#include <cmath>
#include <optional>

#include "support/expect.h"

namespace tenure::testing {

double norm_of(const Doubles& g) {
  double total = 0;
  for (const double each : g) total += each * each;
  return std::sqrt(total);
}

Settings rate(double value) {
  return {.rate = [value](int) { return value; }};
}

namespace {

void clip_plain(const Settings& settings, std::vector<Doubles>& gradients) {
  double total = 0;
  for (const Doubles& g : gradients) total += norm_of(g) * norm_of(g);
  for (Doubles& g : gradients) {
    const double norm = norm_of(g);
    for (double& each : g) {
      if (settings.clipvalue > 0) {
        each = std::min(std::max(each, -settings.clipvalue), settings.clipvalue);
      }
      if (settings.clipnorm > 0 && norm > settings.clipnorm) each *= settings.clipnorm / norm;
      if (settings.global_clipnorm > 0 && std::sqrt(total) > settings.global_clipnorm) {
        each *= settings.global_clipnorm / std::sqrt(total);
      }
    }
  }
}

const std::vector<Shape> kShapes{{3, 4}, {4}, {1}};
constexpr int kSteps = 6;

// Values that both sides can hold exactly.
Doubles values_of(const Shape& shape, int seed) {
  Doubles values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(std::sin(1.3 * seed + 0.7 * static_cast<double>(i) + 0.1));
  }
  return values;
}

Tensor tensor_of(const Doubles& values, const Shape& shape, DType dtype) {
  return cast(tensor(values, shape), dtype);
}

Doubles doubles_of(const Tensor& x) { return cast(x, DType::float64).to_vector<double>(); }

void expect_close(const Doubles& found, const Doubles& wanted, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], wanted[i], tolerance * (1 + std::abs(wanted[i]))) << what << " at " << i;
  }
}

}  // namespace

void expect_steps(const std::function<nn::Optimizer()>& make, const Plain& plain,
                  const Settings& settings) {
  std::vector<Doubles> wanted;
  std::vector<std::vector<Doubles>> slots;
  for (const Shape& shape : kShapes) {
    wanted.push_back(values_of(shape, 100));
    slots.emplace_back();
    for (const double initial : plain.initial) {
      slots.back().emplace_back(static_cast<std::size_t>(shape.numel()), initial);
    }
  }
  struct Run {
    DType dtype;
    bool traced;
    nn::Optimizer optimizer;
    std::vector<Variable> variables;
    std::optional<Function<void(std::vector<Tensor>)>> step;
  };
  std::vector<Run> runs;
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const bool traced : {false, true}) {
      runs.push_back({dtype, traced, make(), {}, {}});
      for (const Shape& shape : kShapes) {
        runs.back().variables.emplace_back(tensor_of(values_of(shape, 100), shape, dtype));
      }
    }
  }
  for (Run& run : runs) {
    if (!run.traced) continue;
    run.step = function("step", [&run](std::vector<Tensor> gradients) {
      run.optimizer.apply(gradients, run.variables);
    });
  }
  for (int step = 0; step < kSteps; ++step) {
    std::vector<Doubles> gradients;
    for (std::size_t v = 0; v < kShapes.size(); ++v) {
      gradients.push_back(values_of(kShapes[v], 10 * step + static_cast<int>(v)));
    }
    for (Run& run : runs) {
      std::vector<Tensor> given;
      for (std::size_t v = 0; v < kShapes.size(); ++v) {
        given.push_back(tensor_of(gradients[v], kShapes[v], run.dtype));
      }
      EXPECT_NEAR(run.optimizer.learning_rate(), settings.rate(step), 1e-12);
      if (run.traced) {
        (*run.step)(given);
      } else {
        run.optimizer.apply(given, run.variables);
      }
      EXPECT_EQ(run.optimizer.iterations(), step + 1);
    }
    clip_plain(settings, gradients);
    for (std::size_t v = 0; v < kShapes.size(); ++v) {
      for (double& w : wanted[v]) w -= w * settings.weight_decay * settings.rate(step);
      plain.update(wanted[v], gradients[v], slots[v], settings.rate(step), step + 1);
      for (Run& run : runs) {
        expect_close(doubles_of(run.variables[v].read()), wanted[v],
                     run.dtype == DType::float64 ? 1e-12 : 1e-5,
                     run.optimizer.class_name() + (run.traced ? ", traced" : ", eager") +
                         ", step " + std::to_string(step));
      }
    }
  }
  for (const Run& run : runs) {
    if (run.traced) {
      EXPECT_EQ(run.step->traces().size(), 1u);
    }
  }
}

}  // namespace tenure::testing
