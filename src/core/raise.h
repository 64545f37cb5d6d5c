// The one way errors are made: raise<ShapeError>("{}: ...", op, values...), and where there is more
// to tell, throw ShapeError(describe("{}: ...", op, values...).told(lines, remedy)).
#pragma once

#include <fmt/format.h>

#include <array>
#include <concepts>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/device.h"
#include "tenure/dtype.h"
#include "tenure/error.h"
#include "tenure/scalar.h"
#include "tenure/shape.h"

template <>
struct fmt::formatter<tenure::Shape> : fmt::formatter<std::string> {
  auto format(const tenure::Shape& shape, fmt::format_context& ctx) const {
    return fmt::formatter<std::string>::format(tenure::to_string(shape), ctx);
  }
};

template <>
struct fmt::formatter<tenure::DType> : fmt::formatter<std::string_view> {
  auto format(tenure::DType dtype, fmt::format_context& ctx) const {
    return fmt::formatter<std::string_view>::format(tenure::name(dtype), ctx);
  }
};

template <>
struct fmt::formatter<tenure::Scalar> : fmt::formatter<std::string> {
  auto format(const tenure::Scalar& value, fmt::format_context& ctx) const {
    return fmt::formatter<std::string>::format(tenure::to_string(value), ctx);
  }
};

template <>
struct fmt::formatter<tenure::Device> : fmt::formatter<std::string> {
  auto format(tenure::Device device, fmt::format_context& ctx) const {
    return fmt::formatter<std::string>::format(tenure::to_string(device), ctx);
  }
};

namespace tenure {
namespace detail {

using Line = ErrorLine;

// What an error holds; what() is made of it.
struct ErrorRecord {
  std::string kind = {};  // the class, for errors whose text begins with it
  std::string op = {};
  std::string problem = {};
  std::vector<Line> lines = {};
  std::vector<std::string> details = {};  // paragraphs
  std::string remedy = {};
  std::vector<Shape> shapes = {};
  std::vector<DType> dtypes = {};
  std::vector<Device> devices = {};
  std::vector<ErrorValue> values = {};

  ErrorRecord&& told(std::vector<Line> told_lines, std::string_view todo = {}) &&;
  bool has(std::string_view label) const;  // a line with it
};

const ErrorRecord& record_of(const Error& error);

// Changes what an error on its way holds, where add() and within() do not do.
void edit(Error& error, const std::function<void(ErrorRecord&)>& change) noexcept;

// The lines in columns, with no line end after the last.
std::string table(const std::vector<Line>& lines);

// Where the user is, as the line of use of an error that `op` raises, if that is known. Defined in
// memory, which knows.
std::optional<Line> user_line(std::string_view op);

// A value of a message that the error keeps as what it is.
struct Field {
  enum class Kind : std::uint8_t { none, shape, dtype, device, integer } kind = Kind::none;
  DType dtype = {};
  Device device = {};
  const Shape* shape = nullptr;
  std::int64_t integer = 0;
};

template <class T>
Field field_of(const T& value) {
  if constexpr (std::same_as<T, Shape>) {
    return {.kind = Field::Kind::shape, .shape = &value};
  } else if constexpr (std::same_as<T, DType>) {
    return {.kind = Field::Kind::dtype, .dtype = value};
  } else if constexpr (std::same_as<T, Device>) {
    return {.kind = Field::Kind::device, .device = value};
  } else if constexpr (std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>) {
    return {.kind = Field::Kind::integer, .integer = static_cast<std::int64_t>(value)};
  } else {
    return {};
  }
}

ErrorRecord described(fmt::string_view format, fmt::format_args args,
                      std::span<const Field> fields);

// Instantiated in error.cpp for the errors that are a record and nothing more.
template <class E>
[[noreturn]] void throw_described(fmt::string_view format, fmt::format_args args,
                                  std::span<const Field> fields);

}  // namespace detail

// The op is what `format` says before its first ": ".
template <class... Args>
detail::ErrorRecord describe(fmt::format_string<const Args&...> format, const Args&... args) {
  const std::array<detail::Field, sizeof...(Args)> fields{detail::field_of(args)...};
  return detail::described(format, fmt::make_format_args(args...), fields);
}

template <class E, class... Args>
[[noreturn]] void raise(fmt::format_string<const Args&...> format, const Args&... args) {
  const std::array<detail::Field, sizeof...(Args)> fields{detail::field_of(args)...};
  detail::throw_described<E>(format, fmt::make_format_args(args...), fields);
}

// Runs `fn`. An error of one of these kinds that leaves it is given to `tell`, and goes on.
template <class... Kinds, class Tell, class F>
decltype(auto) telling(Tell&& tell, F&& fn) {
  try {
    return fn();
  } catch (Error& error) {
    if (((dynamic_cast<Kinds*>(&error) != nullptr) || ...)) tell(error);
    throw;
  }
}

}  // namespace tenure
