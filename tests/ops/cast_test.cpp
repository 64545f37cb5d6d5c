// cast between every two dtypes, against rules written out here.
#include <bit>
#include <cmath>
#include <complex>
#include <limits>
#include <sstream>
#include <tuple>

#include "case.h"

namespace tenure::testing {
namespace {

// Holds every value of every dtype exactly.
using Exact = long double;
static_assert(std::numeric_limits<Exact>::digits >= 64);

constexpr Exact kExactInf = std::numeric_limits<Exact>::infinity();

struct FloatFormat {
  int digits;          // of the significand, the implicit one included
  int least_exponent;  // of the smallest normal number, 1.0 * 2^least_exponent
  int most_exponent;
};

FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return {24, -126, 127};
    case DType::float16:
      return {11, -14, 15};
    case DType::bfloat16:
      return {8, -126, 127};
    default:
      return {53, -1022, 1023};
  }
}

// The nearest value of the format, of two equally near the one with an even last digit.
Exact to_float(Exact x, FloatFormat format) {
  if (std::isnan(x) || std::isinf(x) || x == 0) return x;
  const int exponent = std::max(std::ilogb(x), format.least_exponent);
  const int last_digit = exponent - format.digits + 1;
  const Exact nearest = std::ldexp(std::nearbyint(std::ldexp(x, -last_digit)), last_digit);
  if (std::abs(nearest) >= std::ldexp(Exact{1}, format.most_exponent + 1)) {
    return std::copysign(kExactInf, x);
  }
  return nearest;
}

struct IntegerFormat {
  int bits;
  bool is_signed;
  Exact least() const { return is_signed ? -std::ldexp(Exact{1}, bits - 1) : 0; }
  Exact most() const { return std::ldexp(Exact{1}, is_signed ? bits - 1 : bits) - 1; }
};

IntegerFormat format_of_integer(DType dtype) {
  return {static_cast<int>(size_of(dtype)) * 8, dtype != DType::uint8};
}

// Towards zero and no further than the ends; NaN is 0.
Exact float_to_integer(Exact x, IntegerFormat format) {
  if (std::isnan(x)) return 0;
  return std::trunc(std::min(std::max(x, format.least()), format.most()));
}

// Modulo 2^bits.
Exact integer_to_integer(Exact x, IntegerFormat format) {
  const Exact modulus = std::ldexp(Exact{1}, format.bits);
  const Exact rest = x - std::floor(x / modulus) * modulus;
  return rest > format.most() ? rest - modulus : rest;
}

Exact cast_value(Exact x, DType from, DType to) {
  if (to == DType::boolean) return x != 0 ? 1 : 0;  // NaN is not 0
  if (is_floating(to)) return to_float(x, format_of(to));
  return is_floating(from) ? float_to_integer(x, format_of_integer(to))
                           : integer_to_integer(x, format_of_integer(to));
}

// Around every power of two, every half way between, and every end; as far as `from` holds them.
std::vector<Exact> interesting_values(DType from) {
  std::vector<Exact> values{0,
                            0.25,
                            0.5,
                            0.75,
                            1.5,
                            2.5,
                            2.75,
                            1.0 + 0x1p-11,
                            1.0 + 0x1p-11 + 0x1p-30,
                            1.0 + 0x1p-8,
                            1.0 + 0x1p-8 + 0x1p-29,
                            65504,
                            65519.99,
                            65520,
                            3.39e38L,
                            0x1p-25L,
                            0x1.8p-25L,
                            0x1p-24L,
                            0x1p-149L,
                            0x1p-134L};
  for (int power = 0; power <= 64; ++power) {
    const Exact edge = std::ldexp(Exact{1}, power);
    for (const Exact by : {-2.0L, -1.5L, -1.0L, -0.5L, 0.0L, 0.5L, 1.0L, 1.5L, 2.0L, 3.0L})
      values.push_back(edge + by);
    values.push_back(edge + std::ldexp(Exact{1}, power - 8) + 1);
    values.push_back(edge + std::ldexp(Exact{1}, power - 11) + 1);
    values.push_back(edge + std::ldexp(Exact{1}, power - 24) + 1);
  }
  if (is_floating(from)) {
    for (Exact& value : values) value = to_float(value, format_of(from));
    values.insert(values.end(),
                  {kExactInf, std::numeric_limits<Exact>::quiet_NaN(), 1e-320L, 1e300L});
    for (Exact& value : values) value = to_float(value, format_of(from));
  }
  if (!is_floating(from)) std::erase(values, 0);  // it has no negative
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  if (from == DType::boolean) {
    values = {0, 1};
  } else if (!is_floating(from)) {
    const IntegerFormat format = format_of_integer(from);
    values.insert(values.end(), {0, format.least(), format.most()});
    std::erase_if(values, [&](Exact value) {
      return value != std::trunc(value) || value < format.least() || value > format.most();
    });
  }
  return values;
}

