#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernel_call.h"
#include "ops/attrs.h"

namespace tenure::cpu {
namespace {

using testing::Operand;

template <class To, class From>
std::vector<To> cast(const std::vector<From>& src) {
  std::vector<To> dst(src.size());
  const ops::CastAttrs attrs{dtype_of<To>};
  const Shape shape{static_cast<std::int64_t>(src.size())};
  testing::call(testing::find(cast_kernels(), "cast", dtype_of<From>), {Operand(src.data(), shape)},
                Operand(dst.data(), shape), ops::AttrsRef(&attrs, nullptr));
  return dst;
}

class Cast : public ::testing::TestWithParam<std::int64_t> {
 protected:
  Cast() : use_(GetParam()) {}
  testing::UseTarget use_;
};

// The end of `To` that x lies beyond, or x without its fraction.
template <class To, class From>
To truncated(From x) {
  using Limits = std::numeric_limits<To>;
  if (std::isnan(x)) return 0;
  if (static_cast<long double>(x) <= static_cast<long double>(Limits::min())) return Limits::min();
  if (static_cast<long double>(x) >= static_cast<long double>(Limits::max())) return Limits::max();
  return static_cast<To>(x);
}

template <class From>
std::vector<From> interesting() {
  std::vector<From> values = {0,           From(-0.0),   From(0.5), From(-0.5),
                              From(0.999), From(-0.999), 1,         -1};
  for (const int bits : {7, 8, 31, 32, 63, 64, 100}) {
    const From power = std::ldexp(From{1}, bits);
    const From inf = std::numeric_limits<From>::infinity();
    for (const From x : {power, std::nextafter(power, From{0}), std::nextafter(power, inf),
                         power - From(0.5), power - 1}) {
      values.push_back(x);
      values.push_back(-x);
    }
  }
  for (const From x : {std::numeric_limits<From>::infinity(), std::numeric_limits<From>::max(),
                       std::numeric_limits<From>::denorm_min()}) {
    values.push_back(x);
    values.push_back(-x);
  }
  values.push_back(std::numeric_limits<From>::quiet_NaN());
  return values;
}

template <class To, class From>
void check_saturating() {
  const std::vector<From> src = interesting<From>();
  const std::vector<To> dst = cast<To>(src);
  for (std::size_t i = 0; i < src.size(); ++i) {
    EXPECT_EQ(dst[i], (truncated<To, From>(src[i]))) << src[i] << " to " << name(dtype_of<To>);
  }
}

TEST_P(Cast, FloatsToIntegersTruncateAndSaturate) {
  check_saturating<std::int32_t, float>();
  check_saturating<std::int64_t, float>();
  check_saturating<std::uint8_t, float>();
  check_saturating<std::int8_t, float>();
  check_saturating<std::int32_t, double>();
  check_saturating<std::int64_t, double>();
  check_saturating<std::uint8_t, double>();
  check_saturating<std::int8_t, double>();
}

TEST_P(Cast, IntegersWrapToNarrowerOnes) {
  const std::vector<std::int64_t> src = {0,           -1, 255, 256, -129, std::int64_t{1} << 33,
                                         0x1234567890};
  const std::vector<std::int32_t> ints = cast<std::int32_t>(src);
  const std::vector<std::uint8_t> bytes = cast<std::uint8_t>(src);
  const std::vector<std::int8_t> signed_bytes = cast<std::int8_t>(src);
  for (std::size_t i = 0; i < src.size(); ++i) {
    EXPECT_EQ(ints[i], static_cast<std::int32_t>(src[i]));
    EXPECT_EQ(bytes[i], static_cast<std::uint8_t>(src[i]));
    EXPECT_EQ(signed_bytes[i], static_cast<std::int8_t>(src[i]));
  }
}

// std::vector<bool> has no data().
template <class From>
std::vector<std::uint8_t> to_bool(const std::vector<From>& src) {
  std::vector<std::uint8_t> dst(src.size());
  const ops::CastAttrs attrs{DType::boolean};
  const Shape shape{static_cast<std::int64_t>(src.size())};
  testing::call(testing::find(cast_kernels(), "cast", dtype_of<From>), {Operand(src.data(), shape)},
                Operand(reinterpret_cast<bool*>(dst.data()), shape),
                ops::AttrsRef(&attrs, nullptr));
  return dst;
}

TEST_P(Cast, ToBoolIsNotZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  using Bytes = std::vector<std::uint8_t>;
  EXPECT_EQ(to_bool<float>({0, -0.0F, 1e-45F, -2, nan}), (Bytes{0, 0, 1, 1, 1}));
  EXPECT_EQ(to_bool<double>({0, -0.0, 5e-324, nan}), (Bytes{0, 0, 1, 1}));
  EXPECT_EQ(to_bool<std::int64_t>({0, std::int64_t{1} << 32, -1}), (Bytes{0, 1, 1}));
  EXPECT_EQ(to_bool<std::uint8_t>({0, 128, 255}), (Bytes{0, 1, 1}));
  EXPECT_EQ(to_bool<Float16>({Float16(0.0F), Float16(-0.0F), Float16(1.0F)}), (Bytes{0, 0, 1}));
}

TEST_P(Cast, FromBoolIsZeroOrOne) {
  const bool src[] = {true, false, true};
  float dst[3];
  const ops::CastAttrs attrs{DType::float32};
  testing::call(testing::find(cast_kernels(), "cast", DType::boolean), {Operand(src, {3})},
                Operand(dst, {3}), ops::AttrsRef(&attrs, nullptr));
  EXPECT_EQ(dst[0], 1.0F);
  EXPECT_EQ(dst[1], 0.0F);
  EXPECT_EQ(dst[2], 1.0F);
}

// What the bits of a half mean, by definition.
double value_of(std::uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7fff) >> fraction_bits;
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

template <class Half>
constexpr int kExponentBits = std::is_same_v<Half, Float16> ? 5 : 8;

template <class Half>
Half half_with(std::uint16_t bits) {
  Half half;
  half.bits = bits;
  return half;
}

template <class Half>
void check_every_half() {
  std::vector<Half> halves;
  for (int bits = 0; bits < 0x10000; ++bits) {
    halves.push_back(half_with<Half>(static_cast<std::uint16_t>(bits)));
  }
  const std::vector<float> floats = cast<float>(halves);
  const std::vector<double> doubles = cast<double>(halves);
  const std::vector<Half> from_floats = cast<Half>(floats);
  const std::vector<Half> from_doubles = cast<Half>(doubles);
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const double value = value_of(halves[i].bits, kExponentBits<Half>);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(floats[i]) && std::isnan(doubles[i]));
      EXPECT_TRUE(std::isnan(value_of(from_floats[i].bits, kExponentBits<Half>)));
      EXPECT_TRUE(std::isnan(value_of(from_doubles[i].bits, kExponentBits<Half>)));
    } else {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(static_cast<double>(floats[i])),
                std::bit_cast<std::uint64_t>(value));
      ASSERT_EQ(std::bit_cast<std::uint64_t>(doubles[i]), std::bit_cast<std::uint64_t>(value));
      ASSERT_EQ(from_floats[i], halves[i]);
      ASSERT_EQ(from_doubles[i], halves[i]);
    }
    ASSERT_EQ(std::bit_cast<std::uint32_t>(floats[i]),
              std::bit_cast<std::uint32_t>(static_cast<float>(halves[i])));
  }
}

