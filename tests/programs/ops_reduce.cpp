#include "tenure/reduce.h"

#include <cmath>

#include "draws.h"
#include "ops.h"

namespace tenure::programs {
namespace {

using A = const Arithmetic&;
using S = const Statement&;

// numbers: whether dimensions are kept, then the axes.
bool draw_reduction(Generator& generator, Statement& statement, Type& result) {
  const bool floats_only = generator.random().chance(70);
  const Value x = generator.pick([floats_only](const Type& type) {
    return type.numel() > 0 && (floats_only ? is_float(type) : is_number(type));
  });
  if (x < 0) return false;
  const Type from = generator.type(x);
  const bool keep = generator.random().chance(30);
  statement.inputs = {{x}};
  statement.numbers = {keep};
  result = {from.dtype, Shape{}};
  for (int axis = 0; axis < from.shape.rank(); ++axis) {
    if (generator.random().chance(60)) {
      statement.numbers.push_back(axis);
      if (keep) result.shape.push_back(1);
    } else {
      result.shape.push_back(from.shape[axis]);
    }
  }
  return statement.numbers.size() > 1;
}
bool draw_float_reduction(Generator& generator, Statement& statement, Type& result) {
  return draw_reduction(generator, statement, result) && result.is_float();
}

Axes axes_of(S s) { return Axes(std::span<const std::int64_t>(s.numbers).subspan(1)); }
ReduceOptions options_of(S s) { return {.keep_dims = s.numbers[0] != 0}; }

// Calls fold(terms) for the elements that go into each element of the result.
template <class Fold> void reduce(const Arrays& in, S s, Array& result, Fold&& fold) {
  std::vector<std::vector<Num>> terms(result.at.size());
  const Axes axes = axes_of(s);
  each_index(in[0].type.shape, [&](const Index& index, std::size_t at) {
    Index to{};
    std::size_t next = 0;
    for (int axis = 0; axis < in[0].type.shape.rank(); ++axis) {
      const bool gone = std::ranges::find(axes, axis) != axes.end();
      if (!gone) {
        to[next++] = index[static_cast<std::size_t>(axis)];
      } else if (s.numbers[0] != 0) {
        to[next++] = 0;
      }
    }
    terms[position(result.type.shape, to)].push_back(in[0].at[at]);
  });
  for (std::size_t i = 0; i < terms.size(); ++i) result.at[i] = fold(terms[i]);
}

void interpret_sum(A with, const Arrays& in, S s, Array& result) {
  reduce(in, s, result,
         [&](const std::vector<Num>& terms) { return with.sum(terms.data(), terms.size(), 1); });
}
void interpret_mean(A with, const Arrays& in, S s, Array& result) {
  reduce(in, s, result, [&](const std::vector<Num>& terms) {
    Num mean = with.mul(with.sum(terms.data(), terms.size(), 1),
                        Num(1 / static_cast<double>(terms.size())));
    mean.error[0] += 4 * with.unit() * std::abs(mean.value());
    return mean;
  });
}
void interpret_prod(A with, const Arrays& in, S s, Array& result) {
  reduce(in, s, result, [&](const std::vector<Num>& terms) {
    Num product = terms[0];
    for (std::size_t i = 1; i < terms.size(); ++i) product = with.mul(product, terms[i]);
    product.error[0] +=
        with.unit() * static_cast<double>(4 * terms.size() - 4) * std::abs(product.value());
    return product;
  });
}
void interpret_logsumexp(A with, const Arrays& in, S s, Array& result) {
  reduce(in, s, result, [&](const std::vector<Num>& terms) {
    std::vector<Num> powers;
    double largest = 1;
    for (const Num& term : terms) {
      powers.push_back(with.exp(term));
      largest = std::max(largest, std::abs(term.value()));
    }
    Num logarithm = with.log(with.sum(powers.data(), powers.size(), 1));
    logarithm.error[0] += 32 * with.unit() * largest;
    return logarithm;
  });
}
template <auto choose> void interpret_choice(A, const Arrays& in, S s, Array& result) {
  reduce(in, s, result, [](const std::vector<Num>& terms) {
    Num best = terms[0];
    for (std::size_t i = 1; i < terms.size(); ++i) best = choose(best, terms[i]);
    return best;
  });
}

bool draw_arg_max(Generator& generator, Statement& statement, Type& result) {
  const Value x = generator.pick(is_float_with_axes);
  if (x < 0) return false;
  statement.inputs = {{x}};
  const int axis = generator.random().below(generator.type(x).shape.rank());
  statement.numbers = {0, axis};
  result = {DType::int32, Shape{}};
  for (int i = 0; i < generator.type(x).shape.rank(); ++i) {
    if (i != axis) result.shape.push_back(generator.type(x).shape[i]);
  }
  return true;
}
void interpret_arg_max(A, const Arrays& in, S s, Array& result) {
  reduce(in, s, result, [](const std::vector<Num>& terms) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < terms.size(); ++i) {
      if (Arithmetic::less(terms[best], terms[i])) best = i;
    }
    return Num(static_cast<double>(best));
  });
}

