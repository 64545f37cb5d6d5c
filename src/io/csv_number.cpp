#include "io/csv_number.h"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstring>
#include <limits>
#include <system_error>

#include "core/with_type.h"

namespace tenure::io {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// Whether a decimal number that is out of range is too large, not too near to 0: from_chars does
// not say.
bool is_huge(std::string_view text) {
  std::int64_t exponent = 0;
  const std::size_t e = text.find_first_of("eE");
  if (e != text.npos) {
    std::string_view digits = text.substr(e + 1);
    const bool negative = digits.starts_with('-');
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (error != std::errc()) return !negative;
  }
  const std::string_view mantissa = text.substr(0, e);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = mantissa.find_first_of("123456789");
  const auto leading = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  return leading + std::clamp<std::int64_t>(exponent, -1'000'000'000, 1'000'000'000) > 0;
}

template <class T>
NumberFault parse(std::string_view text, T& value) {
  text = trimmed(text);
  if (text.empty()) {
    if constexpr (std::floating_point<T>) {
      value = std::numeric_limits<T>::quiet_NaN();
      return NumberFault::none;
    }
    return NumberFault::empty;
  }
  if (text.front() == '+') {  // from_chars knows '-' only
    text.remove_prefix(1);
    if (text.starts_with('-')) return NumberFault::not_a_number;
  }
  const char* const first = text.data();
  const char* const last = first + text.size();
  const auto [end, error] = std::from_chars(first, last, value);
  if (error == std::errc::invalid_argument || end != last) return NumberFault::not_a_number;
  if (error == std::errc()) return NumberFault::none;
  if constexpr (std::floating_point<T>) {
    if (!is_huge(text)) {
      value = text.front() == '-' ? -T{0} : T{0};
      return NumberFault::none;
    }
  }
  return NumberFault::out_of_range;
}

}  // namespace

NumberFault parse_number(std::string_view text, DType dtype, void* to) {
  return with_type(dtype, [&](auto kind) {
    using T = decltype(kind);
    if constexpr (std::same_as<T, bool> || !std::is_arithmetic_v<T>) {
      return NumberFault::unsupported;
    } else {
      T value{};
      const NumberFault fault = parse(text, value);
      if (fault == NumberFault::none) std::memcpy(to, &value, sizeof value);
      return fault;
    }
  });
}

}  // namespace tenure::io
