#include "fuzz.h"

namespace tenure::testing {
namespace {

// Numbers are no booleans, and floats have no bits.
Trial wrong_dtype_trial(const Case& row, Dice& dice) {
  const bool bitwise = row.name.starts_with("bitwise");
  const DType dtype = dice.pick(bitwise ? kFloats : kIntegers);
  Trial trial{.inputs = {}, .run = {}};
  for (std::size_t i = 0; i < row.inputs.size(); ++i) {
    trial.inputs.push_back(drawn(dice, {2, 3}, dtype));
  }
  trial.run = [run = row.run, dtype](Tensors in) { return run(std::move(in), dtype); };
  const std::string refused(name(dtype));
  trial.complaint = {row.name + (bitwise ? ": not defined for " + refused
                                         : ": input 0 must be bool, not " + refused)};
  return trial;
}

}  // namespace

std::vector<Fuzz> logical_fuzz() {
  std::vector<Fuzz> rows;
  for (const Case& row : logical_cases()) {
    rows.push_back(fuzz_elementwise(row));
    rows.back().draw = [row, sound = rows.back().draw](Dice& dice) {
      return dice.chance(0.1) ? wrong_dtype_trial(row, dice) : sound(dice);
    };
  }
  return rows;
}

}  // namespace tenure::testing
