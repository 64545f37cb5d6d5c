// The one way an error without a story is thrown: raise<ShapeError>("{}: ...", op, values...).
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

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

namespace tenure {

template <class E, class... Args>
[[noreturn]] void raise(fmt::format_string<Args...> format, Args&&... args) {
  throw E(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace tenure
