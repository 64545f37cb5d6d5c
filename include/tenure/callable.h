// What is refused of the functions the library is given: one that is not there.
#pragma once

#include <functional>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenure/export.h"

namespace tenure::detail {

[[noreturn]] TENURE_API void raise_no_function(std::string_view op, std::string_view which,
                                               std::source_location site);

template <class F>
inline constexpr bool kMayBeEmpty = std::is_pointer_v<F>;
template <class S>
inline constexpr bool kMayBeEmpty<std::function<S>> = true;

// A ValueError where a std::function, or a pointer to a function, is empty.
template <class F>
void check_function(std::string_view op, const F& fn, std::source_location site,
                    std::string_view which = "the function") {
  if constexpr (kMayBeEmpty<F>) {
    if (fn == nullptr) raise_no_function(op, which, site);
  }
}
// The function itself.
template <class F>
F checked_function(std::string_view op, F fn, std::source_location site) {
  check_function(op, fn, site);
  return fn;
}

}  // namespace tenure::detail
