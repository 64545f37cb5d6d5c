// einsum, made of views, sums and products.
//
// Each operand first loses what is its own affair: repeated labels become diagonals, labels that
// nobody else has are summed away. Then pairs are multiplied until one operand is left; a pair that
// shares a label to sum over is one matmul of [stack..., rows, inner] and [stack..., inner,
// columns], to which transposes bring the operands as views; matmul takes any strides in the stack,
// so only rows, columns or inner axes that do not lie evenly are copied.
#include <algorithm>
#include <optional>

#include "core/raise.h"
#include "memory/context.h"
#include "ops/einsum_plan.h"
#include "ops/families.h"
#include "ops/promote.h"
#include "ops/round_once.h"
#include "ops/tracer.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure {
namespace ops {
namespace {

struct Operand {
  Tensor tensor;
  Labels labels;

  int axis_of(Label label) const {
    return static_cast<int>(std::ranges::find(labels, label) - labels.begin());
  }
};

// Brings the axes into the order of `labels`, which are the operand's own.
void arrange(Operand& operand, const Labels& labels) {
  if (operand.labels == labels) return;
  Axes axes;
  for (const Label label : labels) axes.push_back(operand.axis_of(label));
  operand.tensor = transpose(std::move(operand.tensor), axes);
  operand.labels = labels;
}

void take_diagonals(Operand& operand) {
  for (std::size_t i = 0; i < operand.labels.size();) {
    const Label label = operand.labels[i];
    const auto again = std::find(operand.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                 operand.labels.end(), label);
    if (again == operand.labels.end()) {
      ++i;
      continue;
    }
    const auto other = static_cast<int>(again - operand.labels.begin());
    operand.tensor =
        diagonal(std::move(operand.tensor), {.axis1 = static_cast<int>(i), .axis2 = other});
    operand.labels.erase(again);
    operand.labels.erase(operand.labels.begin() + static_cast<std::ptrdiff_t>(i));
    operand.labels.push_back(label);  // where diagonal puts it
  }
}

// An axis of an ellipsis that is 1 here and longer elsewhere is as good as none.
void drop_broadcast_axes(Operand& operand, const Equation& equation) {
  Axes drop;
  Labels left;
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    const auto axis = static_cast<int>(i);
    const bool stretched =
        operand.tensor.shape()[axis] == 1 && equation.sizes.at(operand.labels[i]) != 1;
    if (stretched) {
      drop.push_back(axis);
    } else {
      left.push_back(operand.labels[i]);
    }
  }
  if (drop.rank() == 0) return;
  operand.tensor = squeeze(std::move(operand.tensor), drop);
  operand.labels = std::move(left);
}

void sum_away(Operand& operand, auto&& is_wanted) {
  Axes axes;
  Labels left;
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    if (is_wanted(operand.labels[i])) {
      left.push_back(operand.labels[i]);
    } else {
      axes.push_back(static_cast<int>(i));
    }
  }
  if (axes.rank() == 0) return;
  operand.tensor = sum(std::move(operand.tensor), axes);
  operand.labels = std::move(left);
}

// The shape of an operand [stack..., first..., second...] as a stack of matrices.
Tensor as_matrices(Tensor x, std::size_t stack, std::size_t first, std::size_t second) {
  if (first == 1 && second == 1) return x;
  const Shape& shape = x.shape();
  Shape matrices;
  std::int64_t sizes[2] = {1, 1};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    if (at < stack) {
      matrices.push_back(shape[axis]);
    } else {
      sizes[at < stack + first ? 0 : 1] *= shape[axis];
    }
  }
  matrices.push_back(sizes[0]);
  matrices.push_back(sizes[1]);
  return reshape(std::move(x), matrices);
}

// Elements multiplied where labels agree; nothing is summed.
Tensor multiplied(Operand a, Operand b, const Labels& labels) {
  for (Operand* operand : {&a, &b}) {
    Labels kept_labels;
    Shape shape;
    for (const Label label : labels) {
      const bool has_it = has(operand->labels, label);
      if (has_it) kept_labels.push_back(label);
      shape.push_back(has_it ? operand->tensor.shape()[operand->axis_of(label)] : 1);
    }
    arrange(*operand, kept_labels);
    if (kept_labels.size() != labels.size())
      operand->tensor = reshape(std::move(operand->tensor), shape);
  }
  return mul(std::move(a.tensor), std::move(b.tensor));
}