TEST_P(Cast, EveryHalfGoesToFloatAndBack) {
  check_every_half<Float16>();
  check_every_half<BFloat16>();
}

// Around the middle between two neighbours, a float64 shows whether it is rounded once or twice.
template <class Half>
void check_middles() {
  const auto last = half_with<Half>(std::is_same_v<Half, Float16> ? 0x7bff : 0x7f7f);
  std::vector<double> src;
  std::vector<Half> expected;
  for (int bits = 0; bits <= last.bits; ++bits) {
    const auto low = half_with<Half>(static_cast<std::uint16_t>(bits));
    const auto high = half_with<Half>(static_cast<std::uint16_t>(bits + 1));
    const double floor = value_of(low.bits, kExponentBits<Half>);
    // Past the last one, where the next would be.
    const double ceil = bits == last.bits
                            ? floor + (floor - value_of(last.bits - 1, kExponentBits<Half>))
                            : value_of(high.bits, kExponentBits<Half>);
    const double middle = (floor + ceil) / 2;
    const Half even = bits % 2 == 0 ? low : high;
    for (const double sign : {1.0, -1.0}) {
      const auto signed_half = [&](Half half) {
        return half_with<Half>(static_cast<std::uint16_t>(half.bits | (sign < 0 ? 0x8000 : 0)));
      };
      src.insert(src.end(), {sign * std::nextafter(middle, 0.0), sign * middle,
                             sign * std::nextafter(middle, 1e300)});
      expected.insert(expected.end(), {signed_half(low), signed_half(even), signed_half(high)});
    }
  }
  const std::vector<Half> dst = cast<Half>(src);
  for (std::size_t i = 0; i < src.size(); ++i) ASSERT_EQ(dst[i], expected[i]) << src[i];
  // The middles are floats too.
  std::vector<float> middles;
  for (std::size_t i = 1; i < src.size(); i += 3) middles.push_back(static_cast<float>(src[i]));
  const std::vector<Half> from_floats = cast<Half>(middles);
  for (std::size_t i = 0; i < middles.size(); ++i) {
    ASSERT_EQ(from_floats[i], expected[3 * i + 1]) << middles[i];
    ASSERT_EQ(Half(middles[i]), expected[3 * i + 1]) << middles[i];
  }
}

