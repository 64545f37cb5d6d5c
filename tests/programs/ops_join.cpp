#include "draws.h"
#include "ops.h"
#include "tenure/create.h"
#include "tenure/indexing.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/reduce.h"
#include "tenure/views.h"

namespace tenure::programs {
namespace {

using A = const Arithmetic&;
using S = const Statement&;

int axis_of(S s) { return static_cast<int>(s.numbers[0]); }

bool draw_concat(Generator& generator, Statement& statement, Type& result) {
  if (!draw_like<has_axes>(generator, statement, result)) return false;
  const int axis = generator.random().below(result.shape.rank());
  const Type first = result;
  for (int more = generator.random().between(1, 2); more > 0; --more) {
    const Value next = generator.pick([&](const Type& type) {
      if (type.dtype != first.dtype || type.shape.rank() != first.shape.rank()) return false;
      for (int i = 0; i < first.shape.rank(); ++i) {
        if (i != axis && type.shape[i] != first.shape[i]) return false;
      }
      return true;
    });
    if (next < 0) return false;
    statement.inputs.push_back({next});
    result.shape[axis] += generator.type(next).shape[axis];
  }
  statement.numbers = {axis};
  return result.shape.numel() <= 24;
}
void interpret_concat(A, const Arrays& in, S s, Array& result) {
  result = array_of(result.type, [&](Index index) {
    std::size_t part = 0;
    auto& along = index[static_cast<std::size_t>(axis_of(s))];
    while (along >= in[part].type.shape[axis_of(s)]) {
      along -= in[part].type.shape[axis_of(s)];
      ++part;
    }
    return in[part].at[position(in[part].type.shape, index)];
  });
}

bool draw_stack(Generator& generator, Statement& statement, Type& result) {
  const Value x = generator.pick([](const Type& type) { return type.shape.rank() <= 2; });
  if (x < 0) return false;
  const Type each = generator.type(x);
  statement.inputs = {{x}};
  for (int more = generator.random().between(1, 2); more > 0; --more) {
    const Value next = generator.pick(each);
    statement.inputs.push_back({next < 0 ? x : next});
  }
  const int axis = generator.random().between(0, each.shape.rank());
  statement.numbers = {axis};
  result = {each.dtype, Shape{}};
  for (int i = 0; i <= each.shape.rank(); ++i) {
    if (i == axis) result.shape.push_back(static_cast<std::int64_t>(statement.inputs.size()));
    if (i < each.shape.rank()) result.shape.push_back(each.shape[i]);
  }
  return result.shape.numel() <= 24;
}
void interpret_stack(A, const Arrays& in, S s, Array& result) {
  result = array_of(result.type, [&](const Index& index) {
    Index inner{};
    const auto axis = static_cast<std::size_t>(axis_of(s));
    for (std::size_t i = 0, j = 0; i + 1 < index.size(); ++i) {
      if (i != axis) inner[j++] = index[i];
    }
    const Array& from = in[static_cast<std::size_t>(index[axis])];
    return from.at[position(from.type.shape, inner)];
  });
}

// numbers: before and after, of every axis.
bool draw_pad(Generator& generator, Statement& statement, Type& result) {
  if (!draw_like<is_number_with_axes>(generator, statement, result)) return false;
  for (std::int64_t& size : result.shape) {
    const int before = generator.random().below(2), after = generator.random().below(2);
    statement.numbers.push_back(before);
    statement.numbers.push_back(after);
    size += before + after;
  }
  return result.shape.numel() <= 24;
}
Tensor run_pad(Tensors in, S s) {
  Paddings paddings;
  for (std::size_t i = 0; i < s.numbers.size(); i += 2) {
    paddings.emplace_back(s.numbers[i], s.numbers[i + 1]);
  }
  return pad(std::move(in[0]), paddings);
}
void interpret_pad(A, const Arrays& in, S s, Array& result) {
  result = array_of(result.type, [&](Index index) {
    for (int i = 0; i < result.type.shape.rank(); ++i) {
      const auto a = static_cast<std::size_t>(i);
      index[a] -= s.numbers[2 * a];
      if (index[a] < 0 || index[a] >= in[0].type.shape[i]) return Num(0);
    }
    return in[0].at[position(in[0].type.shape, index)];
  });
}

// numbers: how often, of every axis.
bool draw_tile(Generator& generator, Statement& statement, Type& result) {
  if (!draw_like<has_axes>(generator, statement, result)) return false;
  for (std::int64_t& size : result.shape) {
    statement.numbers.push_back(generator.random().between(1, 2));
    size *= statement.numbers.back();
  }
  return result.shape.numel() <= 24;
}
void interpret_tile(A, const Arrays& in, S, Array& result) {
  result = array_of(result.type, [&](Index index) {
    for (int i = 0; i < result.type.shape.rank(); ++i) {
      index[static_cast<std::size_t>(i)] %= in[0].type.shape[i];
    }
    return in[0].at[position(in[0].type.shape, index)];
  });
}

// numbers: the depth.
bool draw_one_hot(Generator& generator, Statement& statement, Type& result) {
  const Value x = generator.pick([](const Type& t) { return is_int(t) && t.shape.rank() <= 2; });
  if (x < 0) return false;
  statement.inputs = {{x}};
  statement.numbers = {generator.random().between(1, 3)};
  result = {DType::float32, generator.type(x).shape};
  result.shape.push_back(statement.numbers[0]);
  return true;
}
void interpret_one_hot(A, const Arrays& in, S s, Array& result) {
  const auto depth = static_cast<std::size_t>(s.numbers[0]);
  for (std::size_t i = 0; i < result.at.size(); ++i) {
    result.at[i] = Num(in[0].at[i / depth].value() == static_cast<double>(i % depth) ? 1 : 0);
  }
}

// numbers: whether each operand is transposed.
bool draw_matmul(Generator& generator, Statement& statement, Type& result) {
  const bool ta = generator.random().chance(25), tb = generator.random().chance(25);
  const Value a =
      generator.pick([](const Type& t) { return is_float_with_axes(t) && t.shape.rank() == 2; });
  if (a < 0) return false;
  const Type left = generator.type(a);
  const std::int64_t inner = left.shape[ta ? 0 : 1];
  const Value b = generator.pick([&](const Type& type) {
    return type.dtype == left.dtype && type.shape.rank() == 2 && type.shape[tb ? 1 : 0] == inner &&
           type.numel() > 0;
  });
  if (b < 0) return false;
  statement.inputs = {{a}, {b}};
  statement.numbers = {ta, tb};
  result = {left.dtype, Shape{left.shape[ta ? 1 : 0], generator.type(b).shape[tb ? 0 : 1]}};
  return true;
}
Tensor run_matmul(Tensors in, S s) {
  return matmul(std::move(in[0]), std::move(in[1]),
                {.transpose_a = s.numbers[0] != 0, .transpose_b = s.numbers[1] != 0});
}
void interpret_matmul(A with, const Arrays& in, S s, Array& result) {
  const Shape& left = in[0].type.shape;
  const Shape& right = in[1].type.shape;
  const bool ta = s.numbers[0] != 0, tb = s.numbers[1] != 0;
  const std::int64_t inner = left[ta ? 0 : 1];
  result = array_of(result.type, [&](const Index& index) {
    Num total;
    double magnitude = 0;
    for (std::int64_t k = 0; k < inner; ++k) {
      const Index i{ta ? k : index[0], ta ? index[0] : k};
      const Index j{tb ? index[1] : k, tb ? k : index[1]};
      const Num term = with.mul(in[0].at[position(left, i)], in[1].at[position(right, j)]);
      magnitude += std::abs(term.value());
      total = with.add(total, term);
    }
    total.error[0] += 4 * static_cast<double>(inner) * with.unit() * magnitude;
    return total;
  });
}

// numbers: the axis; the indices are made for it.
bool draw_gather(Generator& generator, Statement& statement, Type& result) {
  if (!draw_like<is_number_with_axes>(generator, statement, result)) return false;
  const int axis = generator.random().below(result.shape.rank());
  const Type indices{DType::int32, Shape{generator.random().between(1, 3)}};
  std::vector<double> data(indices.numel());
  for (double& each : data) {
    each = generator.random().below(static_cast<int>(result.shape[axis]));
  }
  statement.inputs.push_back({generator.put_constant(indices, data)});
  statement.numbers = {axis};
  result.shape[axis] = indices.shape[0];
  return true;
}
void interpret_gather(A, const Arrays& in, S s, Array& result) {
  result = array_of(result.type, [&](Index index) {
    auto& along = index[static_cast<std::size_t>(axis_of(s))];
    along = static_cast<std::int64_t>(in[1].at[static_cast<std::size_t>(along)].value());
    return in[0].at[position(in[0].type.shape, index)];
  });
}

bool draw_sort(Generator& generator, Statement& statement, Type& result) {
  return draw_like<is_float_with_axes>(generator, statement, result);
}
void interpret_sort(A, const Arrays& in, S, Array& result) {
  result.at = in[0].at;
  const auto row = result.type.shape[-1];
  for (auto at = result.at.begin(); at != result.at.end(); at += row) {
    for (auto i = at; i != at + row; ++i) {
      for (auto j = at; j != i; ++j) {
        if (j->value() == i->value()) throw Unsteady("the order of equals");
        Arithmetic::less(*j, *i);
      }
    }
    std::stable_sort(at, at + row,
                     [](const Num& a, const Num& b) { return a.value() < b.value(); });
  }
}

}  // namespace

const std::vector<OpRow>& joining_ops() {
  static const std::vector<OpRow> rows{
      {"concat", 3, draw_concat, [](Tensors in, S s) { return concat(std::move(in), axis_of(s)); },
       interpret_concat},
      {"stack", 3, draw_stack, [](Tensors in, S s) { return stack(std::move(in), axis_of(s)); },
       interpret_stack},
      {"pad", 2, draw_pad, run_pad, interpret_pad, true},
      {"tile", 2, draw_tile,
       [](Tensors in, S s) {
         return tile(std::move(in[0]), Shape(std::span<const std::int64_t>(s.numbers)));
       },
       interpret_tile, true},
  };
  return rows;
}

const std::vector<OpRow>& indexing_ops() {
  static const std::vector<OpRow> rows{
      {"matmul", 4, draw_matmul, run_matmul, interpret_matmul},
      {"gather", 3, draw_gather,
       [](Tensors in, S s) {
         return gather(std::move(in[0]), std::move(in[1]), {.axis = axis_of(s)});
       },
       interpret_gather},
      {"one_hot", 2, draw_one_hot,
       [](Tensors in, S s) { return one_hot(std::move(in[0]), s.numbers[0]); }, interpret_one_hot},
      {"sort", 2, draw_sort, [](Tensors in, S) { return sort(std::move(in[0])); }, interpret_sort},
  };
  return rows;
}

}  // namespace tenure::programs
