// Random numbers as a function of a seed and of how many draws were made before, which a tensor
// counts. What a layer with a seed of its own draws is thus a value as any other: it goes on from
// call to call, in traced functions too, is the same where a gradient computes it again, and takes
// nothing from set_seed's sequence.
#pragma once

#include <cstdint>
#include <source_location>

#include "ops/op_def.h"
#include "tenure/random.h"

namespace tenure::ops {

// Draw number n begins at Philox counter n << kDrawShift: two draws share none.
inline constexpr int kDrawShift = 36;

// `draw` is an int64 scalar. The draw of number 0 is the first that set_seed(seed) would give.
Tensor uniform_at(Tensor draw, std::uint64_t seed, const Shape& shape,
                  const random::UniformOptions& options,
                  std::source_location site = std::source_location::current());
Tensor normal_at(Tensor draw, std::uint64_t seed, const Shape& shape,
                 const random::NormalOptions& options,
                 std::source_location site = std::source_location::current());
Tensor dropout_at(Tensor x, Tensor draw, std::uint64_t seed, double rate,
                  std::source_location site = std::source_location::current());

}  // namespace tenure::ops
