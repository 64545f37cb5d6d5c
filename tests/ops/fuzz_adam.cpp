#include "adam_rows.h"
#include "fuzz.h"

namespace tenure::testing {
namespace {

Trial adam_trial(Dice& dice) {
  const DType dtype = dice.pick(kFloats);
  const Shape shape = dice.shape(0, 4, 9);
  const ops::AdamAttrs attrs{.beta_1 = dice.chance(0.1) ? 0 : 0.9, .beta_2 = 0.99};
  const auto result = static_cast<std::size_t>(dice.in(0, 2));
  Trial trial;
  Shapes shapes = adam_shapes(shape);
  std::vector<DType> dtypes(shapes.size(), dtype);
  if (dice.chance(0.3)) {
    constexpr const char* names[] = {"mean", "mean of squares", "gradient", "rate", "epsilon"};
    const auto i = static_cast<std::size_t>(dice.in(1, 5));
    std::string is, wanted;
    if (dice.chance(0.5)) {
      wanted = to_string(shapes[i]);
      shapes[i].push_back(2);
      is = to_string(shapes[i]);
    } else {
      dtypes[i] = dtype == DType::float32 ? DType::float64 : DType::float32;
      wanted = std::string(name(dtype));
      is = std::string(name(dtypes[i]));
    }
    trial.complaint = {std::string("adam: the ") + names[i - 1] + " is " + is + ", but must be " +
                       wanted};
  }
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    trial.inputs.push_back(drawn(dice, shapes[i], dtypes[i], kAdamInputs[i]));
  }
  trial.run = [=](Tensors in) { return run_adam(attrs, std::move(in), result); };
  trial.expect = adam_reference(attrs, result);
  trial.result = dtype;
  trial.tolerance = kAdamTolerance;
  return trial;
}

}  // namespace

std::vector<Fuzz> adam_fuzz() { return {{"adam", {"adam"}, adam_trial}}; }

}  // namespace tenure::testing
