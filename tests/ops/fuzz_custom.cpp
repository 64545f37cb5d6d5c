#include "fuzz.h"

namespace tenure::testing {
namespace {

// The product of two tensors with a gradient that is not the product's: 5 dy and 7 dy, or, in an
// unsound trial, gradients that do not fit.
enum class Flaw { none, count, shape, missing };

Tensor product(const Tensors& in, Flaw flaw) {
  return custom_gradient(
      [flaw](const Tensors& x) -> CustomResult {
        CustomResult result{x[0] * x[1], {}};
        if (flaw == Flaw::missing) return result;
        result.gradient = [flaw](Tensor dy) -> Tensors {
          if (flaw == Flaw::count) return {dy};
          if (flaw == Flaw::shape) return {expand_dims(dy, 0), dy};
          return {dy * 5.0, dy * 7.0};
        };
        return result;
      },
      in);
}

Trial custom_trial(Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  const Shape shape = dice.shape();
  const bool value = dice.chance(0.3);
  Flaw flaw = Flaw::none;
  Trial trial;
  if (dice.chance(0.15)) {
    flaw = dice.pick(std::vector<Flaw>{Flaw::count, Flaw::shape, Flaw::missing});
    Shape wide{1};
    for (const std::int64_t size : shape) wide.push_back(size);
    if (flaw == Flaw::count) trial.complaint = {"custom_gradient: 1 gradients for 2 inputs"};
    if (flaw == Flaw::shape) {
      trial.complaint = {"custom_gradient: gradient 0 is " + to_string(wide) + ", its input " +
                         to_string(shape)};
    }
    if (flaw == Flaw::missing) {
      trial.complaint = {"custom_gradient: no gradient function was returned"};
    }
  }
  trial.inputs = {drawn(dice, shape, dtype), drawn(dice, shape, dtype)};
  if (value && flaw == Flaw::none) {
    trial.run = [](Tensors in) { return product(in, Flaw::none); };
    trial.expect = elementwise([](const std::vector<double>& x) { return x[0] * x[1]; });
    trial.tolerance = {.ulps = 1};
  } else {
    trial.run = [flaw](Tensors in) {
      GradientTape tape;
      tape.watch(in[1]);
      const Tensor y = product(in, flaw);
      return tape.gradient(y, in[1]);
    };
    trial.expect = elementwise([](const std::vector<double>&) { return 7.0; });
  }
  trial.result = dtype;
  return trial;
}

}  // namespace

std::vector<Fuzz> custom_fuzz() { return {{"custom_gradient", {"custom_gradient"}, custom_trial}}; }

}  // namespace tenure::testing
