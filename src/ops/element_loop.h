// The inner loop of an elementwise kernel as data, so that others than the kernel may run it: a
// fused kernel strings the loops of several ops together.
//
// A loop works on one run: `count` elements of the result that lie next to each other, and for each
// input either as many neighbours or one value for the whole run. Runs are cut anywhere, so a
// loop's result for an element does not depend on the element's place in its run. The result may
// be the same memory as an input that advances with it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ops/attrs_ref.h"

namespace tenure::ops {

inline constexpr int kMaxLoopInputs = 3;

struct Run {
  std::array<const std::byte*, kMaxLoopInputs> src;
  std::byte* dst;
  std::int64_t count;
  unsigned stepped;  // bit i: src[i] advances with dst. Never 0.

  template <class T>
  const T* input(int i) const {
    return reinterpret_cast<const T*>(src[static_cast<std::size_t>(i)]);
  }
  template <class T>
  T* output() const {
    return reinterpret_cast<T*>(dst);
  }
};

struct RunLoop {
  void (*run)(const Run&) noexcept = nullptr;
  int inputs = 0;
  std::array<std::uint8_t, kMaxLoopInputs> src_size{};  // bytes of an element
  std::uint8_t dst_size = 0;
  std::int64_t grain = 0;  // elements that are worth a thread

  unsigned all_stepped() const { return (1U << inputs) - 1; }
  bool operator==(const RunLoop&) const = default;
};

// A value that a loop takes as an input and that attributes give, such as the slope of leaky_relu.
struct Number {
  alignas(8) std::array<std::byte, 8> bytes{};
  bool operator==(const Number&) const = default;
};

// What an op with certain attributes does to an element.
struct ElementLoop {
  RunLoop loop;
  int numbers = 0;  // the loop's last inputs, after the op's own
  std::array<Number, kMaxLoopInputs - 1> values{};
  bool folds = false;  // the loop takes two of the op's inputs, and its result and the next, ...
};
using LoopFn = ElementLoop (*)(AttrsRef attrs) noexcept;

}  // namespace tenure::ops
