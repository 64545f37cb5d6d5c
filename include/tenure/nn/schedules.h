// Learning rates that change with the step.
//
//   nn::SGD({.learning_rate = nn::CosineDecay({.initial_learning_rate = 0, .decay_steps = 1000,
//                                              .warmup_target = 0.1, .warmup_steps = 50})});
//   nn::SGD({.learning_rate = [](Tensor step) { return 0.1 / sqrt(step + 1.0); }});
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/export.h"
#include "tenure/nn/parts.h"
#include "tenure/tensor.h"

namespace tenure::nn {

// A function from the number of steps taken, a float64 scalar, to the rate of the next one. Written
// in operations, so that it is part of a traced step.
class TENURE_API Schedule : public Part<Tensor(Tensor)> {
 public:
  Schedule() = default;
  explicit Schedule(Named<Tensor(Tensor)> named) : Part(std::move(named)) {}
  template <class F>
    requires std::is_invocable_r_v<Tensor, F, Tensor>
  Schedule(F fn, std::source_location site = std::source_location::current())
      : Part("schedule", std::move(fn), site) {}
  // float64, whatever the function gives.
  Tensor operator()(const Tensor& step,
                    std::source_location site = std::source_location::current()) const;
  double at(std::int64_t step, std::source_location site = std::source_location::current()) const;
};

struct ExponentialDecayOptions {
  double initial_learning_rate = 0.1;
  double decay_steps = 1;
  double decay_rate = 1;
  bool staircase = false;  // steps / decay_steps is rounded down
};
using InverseTimeDecayOptions = ExponentialDecayOptions;
struct PiecewiseConstantDecayOptions {
  std::vector<double> boundaries = {};  // values[i] up to and at step boundaries[i]
  std::vector<double> values = {};      // one more than boundaries
};
struct PolynomialDecayOptions {
  double initial_learning_rate = 0.1;
  double decay_steps = 1;
  double end_learning_rate = 0.0001;
  double power = 1;
  bool cycle = false;  // starts again, over more steps, where it ended
};
struct CosineDecayOptions {
  double initial_learning_rate = 0.1;
  double decay_steps = 1;
  double alpha = 0;  // the lowest rate, as a part of the highest
  // The rate first rises from the initial one to the target, over warmup_steps.
  std::optional<double> warmup_target = {};
  double warmup_steps = 0;
};
struct CosineDecayRestartsOptions {
  double initial_learning_rate = 0.1;
  double first_decay_steps = 1;
  double t_mul = 2;  // each period is as much longer
  double m_mul = 1;  // and starts as much higher
  double alpha = 0;
};
TENURE_API Schedule ExponentialDecay(ExponentialDecayOptions options,
                                     std::source_location site = std::source_location::current());
TENURE_API Schedule InverseTimeDecay(InverseTimeDecayOptions options,
                                     std::source_location site = std::source_location::current());
TENURE_API Schedule
PiecewiseConstantDecay(PiecewiseConstantDecayOptions options,
                       std::source_location site = std::source_location::current());
TENURE_API Schedule PolynomialDecay(PolynomialDecayOptions options,
                                    std::source_location site = std::source_location::current());
TENURE_API Schedule CosineDecay(CosineDecayOptions options,
                                std::source_location site = std::source_location::current());
TENURE_API Schedule
CosineDecayRestarts(CosineDecayRestartsOptions options,
                    std::source_location site = std::source_location::current());

// A number, a schedule, or a function of the step.
class LearningRate {
 public:
  template <class N>
    requires std::is_arithmetic_v<N>
  LearningRate(N rate) : value_(static_cast<double>(rate)) {}
  LearningRate(Schedule schedule) : schedule_(std::move(schedule)) {}
  template <class F>
    requires std::is_invocable_r_v<Tensor, F, Tensor>
  LearningRate(F fn, std::source_location site = std::source_location::current())
      : schedule_(std::move(fn), site) {}
  double value() const { return value_; }
  const Schedule& schedule() const { return schedule_; }  // not given() for a number

 private:
  double value_ = 0;
  Schedule schedule_;
};

}  // namespace tenure::nn
