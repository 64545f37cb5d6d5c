// Steps of an optimizer against its formulas in plain loops.
#pragma once

#include <functional>
#include <vector>

#include "tenure/nn/optimizers.h"

namespace tenure::testing {

using Doubles = std::vector<double>;

// One optimizer in double precision: what becomes of one variable and its slots.
struct Plain {
  std::vector<double> initial;  // of the slots
  std::function<void(Doubles& w, const Doubles& g, std::vector<Doubles>& slots, double rate, int t)>
      update;
};

struct Settings {
  std::function<double(int step)> rate;
  double weight_decay = 0, clipnorm = 0, clipvalue = 0, global_clipnorm = 0;
};

double norm_of(const Doubles& g);
Settings rate(double value);

// Some steps with given gradients: eager and traced, in both precisions, against plain loops.
void expect_steps(const std::function<nn::Optimizer()>& make, const Plain& plain,
                  const Settings& settings);

}  // namespace tenure::testing
