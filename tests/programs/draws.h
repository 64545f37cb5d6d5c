// How the inputs of an operation are drawn: what most rows of a family share.
#pragma once

#include <algorithm>
#include <optional>

#include "generator.h"

namespace tenure::programs {

inline bool is_any(const Type&) { return true; }
inline bool is_float(const Type& type) { return type.is_float(); }
inline bool is_number(const Type& type) { return type.dtype != DType::boolean; }
inline bool is_bool(const Type& type) { return type.dtype == DType::boolean; }
inline bool is_int(const Type& type) { return type.dtype == DType::int32; }
inline bool has_axes(const Type& type) { return type.shape.rank() > 0; }
inline bool is_number_with_axes(const Type& type) { return has_axes(type) && is_number(type); }
inline bool is_float_with_axes(const Type& type) { return has_axes(type) && is_float(type); }

// The shape two shapes broadcast to.
inline std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape result = Shape::filled(std::max(a.rank(), b.rank()), 1);
  for (int axis = 1; axis <= result.rank(); ++axis) {
    const std::int64_t m = axis <= a.rank() ? a[-axis] : 1, n = axis <= b.rank() ? b[-axis] : 1;
    if (m != n && m != 1 && n != 1) return std::nullopt;
    result[-axis] = m == 1 ? n : m;
  }
  return result;
}

// One input; the result has its type.
template <bool (*suits)(const Type&)>
bool draw_like(Generator& generator, Statement& statement, Type& result) {
  const Value x = generator.pick(suits);
  if (x < 0) return false;
  statement.inputs = {{x}};
  result = generator.type(x);
  return true;
}

// Two inputs of one dtype that broadcast.
template <bool (*suits)(const Type&)>
bool draw_two(Generator& generator, Statement& statement, Type& result) {
  const Value a = generator.pick(suits);
  if (a < 0) return false;
  const Type first = generator.type(a);
  const Value b = generator.pick([&first](const Type& type) {
    const auto shape = broadcast(first.shape, type.shape);
    return type.dtype == first.dtype && shape && shape->numel() <= 24;
  });
  if (b < 0) return false;
  statement.inputs = {{a}, {b}};
  result = {first.dtype, *broadcast(first.shape, generator.type(b).shape)};
  return true;
}

// The same, and the result is bool.
template <bool (*suits)(const Type&)>
bool draw_comparison(Generator& generator, Statement& statement, Type& result) {
  if (!draw_two<suits>(generator, statement, result)) return false;
  result.dtype = DType::boolean;
  return true;
}

}  // namespace tenure::programs
