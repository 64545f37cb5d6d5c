// Windows that slide over an input, as convolutions and pooling have them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "tenure/shape.h"

namespace tenure {

// What surrounds an input.
struct Padding {
  enum Kind : std::uint8_t {
    valid,  // nothing
    same,   // as much as makes ceil(size / stride) windows, more of it behind than before
    given,  // `before` and `after` each axis
  };
  Padding(Kind of = valid) : kind(of) {}
  Padding(std::int64_t everywhere) : kind(given), before{everywhere}, after{everywhere} {}
  Padding(int everywhere) : Padding(std::int64_t{everywhere}) {}
  Padding(std::initializer_list<std::pair<std::int64_t, std::int64_t>> axes) : kind(given) {
    for (const auto& [first, last] : axes) {
      before.push_back(first);
      after.push_back(last);
    }
  }
  Kind kind;
  Shape before = {};
  Shape after = {};
};

// How many windows there are when they do not fill the padded input.
enum class Rounding : std::uint8_t { down, nearest, up };

}  // namespace tenure
