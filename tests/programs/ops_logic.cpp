#include "draws.h"
#include "ops.h"
#include "tenure/math.h"
#include "tenure/reduce.h"

namespace tenure::programs {
namespace {

using A = const Arithmetic&;
using N = const Num&;
using S = const Statement&;

template <auto fn> void two(A, const Arrays& in, S, Array& result) {
  const Shape& shape = result.type.shape;
  each_index(shape, [&](const Index& index, std::size_t at) {
    result.at[at] = Num(fn(in[0].at[broadcast_position(in[0].type.shape, index, shape)],
                           in[1].at[broadcast_position(in[1].type.shape, index, shape)])
                            ? 1
                            : 0);
  });
}

bool draw_where(Generator& generator, Statement& statement, Type& result) {
  Statement branches;
  if (!draw_two<is_number>(generator, branches, result)) return false;
  if (generator.type(branches.inputs[0].value).dtype !=
      generator.type(branches.inputs[1].value).dtype) {
    return false;
  }
  const Shape shape = result.shape;
  const Value condition = generator.pick([&shape](const Type& type) {
    const auto both = broadcast(type.shape, shape);
    return is_bool(type) && both && *both == shape;
  });
  if (condition < 0) return false;
  statement.inputs = {{condition}, branches.inputs[0], branches.inputs[1]};
  return true;
}
void interpret_where(A, const Arrays& in, S, Array& result) {
  const Shape& shape = result.type.shape;
  each_index(shape, [&](const Index& index, std::size_t at) {
    const bool yes = in[0].at[broadcast_position(in[0].type.shape, index, shape)].value() != 0;
    const Array& from = in[yes ? 1 : 2];
    result.at[at] = from.at[broadcast_position(from.type.shape, index, shape)];
  });
}

bool draw_whole(Generator& generator, Statement& statement, Type& result) {
  if (!draw_like<is_bool>(generator, statement, result)) return false;
  result.shape = Shape{};
  return true;
}

Tensor take(Tensors& in, std::size_t i = 0) { return std::move(in[i]); }

}  // namespace

const std::vector<OpRow>& logic_ops() {
  static const std::vector<OpRow> rows{
      {"less", 4, draw_comparison<is_number>, [](Tensors in, S) { return take(in) < take(in, 1); },
       two<[](N a, N b) { return Arithmetic::less(a, b); }>, false, false, "{0} < {1}"},
      {"greater_equal", 3, draw_comparison<is_number>,
       [](Tensors in, S) { return take(in) >= take(in, 1); },
       two<[](N a, N b) { return !Arithmetic::less(a, b); }>, false, false, "{0} >= {1}"},
      {"equal", 2, draw_comparison<is_number>,
       [](Tensors in, S) { return equal(take(in), take(in, 1)); },
       two<[](N a, N b) { return Arithmetic::equal(a, b); }>},
      {"logical_and", 2, draw_two<is_bool>,
       [](Tensors in, S) { return logical_and(take(in), take(in, 1)); },
       two<[](N a, N b) { return a.value() != 0 && b.value() != 0; }>},
      {"logical_or", 2, draw_two<is_bool>,
       [](Tensors in, S) { return logical_or(take(in), take(in, 1)); },
       two<[](N a, N b) { return a.value() != 0 || b.value() != 0; }>},
      {"logical_xor", 1, draw_two<is_bool>,
       [](Tensors in, S) { return logical_xor(take(in), take(in, 1)); },
       two<[](N a, N b) { return (a.value() != 0) != (b.value() != 0); }>},
      {"logical_not", 1, draw_like<is_bool>, [](Tensors in, S) { return !take(in); },
       [](A, const Arrays& in, S, Array& result) {
         for (std::size_t i = 0; i < result.at.size(); ++i) {
           result.at[i] = Num(in[0].at[i].value() == 0 ? 1 : 0);
         }
       },
       false, false, "!{0}"},
      {"any", 2, draw_whole, [](Tensors in, S) { return any(take(in)); },
       [](A, const Arrays& in, S, Array& result) {
         bool yes = false;
         for (N each : in[0].at) yes |= each.value() != 0;
         result.at[0] = Num(yes ? 1 : 0);
       }},
      {"all", 1, draw_whole, [](Tensors in, S) { return all(take(in)); },
       [](A, const Arrays& in, S, Array& result) {
         bool yes = true;
         for (N each : in[0].at) yes &= each.value() != 0;
         result.at[0] = Num(yes ? 1 : 0);
       }},
      {"where", 4, draw_where,
       [](Tensors in, S) { return where(take(in), take(in, 1), take(in, 2)); }, interpret_where},
  };
  return rows;
}

}  // namespace tenure::programs