template <class T>
T element_of(Exact value) {
  if constexpr (is_half_v<T> || std::is_same_v<T, std::complex<float>>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
Exact exact_of(T element) {
  if constexpr (std::is_same_v<T, std::complex<float>>) {
    return element.real();
  } else if constexpr (is_half_v<T>) {
    return static_cast<float>(element);
  } else {
    return static_cast<Exact>(element);
  }
}

bool same(Exact got, Exact want, DType dtype) {
  if (std::isnan(want)) return std::isnan(got);
  return got == want && (!is_floating(dtype) || std::signbit(got) == std::signbit(want));
}

std::vector<Exact> cast_all(const std::vector<Exact>& values, DType from, DType to) {
  const Tensor x = with_type(from, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> elements;
    for (const Exact value : values) elements.push_back(element_of<T>(value));
    return tensor(elements);
  });
  return with_type(to, [&](auto zero) {
    using T = decltype(zero);
    std::vector<Exact> results;
    for (const T element : cast(x, to).to_vector<T>()) results.push_back(exact_of(element));
    return results;
  });
}

using Pair = std::tuple<DType, DType>;
struct CastOf : ::testing::TestWithParam<Pair> {};

TEST_P(CastOf, follows_the_rule_for_every_interesting_value) {
  const auto [from, to] = GetParam();
  const std::vector<Exact> values = interesting_values(from);
  ASSERT_FALSE(values.empty());
  const std::vector<Exact> got = cast_all(values, from, to);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Exact want = cast_value(values[i], from, to);
    EXPECT_TRUE(same(got[i], want, to))
        << ::testing::PrintToString(values[i]) << " became " << ::testing::PrintToString(got[i])
        << " instead of " << ::testing::PrintToString(want);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, CastOf,
                         ::testing::Combine(::testing::ValuesIn(kAnything),
                                            ::testing::ValuesIn(kAnything)),
                         [](const auto& test) {
                           return std::string(name(std::get<0>(test.param))) + "_to_" +
                                  std::string(name(std::get<1>(test.param)));
                         });

TEST(Cast, every_half_is_itself_in_float32_and_back) {
  const auto check = [](auto zero, DType half) {
    using T = decltype(zero);
    std::vector<T> all(1 << 16);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<std::uint16_t>(i);
    const Tensor x = tensor(all);
    const std::vector<float> wide = cast(x, DType::float32).to_vector<float>();
    const std::vector<T> back = cast(cast(x, DType::float32), half).template to_vector<T>();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto expected = static_cast<float>(all[i]);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(wide[i]) && std::isnan(static_cast<float>(back[i]))) << i;
      } else {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(expected))
            << i;
        ASSERT_EQ(back[i].bits, all[i].bits) << i;
      }
    }
  };
  check(Float16{}, DType::float16);
  check(BFloat16{}, DType::bfloat16);
}

TEST(Cast, to_the_same_dtype_shares_the_bytes) {
  for (const DType dtype : kAnything) {
    const Tensor x = zeros({3}, dtype);
    EXPECT_EQ(bytes_of(cast(x, dtype)), bytes_of(x)) << dtype;
  }
}

TEST(Cast, a_number_becomes_a_scalar_of_the_dtype) {
  const Tensor x = cast(2.75, DType::int64);
  EXPECT_EQ(x.shape(), Shape{});
  EXPECT_EQ(x.item<std::int64_t>(), 2);
}

TEST(Cast, gradients_come_back_in_the_inputs_dtype) {
  for (const DType from : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    for (const DType to : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
      const Tensor x = to_tensor({{2}, {0.5, -1}}, from);
      GradientTape tape;
      tape.watch(x);
      const Tensor y = cast(x, to);
      const Tensor g = tape.gradient(y, x, {.output_gradient = to_tensor({{2}, {3, 4}}, to)});
      ASSERT_EQ(g.dtype(), from) << "through " << to;
      EXPECT_EQ(to_array(g).data, (std::vector<double>{3, 4}));
    }
  }
}

TEST(Cast, no_gradient_flows_through_integers) {
  const Tensor x = tensor({1.5f});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = cast(cast(x, DType::int32), DType::float32);
  EXPECT_FALSE(tape.gradient(y, x).defined());
}

}  // namespace
}  // namespace tenure::testing
