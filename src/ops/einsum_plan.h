// What an equation of einsum means for operands of given shapes, and in which order to multiply
// them. Knows nothing of tensors.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/shape.h"

namespace tenure::ops {

// Letters are their character; the axes of an ellipsis, counted from its end, come after.
using Label = int;
using Labels = std::vector<Label>;
inline constexpr Label kEllipsisLabels = 256;

struct Equation {
  std::vector<Labels> operands;
  Labels output;
  std::map<Label, std::int64_t> sizes;
};

// Throws errors that name the equation, the label and the sizes.
Equation read_equation(std::string_view text, std::span<const Shape> shapes);

// Pairs of operands, by their place in a list from which both go and to whose end their product
// comes. All orders are tried up to `kTriedOperands`; beyond, the cheapest pair is taken each time.
inline constexpr std::size_t kTriedOperands = 6;
std::vector<std::pair<std::size_t, std::size_t>> contraction_order(const Equation& equation);

// The labels of two operands' product: those of either that the output or another operand has.
Labels product_labels(const Labels& a, const Labels& b, std::span<const Labels> others,
                      const Labels& output);

inline bool has(const Labels& labels, Label label) {
  for (const Label each : labels) {
    if (each == label) return true;
  }
  return false;
}

}  // namespace tenure::ops
