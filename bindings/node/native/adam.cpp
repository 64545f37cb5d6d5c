// The step of TensorFlow.js's Adam for one variable.
#include "ops/adam.h"

#include "call.h"
#include "tenure/tenure.h"

namespace tenure::node {
namespace {

// Both corrections of the bias go into the rate and into epsilon, which are single numbers.
void run_adam(Call& call) {
  std::array<Tensor, 6> in;
  for (Tensor& each : std::span(in).first(4)) each = call.tensor();
  const Tensor rest1 = 1.0 - call.tensor(), rest2 = sqrt(1.0 - call.tensor());
  const double beta1 = call.number(), beta2 = call.number();
  in[4] = call.number() * rest2 / rest1;
  in[5] = call.number() * rest2;
  auto [value, mean, square] = ops::adam(std::move(in), {beta1, beta2});
  call.give({std::move(value), std::move(mean), std::move(square)});
}

constexpr Row kAdamRows[] = {{"adam", run_adam}};

}  // namespace

std::span<const Row> adam_rows() { return kAdamRows; }

}  // namespace tenure::node