Operand contracted(Operand a, Operand b, std::span<const Labels> others, const Labels& output) {
  const Labels labels = product_labels(a.labels, b.labels, others, output);
  Labels stack, inner, rows, columns;
  for (const Label label : a.labels) {
    (!has(b.labels, label) ? rows : has(labels, label) ? stack : inner).push_back(label);
  }
  for (const Label label : b.labels) {
    if (!has(a.labels, label)) columns.push_back(label);
  }
  if (inner.empty()) {
    Tensor product = multiplied(std::move(a), std::move(b), labels);
    return {std::move(product), labels};
  }
  Shape shape;
  for (const Labels* group : {&stack, &rows, &columns}) {
    for (const Label label : *group) {
      const Operand& from = has(a.labels, label) ? a : b;
      shape.push_back(from.tensor.shape()[from.axis_of(label)]);
    }
  }
  const auto joined = [](const Labels& first, const Labels& second, const Labels& third) {
    Labels all = first;
    all.insert(all.end(), second.begin(), second.end());
    all.insert(all.end(), third.begin(), third.end());
    return all;
  };
  arrange(a, joined(stack, rows, inner));
  arrange(b, joined(stack, inner, columns));
  Tensor product =
      matmul(as_matrices(std::move(a.tensor), stack.size(), rows.size(), inner.size()),
             as_matrices(std::move(b.tensor), stack.size(), inner.size(), columns.size()));
  if (product.shape() != shape) product = reshape(std::move(product), shape);
  return {std::move(product), joined(stack, rows, columns)};
}

constexpr Composite kEinsumComposites[] = {
    {"einsum", "Einsum", "diagonal, sum, transpose, reshape, matmul, mul"}};

// Whether it is one sum or one product, and nothing more that rounds.
bool is_one_op(const Equation& read, std::span<const Shape> shapes) {
  if (shapes.size() != 2) return shapes.size() < 2;
  for (std::size_t i = 0; i < 2; ++i) {
    const Labels& labels = read.operands[i];
    for (std::size_t axis = 0; axis < labels.size(); ++axis) {
      if (has(read.output, labels[axis])) continue;
      const bool stretched = shapes[i][static_cast<int>(axis)] != read.sizes.at(labels[axis]);
      if (stretched || !has(read.operands[1 - i], labels[axis])) return false;
    }
  }
  return true;
}

DType common_dtype(std::span<const Tensor> tensors, std::source_location site) {
  DType dtype = DType::boolean;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    check_alive("einsum", static_cast<int>(i), tensors[i], site);
    dtype = i == 0 ? tensors[i].dtype() : promote(dtype, tensors[i].dtype());
  }
  const bool small = dtype == DType::boolean || dtype == DType::uint8 || dtype == DType::int8;
  return small ? DType::int32 : dtype;
}

}  // namespace

Family einsum_ops() {
  Family family;
  family.composites = kEinsumComposites;
  return family;
}

}  // namespace ops

using namespace ops;

Tensor einsum(std::string_view equation, std::vector<Tensor> tensors, std::source_location site) {
  const detail::CallScope call("einsum", site);
  const DType dtype = common_dtype(tensors, site);
  std::vector<Shape> shapes;
  shapes.reserve(tensors.size());
  for (const Tensor& tensor : tensors) shapes.push_back(tensor.shape());
  Equation read = read_equation(equation, shapes);
  const std::vector<Tensor> as_written =
      detail::context().trace != nullptr ? tensors : std::vector<Tensor>();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tensors[i] = operand_as("einsum", static_cast<int>(i), std::move(tensors[i]), dtype, site);
  }
  std::optional<RoundOnce> rounded;
  if (!is_one_op(read, shapes)) rounded.emplace("einsum", tensors, site);
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    operands.push_back({std::move(tensors[i]), read.operands[i]});
    take_diagonals(operands[i]);
    drop_broadcast_axes(operands[i], read);
    read.operands[i] = operands[i].labels;
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    sum_away(operands[i], [&](Label label) {
      if (has(read.output, label)) return true;
      for (std::size_t j = 0; j < operands.size(); ++j) {
        if (j != i && has(read.operands[j], label)) return true;
      }
      return false;
    });
    read.operands[i] = operands[i].labels;
  }
  const auto order = contraction_order(read);
  if (detail::Context& context = detail::context(); context.trace != nullptr && order.size() > 1) {
    context.trace->chosen_by(
        as_written, [text = std::string(equation), read, order](std::span<const Shape> others) {
          Equation other = read;
          other.sizes = read_equation(text, others).sizes;
          return contraction_order(other) == order;
        });
  }
  for (const auto& [i, j] : order) {
    Operand b = std::move(operands[j]), a = std::move(operands[i]);
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(j));
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(i));
    std::vector<Labels> others;
    others.reserve(operands.size());
    for (const Operand& other : operands) others.push_back(other.labels);
    operands.push_back(contracted(std::move(a), std::move(b), others, read.output));
  }
  Operand& result = operands.front();
  if (shapes.size() == 1 && result.labels == read.output) {
    const Axes axes = all_axes(result.tensor.shape());
    return transpose(std::move(result.tensor), axes);
  }
  arrange(result, read.output);
  return rounded ? (*rounded)(std::move(result.tensor)) : std::move(result.tensor);
}

Tensor einsum(std::string_view equation, Arg x) {
  const detail::UserLine site(x.site());
  std::vector<Tensor> tensors;
  tensors.push_back(as_tensor("einsum", std::move(x)));
  return einsum(equation, std::move(tensors), site);
}

Tensor einsum(std::string_view equation, Arg a, Arg b) {
  const detail::UserLine site(a.site());
  std::vector<Tensor> tensors(2);
  unify("einsum", std::array{&a, &b}, tensors, false);
  return einsum(equation, std::move(tensors), site);
}

}  // namespace tenure
