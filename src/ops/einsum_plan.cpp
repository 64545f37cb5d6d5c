#include "ops/einsum_plan.h"

#include <algorithm>
#include <cctype>

#include "core/raise.h"

namespace tenure::ops {
namespace {

constexpr std::string_view kArrow = "->";
constexpr std::string_view kEllipsis = "...";

struct Term {
  std::string text;
  std::size_t ellipsis = std::string::npos;  // how many labels stand before it
  Labels labels;                             // without the ellipsis
  bool has_ellipsis() const { return ellipsis != std::string::npos; }
};

Term read_term(std::string_view equation, std::string_view text) {
  Term term{std::string(text), std::string::npos, {}};
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, kEllipsis.size()) == kEllipsis && !term.has_ellipsis()) {
      term.ellipsis = term.labels.size();
      i += kEllipsis.size() - 1;
    } else if (std::isalpha(static_cast<unsigned char>(text[i])) != 0) {
      term.labels.push_back(text[i]);
    } else {
      raise<ValueError>("einsum: '{}' is neither a letter nor one ellipsis: \"{}\"", text[i],
                        equation);
    }
  }
  return term;
}

std::vector<Term> read_inputs(std::string_view equation, std::string_view text) {
  std::vector<Term> terms;
  for (;;) {
    const std::size_t comma = text.find(',');
    terms.push_back(read_term(equation, text.substr(0, comma)));
    if (comma == text.npos) return terms;
    text.remove_prefix(comma + 1);
  }
}

// The labels of the ellipsis' axes put in their place.
Labels expanded(const Term& term, int ellipsis_axes) {
  Labels labels = term.labels;
  if (!term.has_ellipsis()) return labels;
  Labels axes;
  for (int i = ellipsis_axes; i-- > 0;) axes.push_back(kEllipsisLabels + i);
  labels.insert(labels.begin() + static_cast<std::ptrdiff_t>(term.ellipsis), axes.begin(),
                axes.end());
  return labels;
}

std::string label_text(Label label) {
  if (label >= kEllipsisLabels) return "...";
  return std::string(1, static_cast<char>(label));
}

void take_size(Equation& equation, std::string_view text, Label label, std::int64_t size,
               std::size_t operand, const Shape& shape) {
  const auto [at, is_new] = equation.sizes.try_emplace(label, size);
  std::int64_t& known = at->second;
  if (is_new || known == size) return;
  if (label >= kEllipsisLabels && (size == 1 || known == 1)) {
    if (known == 1) known = size;
    return;
  }
  raise<ShapeError>("einsum: label {} is both {} and {}: input {} is {}: \"{}\"", label_text(label),
                    known, size, operand, shape, text);
}

// Labels that stand there once, in alphabetical order, after the axes of ellipses.
Labels implied_output(const std::vector<Term>& inputs, int ellipsis_axes) {
  std::map<Label, int> uses;
  for (const Term& term : inputs) {
    for (const Label label : term.labels) ++uses[label];
  }
  Labels output;
  for (int i = ellipsis_axes; i-- > 0;) output.push_back(kEllipsisLabels + i);
  for (const auto& [label, count] : uses) {
    if (count == 1) output.push_back(label);
  }
  return output;
}

double product_cost(const std::map<Label, std::int64_t>& sizes, const Labels& a, const Labels& b) {
  double cost = 1;
  for (const Label label : a) cost *= static_cast<double>(sizes.at(label));
  for (const Label label : b) {
    if (!has(a, label)) cost *= static_cast<double>(sizes.at(label));
  }
  return cost;
}

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

struct Orders {
  const Equation& equation;
  Pairs best{};
  double least = -1;
  Pairs tried{};