bool draw_cumsum(Generator& generator, Statement& statement, Type& result) {
  if (!draw_like<is_number_with_axes>(generator, statement, result)) return false;
  statement.numbers = {generator.random().below(result.shape.rank())};
  return true;
}
void interpret_cumsum(A with, const Arrays& in, S s, Array& result) {
  const auto axis = static_cast<std::size_t>(s.numbers[0]);
  result = array_of(result.type, [&](Index index) {
    std::vector<Num> terms;
    for (std::int64_t last = index[axis], i = 0; i <= last; ++i) {
      index[axis] = i;
      terms.push_back(in[0].at[position(result.type.shape, index)]);
    }
    return with.sum(terms.data(), terms.size(), 1);
  });
}

void interpret_softmax(A with, const Arrays& in, S, Array& result) {
  const auto row = static_cast<std::size_t>(result.type.shape[-1]);
  for (std::size_t at = 0; at < result.at.size(); at += row) {
    for (std::size_t i = 0; i < row; ++i) result.at[at + i] = with.exp(in[0].at[at + i]);
    const Num total = with.sum(&result.at[at], row, 1);
    for (std::size_t i = 0; i < row; ++i) {
      result.at[at + i] = with.div(result.at[at + i], total);
      result.at[at + i].error[0] += 32 * with.unit() * (1 + std::abs(in[0].at[at + i].value()));
    }
  }
}

}  // namespace

const std::vector<OpRow>& reduction_ops() {
  static const std::vector<OpRow> rows{
      {"sum", 5, draw_reduction,
       [](Tensors in, S s) { return sum(std::move(in[0]), axes_of(s), options_of(s)); },
       interpret_sum},
      {"mean", 3, draw_float_reduction,
       [](Tensors in, S s) { return mean(std::move(in[0]), axes_of(s), options_of(s)); },
       interpret_mean},
      {"prod", 2, draw_reduction,
       [](Tensors in, S s) { return prod(std::move(in[0]), axes_of(s), options_of(s)); },
       interpret_prod},
      {"logsumexp", 2, draw_float_reduction,
       [](Tensors in, S s) { return logsumexp(std::move(in[0]), axes_of(s), options_of(s)); },
       interpret_logsumexp},
      {"max", 2, draw_reduction,
       [](Tensors in, S s) { return max(std::move(in[0]), axes_of(s), options_of(s)); },
       interpret_choice<Arithmetic::larger>},
      {"min", 2, draw_reduction,
       [](Tensors in, S s) { return min(std::move(in[0]), axes_of(s), options_of(s)); },
       interpret_choice<Arithmetic::smaller>},
      {"arg_max", 2, draw_arg_max,
       [](Tensors in, S s) { return arg_max(std::move(in[0]), static_cast<int>(s.numbers[1])); },
       interpret_arg_max},
      {"cumsum", 2, draw_cumsum,
       [](Tensors in, S s) { return cumsum(std::move(in[0]), static_cast<int>(s.numbers[0])); },
       interpret_cumsum},
      {"softmax", 2, draw_like<is_float_with_axes>,
       [](Tensors in, S) { return softmax(std::move(in[0])); }, interpret_softmax},
  };
  return rows;
}

}  // namespace tenure::programs
