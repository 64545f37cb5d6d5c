#include <cmath>

#include "draws.h"
#include "ops.h"
#include "tenure/gradient.h"
#include "tenure/math.h"

namespace tenure::programs {
namespace {

// interpret, from a function of one Num or of two that broadcast.
template <auto fn>
void one(const Arithmetic& with, const Arrays& in, const Statement&, Array& result) {
  for (std::size_t i = 0; i < result.at.size(); ++i) result.at[i] = fn(with, in[0].at[i]);
}
template <auto fn>
void two(const Arithmetic& with, const Arrays& in, const Statement&, Array& result) {
  const Array a = converted(in[0], result.type.dtype, with.tapes());
  const Array b = converted(in[1], result.type.dtype, with.tapes());
  const Shape& shape = result.type.shape;
  each_index(shape, [&](const Index& index, std::size_t at) {
    result.at[at] = fn(with, a.at[broadcast_position(a.type.shape, index, shape)],
                       b.at[broadcast_position(b.type.shape, index, shape)]);
  });
}

using A = const Arithmetic&;
using N = const Num&;

Num absolute(A, N x) { return Arithmetic::larger(x, Arithmetic(DType::float64, 0).neg(x)); }
Num relu_of(A, N x) { return Arithmetic::larger(x, Num(0)); }
Num root(A with, N x) { return with.sqrt(with.add(absolute(with, x), Num(0.25))); }
Num logarithm(A with, N x) { return with.log(with.add(absolute(with, x), Num(0.5))); }
Num exponential(A with, N x) { return with.exp(Arithmetic::smaller(x, Num(1))); }
Num quotient(A with, N a, N b) { return with.div(a, with.add(absolute(with, b), Num(0.5))); }
Num difference_squared(A with, N a, N b) {
  const Num apart = with.sub(a, b);
  return with.mul(apart, apart);
}

// A number beside the tensor, of the tensor's dtype.
bool draw_with_number(Generator& generator, Statement& statement, Type& result) {
  if (!draw_like<is_number>(generator, statement, result)) return false;
  statement.literals = {result.is_float()
                            ? generator.random().one_of<double>({0.5, -0.75, 1.25, -1, 1, 0.3125})
                            : generator.random().between(-2, 2)};
  return true;
}
Arg number(const Tensor& beside, double literal) {
  if (beside.dtype() == DType::int32) return static_cast<int>(literal);
  return literal;
}
template <auto fn>
void with_number(A with, const Arrays& in, const Statement& statement, Array& result) {
  const Num literal(statement.literals[0]);
  for (std::size_t i = 0; i < result.at.size(); ++i) result.at[i] = fn(with, in[0].at[i], literal);
}

bool draw_cast(Generator& generator, Statement& statement, Type& result) {
  if (!draw_like<is_any>(generator, statement, result)) return false;
  const DType from = result.dtype;
  result.dtype = generator.random().one_of<DType>(
      {generator.draw_float(), generator.draw_float(), DType::float64, DType::int32});
  statement.numbers = {static_cast<std::int64_t>(result.dtype)};
  return result.dtype != from;
}
void interpret_cast(A with, const Arrays& in, const Statement&, Array& result) {
  result = converted(in[0], result.type.dtype, with.tapes());
}

void stop(A, const Arrays& in, const Statement&, Array& result) {
  for (std::size_t i = 0; i < result.at.size(); ++i) {
    result.at[i] = Arithmetic::without_derivatives(in[0].at[i]);
  }
}

Tensor take(Tensors& in, std::size_t i = 0) { return std::move(in[i]); }

}  // namespace

const std::vector<OpRow>& elementwise_ops() {
  using S = const Statement&;
  static const std::vector<OpRow> rows{
      {"neg", 2, draw_like<is_number>, [](Tensors in, S) { return neg(take(in)); },
       one<[](A with, N x) { return with.neg(x); }>},
      {"abs", 2, draw_like<is_number>, [](Tensors in, S) { return abs(take(in)); }, one<absolute>},
      {"relu", 3, draw_like<is_float>, [](Tensors in, S) { return relu(take(in)); }, one<relu_of>},
      {"square", 3, draw_like<is_float>, [](Tensors in, S) { return square(take(in)); },
       one<[](A with, N x) { return with.mul(x, x); }>},
      {"tanh", 4, draw_like<is_float>, [](Tensors in, S) { return tanh(take(in)); },
       one<[](A with, N x) { return with.tanh(x); }>},
      {"sigmoid", 3, draw_like<is_float>, [](Tensors in, S) { return sigmoid(take(in)); },
       one<[](A with, N x) { return with.sigmoid(x); }>},
      {"sin", 3, draw_like<is_float>, [](Tensors in, S) { return sin(take(in)); },
       one<[](A with, N x) { return with.sin(x); }>},
      {"cos", 2, draw_like<is_float>, [](Tensors in, S) { return cos(take(in)); },
       one<[](A with, N x) { return with.cos(x); }>},
      {"sqrt", 2, draw_like<is_float>, [](Tensors in, S) { return sqrt(abs(take(in)) + 0.25); },
       one<root>, false, false, "sqrt(abs({0}) + 0.25)"},
      {"log", 2, draw_like<is_float>, [](Tensors in, S) { return log(abs(take(in)) + 0.5); },
       one<logarithm>, false, false, "log(abs({0}) + 0.5)"},
      {"exp", 2, draw_like<is_float>, [](Tensors in, S) { return exp(minimum(take(in), 1.0)); },
       one<exponential>, false, false, "exp(minimum({0}, 1.0))"},
      {"add", 8, draw_two<is_number>, [](Tensors in, S) { return take(in) + take(in, 1); },
       two<[](A with, N a, N b) { return with.add(a, b); }>, false, false, "{0} + {1}"},
      {"sub", 6, draw_two<is_number>, [](Tensors in, S) { return take(in) - take(in, 1); },
       two<[](A with, N a, N b) { return with.sub(a, b); }>, false, false, "{0} - {1}"},
      {"mul", 8, draw_two<is_number>, [](Tensors in, S) { return take(in) * take(in, 1); },
       two<[](A with, N a, N b) { return with.mul(a, b); }>, false, false, "{0} * {1}"},
      {"div", 3, draw_two<is_float>,
       [](Tensors in, S) { return take(in) / (abs(take(in, 1)) + 0.5); }, two<quotient>, false,
       false, "{0} / (abs({1}) + 0.5)"},
      {"maximum", 3, draw_two<is_number>,
       [](Tensors in, S) { return maximum(take(in), take(in, 1)); },
       two<[](A, N a, N b) { return Arithmetic::larger(a, b); }>},
      {"minimum", 3, draw_two<is_number>,
       [](Tensors in, S) { return minimum(take(in), take(in, 1)); },
       two<[](A, N a, N b) { return Arithmetic::smaller(a, b); }>},
      {"squared_difference", 2, draw_two<is_float>,
       [](Tensors in, S) { return squared_difference(take(in), take(in, 1)); },
       two<difference_squared>},
      {"add_number", 5, draw_with_number,
       [](Tensors in, S s) {
         Arg literal = number(in[0], s.literals[0]);
         return take(in) + std::move(literal);
       },
       with_number<[](A with, N a, N b) { return with.add(a, b); }>, false, false, "{0} + {n}"},
      {"mul_number", 6, draw_with_number,
       [](Tensors in, S s) {
         Arg literal = number(in[0], s.literals[0]);
         return take(in) * std::move(literal);
       },
       with_number<[](A with, N a, N b) { return with.mul(a, b); }>, false, false, "{0} * {n}"},
      {"clip", 2, draw_like<is_float>, [](Tensors in, S) { return clip(take(in), -0.5, 0.75); },
       one<[](A, N x) { return Arithmetic::smaller(Arithmetic::larger(x, Num(-0.5)), Num(0.75)); }>,
       false, false, "clip({0}, -0.5, 0.75)"},
      {"cast", 4, draw_cast,
       [](Tensors in, S s) { return cast(take(in), static_cast<DType>(s.numbers[0])); },
       interpret_cast},
      {"stop_gradient", 2, draw_like<is_float>,
       [](Tensors in, S) { return stop_gradient(take(in)); }, stop, true},
  };
  return rows;
}

}  // namespace tenure::programs
