#include <numeric>

#include "draws.h"
#include "ops.h"
#include "tenure/create.h"
#include "tenure/views.h"

namespace tenure::programs {
namespace {

using A = const Arithmetic&;
using S = const Statement&;

std::int64_t at(S statement, std::size_t i) { return statement.numbers[i]; }
Shape shape_of(const std::vector<std::int64_t>& numbers, std::size_t from, std::size_t count) {
  return Shape(std::span(numbers).subspan(from, count));
}
Shape whole(S s) { return Shape(std::span<const std::int64_t>(s.numbers)); }

void same_order(A, const Arrays& in, S, Array& result) { result.at = in[0].at; }

bool draw_reshape(Generator& generator, Statement& statement, Type& result) {
  if (!draw_like<is_any>(generator, statement, result)) return false;
  std::int64_t rest = result.shape.numel();
  if (rest == 0) return false;
  Shape shape;
  for (int axes = generator.random().between(0, 2); axes > 0; --axes) {
    std::int64_t size = generator.random().between(1, 3);
    if (rest % size != 0) size = 1;
    shape.push_back(size);
    rest /= size;
  }
  if (rest != 1 || shape.rank() == 0) shape.push_back(rest);
  result.shape = shape;
  statement.numbers.assign(shape.begin(), shape.end());
  return true;
}

bool draw_transpose(Generator& generator, Statement& statement, Type& result) {
  if (!draw_like<has_axes>(generator, statement, result)) return false;
  std::vector<std::int64_t>& axes = statement.numbers;
  axes.resize(static_cast<std::size_t>(result.shape.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  for (std::size_t i = axes.size(); i > 1; --i) {
    std::swap(axes[i - 1],
              axes[static_cast<std::size_t>(generator.random().below(static_cast<int>(i)))]);
  }
  const Shape from = result.shape;
  for (int i = 0; i < from.rank(); ++i) {
    result.shape[i] = from[static_cast<int>(axes[static_cast<std::size_t>(i)])];
  }
  return true;
}
void interpret_transpose(A, const Arrays& in, S s, Array& result) {
  result = array_of(result.type, [&](const Index& index) {
    Index from{};
    for (std::size_t i = 0; i < s.numbers.size(); ++i) {
      from[static_cast<std::size_t>(at(s, i))] = index[i];
    }
    return in[0].at[position(in[0].type.shape, from)];
  });
}

// numbers: begin, size, step of every axis.
bool draw_slice(Generator& generator, Statement& statement, Type& result) {
  if (!draw_like<has_axes>(generator, statement, result)) return false;
  Random& random = generator.random();
  std::vector<std::int64_t> begins, sizes, steps;
  for (std::int64_t& size : result.shape) {
    const int length = static_cast<int>(size);
    const int begin = random.below(length);
    const bool backwards = random.chance(25);
    const int most = backwards ? begin + 1 : length - begin;
    size = random.between(1, most);
    begins.push_back(begin);
    sizes.push_back(size);
    steps.push_back(backwards ? -1 : 1);
  }
  statement.numbers = begins;
  statement.numbers.insert(statement.numbers.end(), sizes.begin(), sizes.end());
  statement.numbers.insert(statement.numbers.end(), steps.begin(), steps.end());
  return true;
}
Tensor run_slice(Tensors in, S s) {
  const std::size_t rank = s.numbers.size() / 3;
  return slice(std::move(in[0]), shape_of(s.numbers, 0, rank), shape_of(s.numbers, rank, rank),
               shape_of(s.numbers, 2 * rank, rank));
}
void interpret_slice(A, const Arrays& in, S s, Array& result) {
  const std::size_t rank = s.numbers.size() / 3;
  result = array_of(result.type, [&](const Index& index) {
    Index from{};
    for (std::size_t i = 0; i < rank; ++i) from[i] = at(s, i) + index[i] * at(s, 2 * rank + i);
    return in[0].at[position(in[0].type.shape, from)];
  });
}

bool draw_broadcast_to(Generator& generator, Statement& statement, Type& result) {
  const Value x = generator.pick([](const Type& type) { return type.shape.rank() <= 3; });
  if (x < 0) return false;
  statement.inputs = {{x}};
  result = generator.type(x);
  for (std::int64_t& size : result.shape) {
    if (size == 1) size = generator.random().between(1, 3);
  }
  if (generator.random().chance(60)) {
    Shape wider{generator.random().between(1, 3)};
    for (const std::int64_t size : result.shape) wider.push_back(size);
    result.shape = wider;
  }
  statement.numbers.assign(result.shape.begin(), result.shape.end());
  return result.shape.numel() <= 24;
}
void interpret_broadcast_to(A, const Arrays& in, S, Array& result) {
  result = array_of(result.type, [&](const Index& index) {
    return in[0].at[broadcast_position(in[0].type.shape, index, result.type.shape)];
  });
}

bool draw_expand_dims(Generator& generator, Statement& statement, Type& result) {
  const Value x = generator.pick([](const Type& type) { return type.shape.rank() <= 3; });
  if (x < 0) return false;
  statement.inputs = {{x}};
  const Type from = generator.type(x);
  const int axis = generator.random().between(0, from.shape.rank());
  statement.numbers = {axis};
  result.dtype = from.dtype;
  result.shape = Shape{};
  for (int i = 0; i <= from.shape.rank(); ++i) {
    if (i == axis) result.shape.push_back(1);
    if (i < from.shape.rank()) result.shape.push_back(from.shape[i]);
  }
  return true;
}

bool draw_squeeze(Generator& generator, Statement& statement, Type& result) {
  const Value x =
      generator.pick([](const Type& type) { return std::ranges::count(type.shape, 1) > 0; });
  if (x < 0) return false;
  statement.inputs = {{x}};
  const Type from = generator.type(x);
  result = {from.dtype, Shape{}};
  for (const std::int64_t size : from.shape) {
    if (size != 1) result.shape.push_back(size);
  }
  return true;
}

bool draw_element(Generator& generator, Statement& statement, Type& result) {
  if (!draw_like<has_axes>(generator, statement, result)) return false;
  const auto length = static_cast<int>(result.shape[0]);
  statement.numbers = {generator.random().between(-length, length - 1)};
  result.shape = Shape(result.shape.dims().subspan(1));
  return true;
}
void interpret_element(A, const Arrays& in, S s, Array& result) {
  const std::int64_t row = at(s, 0) < 0 ? at(s, 0) + in[0].type.shape[0] : at(s, 0);
  const auto begin = in[0].at.begin() + row * static_cast<std::int64_t>(result.at.size());
  result.at.assign(begin, begin + static_cast<std::int64_t>(result.at.size()));
}

bool draw_reverse(Generator& generator, Statement& statement, Type& result) {
  if (!draw_like<has_axes>(generator, statement, result)) return false;
  statement.numbers = {generator.random().below(result.shape.rank())};
  return true;
}
void interpret_reverse(A, const Arrays& in, S s, Array& result) {
  result = array_of(result.type, [&](Index index) {
    const auto axis = static_cast<std::size_t>(at(s, 0));
    index[axis] = result.type.shape[static_cast<int>(at(s, 0))] - 1 - index[axis];
    return in[0].at[position(result.type.shape, index)];
  });
}

}  // namespace

const std::vector<OpRow>& view_ops() {
  static const std::vector<OpRow> rows{
      {"reshape", 4, draw_reshape,
       [](Tensors in, S s) { return reshape(std::move(in[0]), whole(s)); }, same_order, true},
      {"transpose", 3, draw_transpose,
       [](Tensors in, S s) { return transpose(std::move(in[0]), whole(s)); }, interpret_transpose,
       true},
      {"slice", 4, draw_slice, run_slice, interpret_slice, true},
      {"broadcast_to", 4, draw_broadcast_to,
       [](Tensors in, S s) { return broadcast_to(std::move(in[0]), whole(s)); },
       interpret_broadcast_to, true},
      {"expand_dims", 2, draw_expand_dims,
       [](Tensors in, S s) {
         return expand_dims(std::move(in[0]), static_cast<int>(s.numbers[0]));
       },
       same_order, true},
      {"squeeze", 2, draw_squeeze, [](Tensors in, S) { return squeeze(std::move(in[0])); },
       same_order, true},
      {"element", 3, draw_element, [](Tensors in, S s) { return in[0][s.numbers[0]]; },
       interpret_element, true, false, "{0}[{i}]"},
      {"reverse", 2, draw_reverse,
       [](Tensors in, S s) { return reverse(std::move(in[0]), Axes{s.numbers[0]}); },
       interpret_reverse, true},
      {"clone", 3, draw_like<is_any>, [](Tensors in, S) { return in[0].clone(); }, same_order, true,
       true, "{0}.clone()"},
      {"contiguous", 3, draw_like<is_any>,
       [](Tensors in, S) { return contiguous(std::move(in[0])); }, same_order, true, true},
  };
  return rows;
}

}  // namespace tenure::programs
