#include "adam_rows.h"

namespace tenure::testing {

std::vector<Case> adam_cases() {
  const ops::AdamAttrs attrs{.beta_1 = 0.8, .beta_2 = 0.95};
  std::vector<Case> cases;
  for (std::size_t i = 0; i < std::size(kAdamResults); ++i) {
    cases.push_back({.name = std::string("adam_") + kAdamResults[i],
                     .ops = {"adam"},
                     .run = [=](Tensors in, DType) { return run_adam(attrs, std::move(in), i); },
                     .inputs = kAdamInputs,
                     .shapes = {adam_shapes({3, 5}), adam_shapes({}), adam_shapes({0, 2}),
                                adam_shapes({2, 3, 7})},
                     .value_shapes = {adam_shapes({131, 257})},
                     .reference = adam_reference(attrs, i),
                     .tolerance = kAdamTolerance,
                     .differentiable = false});
  }
  return cases;
}

}  // namespace tenure::testing
