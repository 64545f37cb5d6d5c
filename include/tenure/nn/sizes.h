// Settings of layers that are one number or several, as in Keras: `.kernel_size = 3` is the same
// for all axes, `.kernel_size = {3, 5}` one for each. The layer knows how many there may be.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/shape.h"
#include "tenure/views.h"

namespace tenure::nn {

class Sizes : public Shape {
 public:
  Sizes() = default;
  template <std::integral N>
  Sizes(N size) : Shape{static_cast<std::int64_t>(size)} {}
  Sizes(std::initializer_list<std::int64_t> sizes) : Shape(sizes) {}
  Sizes(Shape sizes) : Shape(std::move(sizes)) {}
};

using AxisList = Sizes;  // likewise of axes

// Likewise of other numbers: thresholds, means.
template <class T>
class OneOrMore : public std::vector<T> {
 public:
  OneOrMore() = default;
  template <class N>
    requires std::is_arithmetic_v<N>
  OneOrMore(N one) : std::vector<T>(1, static_cast<T>(one)), is_one_(true) {}
  OneOrMore(std::initializer_list<T> several) : std::vector<T>(several) {}
  OneOrMore(std::vector<T> several) : std::vector<T>(std::move(several)) {}
  bool is_one() const { return is_one_; }  // a number, not a list of one

 private:
  bool is_one_ = false;
};

// What is cut off or added before and behind each axis: `= 1` everywhere, `= {1, 2}` for each axis
// on both sides (for one axis: before and behind), `= {{1, 1}, {0, 2}}` for each axis and side.
class Margins {
 public:
  Margins() = default;
  template <std::integral N>
  Margins(N margin) : numbers_(margin) {}
  Margins(std::initializer_list<std::int64_t> margins) : numbers_(margins) {}
  Margins(std::initializer_list<Paddings::value_type> pairs) : pairs_(pairs) {}
  Margins(Paddings pairs) : pairs_(std::move(pairs)) {}
  const Sizes& numbers() const { return numbers_; }  // empty where pairs were given
  const Paddings& pairs() const { return pairs_; }

 private:
  Sizes numbers_;
  Paddings pairs_;
};

}  // namespace tenure::nn
