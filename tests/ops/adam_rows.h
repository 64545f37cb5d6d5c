// What rows and trials of Adam's step share.
#pragma once

#include <cmath>

#include "case.h"
#include "ops/adam.h"

namespace tenure::testing {

// Value, mean, square, gradient, rate, epsilon.
inline const std::vector<Input> kAdamInputs{
    {}, {}, {.low = 0.1}, {}, {.low = 0.01, .high = 0.2}, {.low = 0.05, .high = 0.5}};
inline constexpr const char* kAdamResults[] = {"value", "mean", "square"};

inline Shapes adam_shapes(const Shape& shape) { return {shape, shape, shape, shape, {}, {}}; }

inline Tensor run_adam(const ops::AdamAttrs& attrs, Tensors in, std::size_t result) {
  return ops::adam({OP_IN(0), OP_IN(1), OP_IN(2), OP_IN(3), OP_IN(4), OP_IN(5)}, attrs)[result];
}

inline Reference adam_reference(const ops::AdamAttrs& attrs, std::size_t result) {
  return elementwise([=](const std::vector<double>& in) {
    const double gradient = in[3];
    const double mean = attrs.beta_1 * in[1] + (1 - attrs.beta_1) * gradient;
    const double square = attrs.beta_2 * in[2] + (1 - attrs.beta_2) * gradient * gradient;
    const double value = in[0] - in[4] * mean / (std::sqrt(square) + in[5]);
    return result == 0 ? value : result == 1 ? mean : square;
  });
}

inline constexpr Tolerance kAdamTolerance{.ulps = 4, .epsilons = 8};

}  // namespace tenure::testing
