// Short ways to write a trial down (see fuzz.h).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "fuzz.h"

namespace tenure::testing {

using Run = std::function<Tensor(Tensors)>;

inline Trial sound(std::vector<Drawn> inputs, DType result, Run run, Reference expect) {
  return {.inputs = std::move(inputs),
          .run = std::move(run),
          .expect = std::move(expect),
          .result = result};
}

inline Trial unsound(std::vector<Drawn> inputs, Run run, std::vector<std::string> complaint) {
  return {.inputs = std::move(inputs), .run = std::move(run), .complaint = std::move(complaint)};
}

inline std::string text(std::int64_t number) { return std::to_string(number); }
inline std::string text(const Shape& shape) { return to_string(shape); }

inline constexpr double kInvalid = 0.15;  // of the trials

// Indices in [0, limit), int32 or int64.
inline Drawn drawn_indices(Dice& dice, const Shape& shape, std::int64_t limit) {
  const DType dtype = dice.chance(0.5) ? DType::int32 : DType::int64;
  return drawn(dice, shape, dtype, {.least = 0, .most = limit - 1});
}

// The same, row-major and with one out of range; `place` says which.
inline Drawn drawn_bad_indices(Dice& dice, const Shape& shape, std::int64_t limit,
                               std::int64_t& bad, std::int64_t& place) {
  Drawn indices = drawn_indices(dice, shape, limit);
  indices.lay = Lay::contiguous;
  place = dice.in(0, shape.numel() - 1);
  bad = dice.chance(0.5) ? limit + dice.in(0, 3) : -dice.in(1, 3);
  indices.values.data[static_cast<std::size_t>(place)] = static_cast<double>(bad);
  return indices;
}

}  // namespace tenure::testing
