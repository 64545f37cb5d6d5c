// The interpreter's tensors: row-major numbers, and indices into them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "arithmetic.h"
#include "ast.h"

namespace tenure::programs {

struct Array {
  Type type;
  std::vector<Num> at;
  // Came out of a gradient through control flow, which may be added up in any order: the ways to
  // run a program agree on it within its error, not bit for bit.
  bool loose = false;
  // Reads of a variable have one, and so have clones of a tensor: gradients do not tell them apart.
  int identity = 0;
  // When it first went into or out of a branch, a loop or a function as it was; 0 for never. Eager
  // code sees the same tensor on both sides, a trace two values.
  int crossed = 0;

  explicit Array(Type of) : type(std::move(of)), at(type.numel()) {}
  Array() = default;
};

using Index = std::array<std::int64_t, 8>;

// Calls visit(index, position) for every element of a shape, in row-major order.
template <class Visit> void each_index(const Shape& shape, Visit&& visit) {
  Index index{};
  const std::int64_t count = shape.numel();
  for (std::int64_t position = 0; position < count; ++position) {
    visit(static_cast<const Index&>(index), static_cast<std::size_t>(position));
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const auto a = static_cast<std::size_t>(axis);
      if (++index[a] < shape[axis]) break;
      index[a] = 0;
    }
  }
}

inline std::size_t position(const Shape& shape, const Index& index) {
  std::int64_t at = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    at = at * shape[axis] + index[static_cast<std::size_t>(axis)];
  }
  return static_cast<std::size_t>(at);
}

// The element of `shape` that is shown at `index` of a shape it is broadcast to.
inline std::size_t broadcast_position(const Shape& shape, const Index& index, const Shape& to) {
  Index inner{};
  const int more = to.rank() - shape.rank();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    inner[a] = shape[axis] == 1 ? 0 : index[a + static_cast<std::size_t>(more)];
  }
  return position(shape, inner);
}

// An array of that type whose element at `index` is pick(index).
template <class Pick> Array array_of(const Type& type, Pick&& pick) {
  Array result(type);
  each_index(type.shape, [&](const Index& index, std::size_t at) { result.at[at] = pick(index); });
  return result;
}

}  // namespace tenure::programs
