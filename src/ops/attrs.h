// The attributes of operations: plain values, one struct per family. Here are those that several
// files share; the others stand in their family's *_attrs.h.
//
// A struct lists its fields once, in `visit`; comparing, hashing, printing, serialising and the
// bindings' codecs are written against that list and never against a struct.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "ops/attrs_ref.h"
#include "tenure/dtype.h"
#include "tenure/scalar.h"
#include "tenure/shape.h"

namespace tenure::ops {

// Calls field(name, value) for each value; `names` is the preprocessor's "a, b, c".
template <class V, class... Fields>
void visit_named(V&& field, std::string_view names, const Fields&... values) {
  const auto next = [&names] {
    const std::size_t comma = names.find(',');
    const std::string_view name = names.substr(0, comma);
    names.remove_prefix(comma == names.npos ? names.size() : comma + 2);
    return name;
  };
  (field(next(), values), ...);
}

#define TENURE_ATTRS(Name, ...)                                     \
  bool operator==(const Name&) const = default;                     \
  template <class V>                                                \
  void visit(V&& field) const {                                     \
    visit_named(std::forward<V>(field), #__VA_ARGS__, __VA_ARGS__); \
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

std::string print_field(const Shape& value);
std::string print_field(const Scalar& value);
std::string print_field(DType value);
std::string print_field(bool value);
std::string print_field(double value);
std::string print_field(std::int64_t value);
std::string print_field(std::uint64_t value);
inline std::string print_field(int value) { return print_field(static_cast<std::int64_t>(value)); }

template <class A>
std::string print_attrs(const A& attrs) {
  std::string text;
  attrs.visit([&text](std::string_view name, const auto& value) {
    if (!text.empty()) text += ", ";
    text += name;
    text += '=';
    text += print_field(value);
  });
  return text;
}

// Shows a field's numbers to a visitor. Truth values, dtypes and other enums are no numbers.
template <class T>
void visit_numbers(T& field, NumberVisitor& visit) {
  if constexpr (std::is_same_v<T, double>) {
    visit.real(field);
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    auto wide = static_cast<std::int64_t>(field);
    visit.integer(wide);
    field = static_cast<T>(wide);
  } else if constexpr (std::is_same_v<T, Shape>) {
    for (std::int64_t& dim : field) visit.integer(dim);
  } else if constexpr (std::is_same_v<T, Scalar>) {
    if (field.natural_dtype() == DType::boolean) return;
    if (field.is_integer()) {
      std::int64_t value = field.to_int64();
      visit.integer(value);
      field = value;
    } else {
      double value = field.to_double();
      visit.real(value);
      field = value;
    }
  } else {
    static_assert(std::is_same_v<T, bool> || std::is_enum_v<T>);
  }
}

template <class A>
void visit_all_numbers(void* value, NumberVisitor& visit) {
  static_cast<const A*>(value)->visit([&visit](std::string_view, const auto& field) {
    // The struct is not const, only its list of fields is.
    visit_numbers(const_cast<std::remove_cvref_t<decltype(field)>&>(field), visit);
  });
}

// Attributes that hold more than numbers and choices say so: kOpaque.
template <class A>
concept Opaque = requires { A::kOpaque; };

template <class A>
consteval auto numbers_of() {
  void (*numbers)(void*, NumberVisitor&) = nullptr;
  if constexpr (!Opaque<A>) numbers = visit_all_numbers<A>;
  return numbers;
}

template <class A>
const AttrsType* attrs_type() {
  static constexpr AttrsType type{
      .copy = [](const void* value) -> void* { return new A(*static_cast<const A*>(value)); },
      .destroy = [](void* value) noexcept { delete static_cast<A*>(value); },
      .equal = [](const void* a,
                  const void* b) { return *static_cast<const A*>(a) == *static_cast<const A*>(b); },
      .print = [](const void* value) { return print_attrs(*static_cast<const A*>(value)); },
      .numbers = numbers_of<A>(),
  };
  return &type;
}

template <class A>
AttrsRef ref(const A& attrs) {
  return {&attrs, attrs_type<A>()};
}

}  // namespace tenure::ops
