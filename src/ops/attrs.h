// The attributes of operations: plain values, one struct per family. Here are those that several
// files share; the others stand in their family's *_attrs.h.
//
// A struct lists its fields once, in TENURE_ATTRS. Printing, the numbers that a graph's template
// fits to its sizes, and the bindings' codec are written against that list and never against a
// struct; so is the table of ops that a binding sees.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/fields.h"
#include "ops/attrs_ref.h"
#include "tenure/dtype.h"
#include "tenure/scalar.h"
#include "tenure/shape.h"

namespace tenure::ops {

#define TENURE_ATTRS(Name, ...)                 \
  bool operator==(const Name&) const = default; \
  template <class V>                            \
  void visit(V&& field) const {                 \
    TENURE_FIELDS(field, *this, __VA_ARGS__);   \
  }

struct FillAttrs {
  Shape shape;
  DType dtype = DType::float32;
  Scalar value = 0;
  TENURE_ATTRS(FillAttrs, shape, dtype, value)
};

struct RangeAttrs {  // start + i * step
  Scalar start = 0;
  Scalar step = 1;
  std::int64_t count = 0;
  DType dtype = DType::float32;
  TENURE_ATTRS(RangeAttrs, start, step, count, dtype)
};

struct LinspaceAttrs {  // both ends included
  double start = 0;
  double stop = 1;
  std::int64_t count = 0;
  DType dtype = DType::float32;
  TENURE_ATTRS(LinspaceAttrs, start, stop, count, dtype)
};

struct EyeAttrs {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  DType dtype = DType::float32;
  TENURE_ATTRS(EyeAttrs, rows, columns, dtype)
};

struct CastAttrs {
  DType to = DType::float32;
  TENURE_ATTRS(CastAttrs, to)
};

struct ReduceAttrs {  // axes are normalised: ascending, unique, not negative
  Axes axes;
  bool keep_dims = false;
  TENURE_ATTRS(ReduceAttrs, axes, keep_dims)
};

struct AxisAttrs {  // normalised: not negative
  int axis = 0;
  TENURE_ATTRS(AxisAttrs, axis)
};

struct MatmulAttrs {
  bool transpose_a = false;
  bool transpose_b = false;
  TENURE_ATTRS(MatmulAttrs, transpose_a, transpose_b)
};

struct ShapeAttrs {
  Shape shape;
  TENURE_ATTRS(ShapeAttrs, shape)
};

struct PermuteAttrs {
  Axes axes;
  TENURE_ATTRS(PermuteAttrs, axes)
};

struct SliceAttrs {  // element i of axis a is element begin[a] + i * step[a] of the input
  Shape begin;
  Shape size;
  Shape step;
  TENURE_ATTRS(SliceAttrs, begin, size, step)
};

struct UnsliceAttrs {  // zeros of `shape`, with the input written at begin, begin + step, ...
  Shape shape;
  Shape begin;
  Shape step;
  TENURE_ATTRS(UnsliceAttrs, shape, begin, step)
};

struct RandomAttrs {
  Shape shape;
  DType dtype = DType::float32;
  Scalar a = 0;  // mean, low or probability
  Scalar b = 1;  // standard deviation or high
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;  // of the first Philox counter this op may use
  TENURE_ATTRS(RandomAttrs, shape, dtype, a, b, seed, offset)
};

struct ShuffleAttrs {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  bool inverse = false;  // puts shuffled rows back
  TENURE_ATTRS(ShuffleAttrs, seed, offset, inverse)
};

// The names of an enumeration's values, in order: found for each as a neighbour of its type.
template <class E>
concept Choice = std::is_enum_v<E> && requires(E value) { choices(value); };
template <Choice E>
const char* choice_name(E value) {
  return choices(value)[static_cast<std::size_t>(value)];
}

template <class T>
void visit_field(std::string_view name, T& field, FieldVisitor& visitor) {
  if constexpr (std::is_same_v<T, bool>) {
    visitor.flag(name, field);
  } else if constexpr (std::is_same_v<T, double>) {
    visitor.real(name, field);
  } else if constexpr (std::is_integral_v<T>) {
    auto wide = static_cast<std::int64_t>(field);
    visitor.integer(name, wide);
    field = static_cast<T>(wide);
  } else if constexpr (std::is_same_v<T, Shape>) {
    visitor.integers(name, field);
  } else if constexpr (std::is_same_v<T, Scalar>) {
    visitor.number(name, field);
  } else if constexpr (std::is_same_v<T, DType>) {
    visitor.dtype(name, field);
  } else {
    static_assert(Choice<T>);
    auto place = static_cast<std::size_t>(field);
    visitor.choice(name, place, choices(field));
    field = static_cast<T>(place);
  }
}

template <class A>
void visit_fields(void* value, FieldVisitor& visitor) {
  static_cast<const A*>(value)->visit([&visitor](std::string_view name, const auto& field) {
    // The struct is not const, only its list of fields is.
    visit_field(name, const_cast<std::remove_cvref_t<decltype(field)>&>(field), visitor);
  });
}
std::string print_fields(const void* value, void (*visit)(void*, FieldVisitor&));

// Attributes that hold more than such fields print themselves instead of listing them.
template <class A>
concept Opaque = requires(const A& attrs) { attrs.print(); };

template <class A>
consteval AttrsType attrs_type() {
  AttrsType type{
      .copy = [](const void* value) -> void* { return new A(*static_cast<const A*>(value)); },
      .destroy = [](void* value) noexcept { delete static_cast<A*>(value); },
      .equal = [](const void* a,
                  const void* b) { return *static_cast<const A*>(a) == *static_cast<const A*>(b); },
      .print = nullptr};
  if constexpr (Opaque<A>) {
    type.print = [](const void* value) { return static_cast<const A*>(value)->print(); };
  } else {
    type.make = []() -> void* { return new A; };
    type.print = [](const void* value) { return print_fields(value, visit_fields<A>); };
    type.visit = visit_fields<A>;
  }
  return type;
}
template <class A>
inline constexpr AttrsType kAttrs = attrs_type<A>();

template <class A>
AttrsRef ref(const A& attrs) {
  return {&attrs, &kAttrs<A>};
}

}  // namespace tenure::ops