TEST_P(Cast, HalvesAreRoundedOnceToNearestEven) {
  check_middles<Float16>();
  check_middles<BFloat16>();
}

TEST_P(Cast, IntegersAreRoundedOnceToHalves) {
  // 2^62 + 2^54 is the middle of two neighbours in bfloat16; a float64 loses the last 1.
  const std::int64_t middle = (std::int64_t{1} << 62) + (std::int64_t{1} << 54);
  const auto dst =
      cast<BFloat16>(std::vector<std::int64_t>{middle - 1, middle, middle + 1, -middle - 1});
  const double low = 0x1p62, high = 0x1p62 + 0x1p55;
  EXPECT_EQ(static_cast<float>(dst[0]), low);
  EXPECT_EQ(static_cast<float>(dst[1]), low);
  EXPECT_EQ(static_cast<float>(dst[2]), high);
  EXPECT_EQ(static_cast<float>(dst[3]), -high);
  const auto ints = cast<BFloat16>(std::vector<std::int32_t>{0x40400001, 0x40400000, -0x40400001});
  EXPECT_EQ(static_cast<float>(ints[0]), 0x1.02p30F);
  EXPECT_EQ(static_cast<float>(ints[1]), 0x1p30F);
  EXPECT_EQ(static_cast<float>(ints[2]), -0x1.02p30F);
  const auto small = cast<Float16>(std::vector<std::int32_t>{2049, 2051, 65519, 65520, -70000});
  EXPECT_EQ(static_cast<float>(small[0]), 2048);
  EXPECT_EQ(static_cast<float>(small[1]), 2052);
  EXPECT_EQ(static_cast<float>(small[2]), 65504);
  EXPECT_EQ(static_cast<float>(small[3]), std::numeric_limits<float>::infinity());
  EXPECT_EQ(static_cast<float>(small[4]), -std::numeric_limits<float>::infinity());
}

TEST_P(Cast, FloatsAndIntegersConvertAsInCpp) {
  const std::vector<double> doubles = {0.1, -0.0, 1e300, -1e300, 1e-46, 16777217};
  const auto floats = cast<float>(doubles);
  for (std::size_t i = 0; i < doubles.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(floats[i]),
              std::bit_cast<std::uint32_t>(static_cast<float>(doubles[i])));
  }
  const std::vector<std::int32_t> ints = {0, -5, 16777217,
                                          std::numeric_limits<std::int32_t>::min()};
  EXPECT_EQ(cast<float>(ints), (std::vector<float>{0, -5, 16777216, -0x1p31F}));
  EXPECT_EQ(cast<std::int64_t>(ints), (std::vector<std::int64_t>{0, -5, 16777217, -(1LL << 31)}));
  EXPECT_EQ(cast<float>(std::vector<std::uint8_t>{0, 7, 255}), (std::vector<float>{0, 7, 255}));
}

INSTANTIATE_TEST_SUITE_P(Targets, Cast, ::testing::ValuesIn(testing::targets()),
                         [](const auto& test) { return std::string(hwy::TargetName(test.param)); });

}  // namespace
}  // namespace tenure::cpu
