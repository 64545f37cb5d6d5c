// The step of TensorFlow.js's Adam for one variable.
#include "ops/adam.h"
#include "call.h"
#include "operands.h"
#include "ops/apply.h"
#include "tenure/tenure.h"

namespace tenure::node {
namespace {

// Both corrections of the bias go into the rate and into epsilon, which are single numbers.
void run_adam(Call& call) {
  Tensor value = call.tensor();
  const Shape shape = value.shape();
  const auto next = [&call](const char* what, const Shape& wanted) {
    return fitting(ops::kAdam.name, what, call.tensor(), wanted);
  };
  value = fitting(ops::kAdam.name, "value", std::move(value), shape);
  Tensor mean = next("mean", shape), square = next("mean of squares", shape);
  Tensor gradient = next("gradient", shape);
  const Tensor rest1 = 1.0 - next("power of beta1", {});
  const Tensor rest2 = sqrt(1.0 - next("power of beta2", {}));
  const double beta1 = call.number(), beta2 = call.number();
  const double rate = call.number(), epsilon = call.number();
  const auto number = [](double x) { return full({}, x, DType::float32); };
  Tensor in[] = {std::move(value),     std::move(mean),     std::move(square), std::move(gradient),
                 number(beta1),        number(1.0 - beta1), number(beta2),     number(1.0 - beta2),
                 rate * rest2 / rest1, epsilon * rest2};
  std::vector<Tensor> out(3);
  ops::apply_into(ops::kAdam, in, {}, std::source_location::current(), out);
  call.give(std::move(out));
}

constexpr Row kRows[] = {{"adam", run_adam}};

}  // namespace

std::span<const Row> adam_rows() { return kRows; }

}  // namespace tenure::node
