#include <algorithm>
#include <map>
#include <set>

#include "reference_linalg.h"

namespace tenure::testing {
namespace {

// Ellipses are drawn as digits, counted from their end: "i...j" of two axes is "i10j".
std::string with_ellipsis(const std::string& labels) {
  std::string text;
  bool open = false;
  for (const char label : labels) {
    const bool digit = label >= '0' && label <= '9';
    if (!digit) text += label;
    if (digit && !open) text += "...";
    open = digit;
  }
  return text;
}

struct EinsumDrawing {
  std::vector<std::string> operands;
  std::string output;
  std::map<char, std::int64_t> sizes;
  bool implied = false;
};

std::string drawn_labels(Dice& dice, int ellipsis_axes) {
  std::string labels;
  const std::int64_t letters = dice.in(0, 3);
  for (std::int64_t i = 0; i < letters; ++i) {
    labels += dice.chance(0.3) ? static_cast<char>('A' + dice.in(0, 1))
                               : static_cast<char>('a' + dice.in(0, 3));
  }
  std::string digits;
  for (int i = ellipsis_axes; i-- > 0;) digits += static_cast<char>('0' + i);
  labels.insert(static_cast<std::size_t>(dice.in(0, static_cast<std::int64_t>(labels.size()))),
                digits);
  return labels;
}

EinsumDrawing draw_equation(Dice& dice) {
  EinsumDrawing drawing;
  const std::int64_t count = dice.chance(0.1) ? 7 : dice.in(1, 4);
  const bool has_ellipsis = dice.chance(0.4);
  int widest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const int axes = has_ellipsis ? static_cast<int>(dice.in(0, 2)) : 0;
    widest = std::max(widest, axes);
    drawing.operands.push_back(drawn_labels(dice, axes));
  }
  std::map<char, int> uses;
  for (const std::string& operand : drawing.operands) {
    for (const char label : operand) ++uses[label];
  }
  for (const auto& [label, count_of] : uses) {
    drawing.sizes[label] = dice.chance(0.03) ? 0 : dice.in(1, 3);
  }
  std::string digits;
  for (int i = widest; i-- > 0;) digits += static_cast<char>('0' + i);
  drawing.implied = dice.chance(0.3);
  std::string letters;
  for (const auto& [label, count_of] : uses) {
    const bool digit = label >= '0' && label <= '9';
    if (!digit && (drawing.implied ? count_of == 1 : dice.chance(0.5))) letters += label;
  }
  if (!drawing.implied) {
    std::shuffle(letters.begin(), letters.end(), dice.random);
    if (dice.chance(0.2)) digits.clear();
    letters.insert(static_cast<std::size_t>(dice.in(0, static_cast<std::int64_t>(letters.size()))),
                   digits);
    drawing.output = letters;
  } else {
    drawing.output = digits + letters;
  }
  return drawing;
}

Trial einsum_trial(Dice& dice) {
  const EinsumDrawing drawing = draw_equation(dice);
  const std::vector<DType> dtypes{DType::float32, DType::float64, DType::int32, DType::int64};
  const DType dtype = dice.pick(dtypes);
  Trial trial;
  std::string equation;
  std::vector<Shape> shapes;
  for (const std::string& operand : drawing.operands) {
    if (!equation.empty() || !shapes.empty()) equation += dice.chance(0.2) ? ", " : ",";
    equation += with_ellipsis(operand);
    Shape shape;
    for (const char label : operand) {
      const bool digit = label >= '0' && label <= '9';
      shape.push_back(digit && dice.chance(0.2) ? 1 : drawing.sizes.at(label));
    }
    shapes.push_back(shape);
  }
  if (!drawing.implied) equation += "->" + with_ellipsis(drawing.output);
  if (dice.chance(0.15)) {
    const std::size_t arrow = equation.find("->");
    const std::string inputs = equation.substr(0, arrow);
    switch (dice.in(0, 4)) {
      case 0:
        shapes.push_back({});
        trial.complaint = {"einsum: " + std::to_string(shapes.size()) + " operands for the " +
                           std::to_string(shapes.size() - 1)};
        break;
      case 1:
        equation = inputs + "->z";
        trial.complaint = {"einsum: label z of the output is in no operand"};
        break;
      case 2:
        equation = inputs + ",zz->";
        shapes.push_back({2, 4});
        trial.complaint = {"einsum: label z is both 2 and 4", "[2, 4]"};
        break;
      case 3:
        equation = inputs + ",xyz->";
        shapes.push_back({2, 4});
        trial.complaint = {
            "einsum: \"xyz\" does not fit input " + std::to_string(shapes.size() - 1), "[2, 4]"};
        break;
      default:
        equation = inputs + ",z->zz";
        shapes.push_back({2});
        trial.complaint = {"einsum: label z stands twice in the output"};
        break;
    }
    trial.complaint.push_back('"' + equation + '"');
  }
  for (const Shape& shape : shapes) {
    trial.inputs.push_back(
        drawn(dice, shape, dtype, {.low = -1, .high = 1, .least = -3, .most = 3}));
  }
  const bool by_arguments = dice.chance(0.5);
  trial.run = [equation, by_arguments](Tensors in) {
    if (by_arguments && in.size() == 1) return einsum(equation, OP_IN(0));
    if (by_arguments && in.size() == 2) return einsum(equation, OP_IN(0), OP_IN(1));
    return einsum(equation, std::move(in));
  };
  trial.expect = einsum_of(drawing.operands, drawing.output);
  trial.result = dtype;
  trial.tolerance = {.ulps = 4, .epsilons = 128};
  return trial;
}

}  // namespace

std::vector<Fuzz> einsum_fuzz() { return {{"einsum", {"einsum"}, einsum_trial}}; }

}  // namespace tenure::testing
