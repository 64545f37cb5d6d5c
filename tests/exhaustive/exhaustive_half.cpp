// The casts of every float32 to float16 and bfloat16, against rounding done in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "../backend/cpu/kernel_call.h"
#include "backend/cpu/parallel.h"
#include "ops/attrs.h"

namespace tenure::cpu {
namespace {

using testing::Operand;

constexpr std::size_t kBlock = 4096;

struct Format {
  int min_exponent;  // of a normal number
  int fraction_bits;
  double max;
};

// Floats that differ in their last 12 bits only have one exponent, and their results one unit.
double unit_of(float x, const Format& format) {
  if (!std::isfinite(x)) return 1;
  const int exponent = x == 0 ? format.min_exponent : std::ilogb(x);
  return std::ldexp(1.0, std::max(exponent, format.min_exponent) - format.fraction_bits);
}

std::int64_t count_wrong(std::uint32_t first, const std::array<float, kBlock>& results,
                         const Format& format) {
  const double unit = unit_of(std::bit_cast<float>(first), format);
  const double inverse = 1 / unit;
  std::int64_t wrong = 0;
#pragma omp simd reduction(+ : wrong)
  for (std::uint32_t i = 0; i < kBlock; ++i) {
    const float x = std::bit_cast<float>(first + i);
    // Adding 1.5 * 2^52 rounds to an integer, ties to even.
    const double rounded = (x * inverse + 0x1.8p52 - 0x1.8p52) * unit;
    const double finite = std::copysign(rounded, x);
    const double infinity = std::copysign(std::numeric_limits<double>::infinity(), x);
    const auto expected = static_cast<float>(std::abs(finite) > format.max ? infinity : finite);
    const bool same =
        std::bit_cast<std::uint32_t>(expected) == std::bit_cast<std::uint32_t>(results[i]);
    const bool right = x == x ? same : results[i] != results[i];
    wrong += right ? 0 : 1;
  }
  return wrong;
}

template <class Half>
void check_every_float(const Format& format) {
  const ops::KernelFn cast = testing::find(cast_kernels(), "cast", DType::float32);
  const ops::KernelFn cast_back = testing::find(cast_kernels(), "cast", dtype_of<Half>);
  const ops::CastAttrs to_half{dtype_of<Half>}, to_float{DType::float32};
  const Shape shape{static_cast<std::int64_t>(kBlock)};
  std::atomic<std::int64_t> wrong{0};
  parallel_each(std::int64_t{1} << 20, [&](std::int64_t block) {
    std::array<float, kBlock> src, results;
    std::array<Half, kBlock> dst;
    const auto first = static_cast<std::uint32_t>(block << 12);
    for (std::uint32_t i = 0; i < kBlock; ++i) src[i] = std::bit_cast<float>(first + i);
    testing::call(cast, {Operand(src.data(), shape)}, Operand(dst.data(), shape),
                  ops::AttrsRef(&to_half, nullptr));
    testing::call(cast_back, {Operand(dst.data(), shape)}, Operand(results.data(), shape),
                  ops::AttrsRef(&to_float, nullptr));
    wrong += count_wrong(first, results, format);
  });
  EXPECT_EQ(wrong, 0);
}

TEST(ExhaustiveHalf, EveryFloatRoundsToTheNearestFloat16) {
  check_every_float<Float16>({-14, 10, 65504});
}

TEST(ExhaustiveHalf, EveryFloatRoundsToTheNearestBfloat16) {
  check_every_float<BFloat16>({-126, 7, 0x1.fep127});
}

}  // namespace
}  // namespace tenure::cpu