  std::vector<Labels> after(std::vector<Labels> operands, std::size_t i, std::size_t j) const {
    const Labels a = operands[i], b = operands[j];
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(j));
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(i));
    operands.push_back(product_labels(a, b, operands, equation.output));
    return operands;
  }
  double cost(const std::vector<Labels>& operands, std::size_t i, std::size_t j) const {
    return product_cost(equation.sizes, operands[i], operands[j]);
  }
  void try_all(const std::vector<Labels>& operands, double spent) {
    if (least >= 0 && spent >= least) return;
    if (operands.size() < 2) {
      least = spent;
      best = tried;
      return;
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
      for (std::size_t j = i + 1; j < operands.size(); ++j) {
        tried.emplace_back(i, j);
        try_all(after(operands, i, j), spent + cost(operands, i, j));
        tried.pop_back();
      }
    }
  }
  void take_cheapest(std::vector<Labels> operands) {
    while (operands.size() > 1) {
      std::pair<std::size_t, std::size_t> pair{0, 1};
      for (std::size_t i = 0; i < operands.size(); ++i) {
        for (std::size_t j = i + 1; j < operands.size(); ++j) {
          if (cost(operands, i, j) < cost(operands, pair.first, pair.second)) pair = {i, j};
        }
      }
      best.push_back(pair);
      operands = after(std::move(operands), pair.first, pair.second);
    }
  }
};

}  // namespace

Equation read_equation(std::string_view text, std::span<const Shape> shapes) {
  std::string packed;
  for (const char c : text) {
    if (c != ' ') packed += c;
  }
  const std::string_view all = packed;
  const std::size_t arrow = all.find(kArrow);
  const std::vector<Term> inputs = read_inputs(text, all.substr(0, arrow));
  if (inputs.size() != shapes.size()) {
    raise<ValueError>("einsum: {} operands for the {} of \"{}\"", shapes.size(), inputs.size(),
                      text);
  }
  int ellipsis_axes = 0;
  std::vector<int> own_axes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const int named = static_cast<int>(inputs[i].labels.size()), rank = shapes[i].rank();
    if (inputs[i].has_ellipsis() ? named > rank : named != rank) {
      raise<ShapeError>("einsum: \"{}\" does not fit input {}, which is {}: \"{}\"", inputs[i].text,
                        i, shapes[i], text);
    }
    own_axes.push_back(rank - named);
    ellipsis_axes = std::max(ellipsis_axes, own_axes.back());
  }
  Equation equation;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    equation.operands.push_back(expanded(inputs[i], own_axes[i]));
    for (int axis = 0; axis < shapes[i].rank(); ++axis) {
      take_size(equation, text, equation.operands[i][static_cast<std::size_t>(axis)],
                shapes[i][axis], i, shapes[i]);
    }
  }
  if (arrow == all.npos) {
    equation.output = implied_output(inputs, ellipsis_axes);
    return equation;
  }
  equation.output = expanded(read_term(text, all.substr(arrow + kArrow.size())), ellipsis_axes);
  for (const Label label : equation.output) {
    if (!equation.sizes.contains(label)) {
      raise<ValueError>("einsum: label {} of the output is in no operand: \"{}\"",
                        label_text(label), text);
    }
    if (std::ranges::count(equation.output, label) > 1) {
      raise<ValueError>("einsum: label {} stands twice in the output: \"{}\"", label_text(label),
                        text);
    }
  }
  return equation;
}

Labels product_labels(const Labels& a, const Labels& b, std::span<const Labels> others,
                      const Labels& output) {
  const auto is_used = [&](Label label) {
    return has(output, label) ||
           std::ranges::any_of(others, [label](const Labels& other) { return has(other, label); });
  };
  Labels labels;
  for (const Label label : a) {
    if (has(b, label) && is_used(label)) labels.push_back(label);
  }
  for (const Label label : a) {
    if (!has(b, label)) labels.push_back(label);
  }
  for (const Label label : b) {
    if (!has(a, label)) labels.push_back(label);
  }
  return labels;
}

Pairs contraction_order(const Equation& equation) {
  if (equation.operands.size() < 2) return {};
  if (equation.operands.size() == 2) return {{0, 1}};
  Orders orders{equation};
  if (equation.operands.size() <= kTriedOperands) {
    orders.try_all(equation.operands, 0);
  } else {
    orders.take_cheapest(equation.operands);
  }
  return orders.best;
}

}  // namespace tenure::ops
