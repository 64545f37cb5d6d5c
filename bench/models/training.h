// Training steps in plain operations and variables: what the models of this folder are made of.
//
//   models::Training<models::Mlp> training;
//   tenure::Function step = tenure::function("step", [&](Tensor x, Tensor y) {
//     return training.step(x, y);
//   });
//
// A step runs eagerly as well. Either way it returns the loss before the step.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "tenure/tenure.h"

namespace bench::models {

using tenure::Shape;
using tenure::Tensor;
using tenure::Variable;

struct Batch {
  Tensor x, y;
};

// Uniform within 1 / sqrt(fan_in).
inline Variable weights(const Shape& shape, std::int64_t fan_in) {
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  return Variable(tenure::random::uniform(shape, {.low = -bound, .high = bound}));
}

struct Dense {
  Dense(std::int64_t inputs, std::int64_t units)
      : kernel(weights({inputs, units}, inputs)), bias(weights({units}, inputs)) {}
  Tensor operator()(Tensor x) const { return matmul(std::move(x), kernel) + bias; }
  void add_to(std::vector<Variable>& parameters) const {
    parameters.push_back(kernel);
    parameters.push_back(bias);
  }
  Variable kernel, bias;
};

// `labels` are probabilities, one row per row of `logits`.
inline Tensor softmax_cross_entropy(const Tensor& logits, const Tensor& labels) {
  return -mean(sum(labels * log_softmax(logits), {-1}));
}

inline Tensor mean_square_error(const Tensor& y, const Tensor& wanted) {
  return mean(square(y - wanted));
}

// One-hot rows of random classes.
inline Tensor random_labels(std::int64_t rows, std::int64_t classes) {
  const Tensor drawn = tenure::random::randint({rows, 1}, 0, classes);
  return cast(equal(drawn, tenure::arange(classes)), tenure::DType::float32);
}

// Adam with bias correction, and the settings that torch.optim.Adam has by default.
class Adam {
 public:
  explicit Adam(const std::vector<Variable>& parameters)
      : taken_(tenure::tensor<double>(0, {}), {.name = {}, .trainable = false}) {
    for (const Variable& parameter : parameters) {
      slots_.push_back({parameter, zeros_like(parameter), zeros_like(parameter)});
    }
  }

  void step(const std::vector<Tensor>& gradients) {
    constexpr double kRate = 1e-3, kMeanDecay = 0.9, kSquareDecay = 0.999, kEpsilon = 1e-8;
    taken_.assign(taken_ + 1.0);
    const Tensor taken = taken_.read();
    // Both corrections go into numbers, so that each element is touched no more than it must.
    const Tensor square_correction = sqrt(1.0 - pow(kSquareDecay, taken));
    const Tensor rate = cast(square_correction * kRate / (1.0 - pow(kMeanDecay, taken)), kFloat);
    const Tensor epsilon = cast(square_correction * kEpsilon, kFloat);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      auto& [parameter, mean, square] = slots_[i];
      const Tensor& g = gradients[i];
      mean.assign(mean * kMeanDecay + g * (1 - kMeanDecay));
      square.assign(square * kSquareDecay + g * g * (1 - kSquareDecay));
      parameter.assign(parameter - mean * rate / (sqrt(square) + epsilon));
    }
  }

 private:
  static constexpr tenure::DType kFloat = tenure::DType::float32;
  struct Slot {
    Variable parameter, mean, square;
  };
  static Variable zeros_like(const Variable& parameter) {
    return Variable(tenure::zeros(parameter.shape()), {.name = {}, .trainable = false});
  }

  std::vector<Slot> slots_;
  Variable taken_;  // steps
};

// A model and its optimizer. A model has parameters(), loss(x, y) and random_batch().
template <class Model>
class Training {
 public:
  explicit Training(Model model = Model()) : model_(std::move(model)), adam_(model_.parameters()) {}

  Tensor step(const Tensor& x, const Tensor& y) {
    tenure::GradientTape tape;
    Tensor loss = model_.loss(x, y);
    const std::vector<Variable> parameters = model_.parameters();
    adam_.step(tape.gradient(loss, {parameters.begin(), parameters.end()}));
    return loss;
  }
  tenure::Function<Tensor(Tensor, Tensor)> traced() {
    return tenure::function("step", [this](Tensor x, Tensor y) { return step(x, y); });
  }
  const Model& model() const { return model_; }

 private:
  Model model_;
  Adam adam_;
};

}  // namespace bench::models
