// Settings that are numbers within bounds. One that is not, or is no number, is a ValueError that
// names it: "Adam: epsilon must be at least 0: -1".
#pragma once

#include <string_view>

#include "core/raise.h"

namespace tenure::nn::detail {

template <class N>
void check_at_least(std::string_view who, std::string_view what, N value, N least) {
  if (!(value >= least)) {
    raise<ValueError>("{}: {} must be at least {}: {}", who, what, least, value);
  }
}
inline void check_above(std::string_view who, std::string_view what, double value, double bound) {
  if (!(value > bound)) raise<ValueError>("{}: {} must be above {}: {}", who, what, bound, value);
}
inline void check_between(std::string_view who, std::string_view what, double value, double least,
                          double most) {
  if (!(value >= least && value <= most)) {
    raise<ValueError>("{}: {} must be between {} and {}: {}", who, what, least, most, value);
  }
}
// Of what decays: a rate, or a factor of a running mean.
inline void check_part(std::string_view who, std::string_view what, double value) {
  if (!(value >= 0 && value < 1)) {
    raise<ValueError>("{}: {} must be at least 0 and below 1: {}", who, what, value);
  }
}

}  // namespace tenure::nn::detail
