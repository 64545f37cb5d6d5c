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
// With elements along every axis.
inline bool has_axes(const Type& type) { return type.shape.rank() > 0 && type.numel() > 0; }
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

// The dtype of a result: an integer beside a float becomes that float, and the wider float wins.
inline DType promoted(DType a, DType b) {
  if (a == DType::float64 || b == DType::float64) return DType::float64;
  if (a == DType::float32 || b == DType::float32) return DType::float32;
  return a;
}

// Two inputs that broadcast, most often of one dtype.
template <bool (*suits)(const Type&)>
bool draw_two(Generator& generator, Statement& statement, Type& result) {
  const Value a = generator.pick(suits);
  if (a < 0) return false;
  const Type first = generator.type(a);
  const bool mixed = generator.random().chance(10) && generator.allows("promotion");
  const Value b = generator.pick([&first, mixed](const Type& type) {
    const auto shape = broadcast(first.shape, type.shape);
    return suits(type) && (mixed || type.dtype == first.dtype) && shape && shape->numel() <= 24;
  });
  if (b < 0) return false;
  statement.inputs = {{a}, {b}};
  const Type second = generator.type(b);
  result = {promoted(first.dtype, second.dtype), *broadcast(first.shape, second.shape)};
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
