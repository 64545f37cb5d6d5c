#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernel_call.h"

namespace tenure::cpu {
namespace {

template <class T>
T run(const char* op, T x) {
  T y{};
  testing::call_flat<T>(testing::find(unary_kernels(), op, dtype_of<T>), {&x, 1}, {&y, 1});
  return y;
}

template <class T>
bool same_bits(T a, T b) {
  if (a != a || b != b) return (a != a) == (b != b);
  return a == b && std::signbit(a) == std::signbit(b);
}

#define EXPECT_SAME(a, b) EXPECT_PRED2((same_bits<decltype(a)>), a, b)

class Unary : public ::testing::TestWithParam<std::int64_t> {
 protected:
  Unary() : use_(GetParam()) {}
  testing::UseTarget use_;
};

template <class T>
void check_special_values() {
  const T inf = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T tiny = std::numeric_limits<T>::denorm_min();
  for (const char* op :
       {"exp", "log", "sqrt", "tanh", "sigmoid", "elu", "selu", "neg", "square", "relu", "relu6"}) {
    EXPECT_TRUE(std::isnan(run(op, nan))) << op;
  }
  EXPECT_SAME(run("exp", T{0}), T{1});
  EXPECT_SAME(run("exp", T{-0.0}), T{1});
  EXPECT_SAME(run("exp", -inf), T{0});
  EXPECT_SAME(run("exp", inf), inf);
  EXPECT_SAME(run("exp", std::numeric_limits<T>::max()), inf);
  EXPECT_SAME(run("exp", std::log(tiny) + T{0.25}), tiny);
  EXPECT_SAME(run("exp", std::log(tiny) - T{1}), T{0});

  EXPECT_SAME(run("log", T{1}), T{0});
  EXPECT_SAME(run("log", T{0}), -inf);
  EXPECT_SAME(run("log", T{-0.0}), -inf);
  EXPECT_SAME(run("log", inf), inf);
  EXPECT_SAME(run("log", tiny), std::log(tiny));
  EXPECT_TRUE(std::isnan(run("log", T{-1})));
  EXPECT_TRUE(std::isnan(run("log", -tiny)));
  EXPECT_TRUE(std::isnan(run("log", -inf)));

  EXPECT_SAME(run("tanh", T{0}), T{0});
  EXPECT_SAME(run("tanh", T{-0.0}), T{-0.0});
  EXPECT_SAME(run("tanh", tiny), tiny);
  EXPECT_SAME(run("tanh", -tiny), -tiny);
  EXPECT_SAME(run("tanh", inf), T{1});
  EXPECT_SAME(run("tanh", -inf), T{-1});
  EXPECT_SAME(run("tanh", T{50}), T{1});

  EXPECT_SAME(run("sigmoid", T{0}), T{0.5});
  EXPECT_SAME(run("sigmoid", -inf), T{0});
  EXPECT_SAME(run("sigmoid", inf), T{1});
  EXPECT_SAME(run("sigmoid", std::log(tiny) + T{0.25}), tiny);

  EXPECT_SAME(run("elu", T{-0.0}), T{-0.0});
  EXPECT_SAME(run("elu", -tiny), -tiny);
  EXPECT_SAME(run("elu", -inf), T{-1});
  EXPECT_SAME(run("elu", inf), inf);
  EXPECT_SAME(run("selu", T{1}), static_cast<T>(1.0507009873554805));
  EXPECT_SAME(run("selu", -inf), static_cast<T>(-1.7580993408473768));

  EXPECT_SAME(run("sqrt", T{-0.0}), T{-0.0});
  EXPECT_TRUE(std::isnan(run("sqrt", T{-1})));
  EXPECT_SAME(run("neg", T{0}), T{-0.0});
  EXPECT_SAME(run("relu", T{-0.0}), T{0});
  EXPECT_SAME(run("relu", -inf), T{0});
  EXPECT_SAME(run("relu", inf), inf);
  EXPECT_SAME(run("relu6", inf), T{6});
  EXPECT_SAME(run("relu6", T{2.5}), T{2.5});
  EXPECT_SAME(run("relu6", T{-3}), T{0});
}

TEST_P(Unary, SpecialValues) {
  check_special_values<float>();
  check_special_values<double>();
}

template <class T>
void check_integers() {
  const T min = std::numeric_limits<T>::min(), max = std::numeric_limits<T>::max();
  for (const T x : {min, T(min + 1), T(min / 2), T(-3), T(0), T(3), T(6), T(7), max}) {
    const auto wide = static_cast<std::uint64_t>(x);
    EXPECT_EQ(run("square", x), static_cast<T>(wide * wide));
    EXPECT_EQ(run("relu", x), std::max(x, T{0}));
    EXPECT_EQ(run("relu6", x), std::clamp(x, T{0}, T{6}));
    if constexpr (std::is_signed_v<T>) {
      EXPECT_EQ(run("neg", x), static_cast<T>(0 - wide));
    }
  }
}

TEST_P(Unary, IntegersWrap) {
  check_integers<std::int32_t>();
  check_integers<std::int64_t>();
  check_integers<std::uint8_t>();
  check_integers<std::int8_t>();
}

template <class T>
void check_accuracy(const char* op, long double (*reference)(long double), T low, T high,
                    std::int64_t max_ulp) {
  const std::size_t count = 200'000;
  std::vector<T> src, dst(2 * count);
  // Evenly by value, then evenly by exponent.
  for (std::size_t i = 0; i < count; ++i) {
    const T part = static_cast<T>(i) / static_cast<T>(count);
    src.push_back(low + (high - low) * part);
    const T size = std::exp2(part * (std::numeric_limits<T>::max_exponent - 1) * 2 -
                             (std::numeric_limits<T>::max_exponent - 1));
    src.push_back(std::clamp(low < 0 && i % 2 == 0 ? -size : size, low, high));
  }
  testing::call_flat<T>(testing::find(unary_kernels(), op, dtype_of<T>), src, dst);
  std::int64_t worst = 0;
  T at = 0;
  for (std::size_t i = 0; i < src.size(); ++i) {
    const T exact = static_cast<T>(reference(src[i]));
    const std::int64_t ulp = std::abs(testing::ordinal(dst[i]) - testing::ordinal(exact));
    if (ulp > worst) {
      worst = ulp;
      at = src[i];
    }
  }
  EXPECT_LE(worst, max_ulp) << op << " of " << name(dtype_of<T>) << " at " << at;
}

long double elu(long double x) { return x >= 0 ? x : std::expm1(x); }
long double sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }

TEST_P(Unary, Float64IsWithinItsBounds) {
  check_accuracy<double>("exp", [](long double x) { return std::exp(x); }, -746, 710, 1);
  check_accuracy<double>("log", [](long double x) { return std::log(x); }, 5e-324, 1e308, 1);
  check_accuracy<double>("log", [](long double x) { return std::log(x); }, 0.5, 2, 1);
  check_accuracy<double>("tanh", [](long double x) { return std::tanh(x); }, -20, 20, 3);
  check_accuracy<double>("tanh", [](long double x) { return std::tanh(x); }, -0.5, 0.5, 3);
  check_accuracy<double>("sigmoid", sigmoid, -746, 40, 3);
  check_accuracy<double>("elu", elu, -40, 1, 2);
  check_accuracy<double>("elu", elu, -1, 0, 2);
}

TEST_P(Unary, SqrtIsCorrectlyRounded) {
  for (int i = 0; i < 10'000; ++i) {
    const double x = std::exp2(i * 0.1 - 500);
    EXPECT_EQ(run("sqrt", x), std::sqrt(x));
    EXPECT_EQ(run("sqrt", static_cast<float>(x)), std::sqrt(static_cast<float>(x)));
  }
}

TEST_P(Unary, Float32ExpIsAccurateBelowZeroInElu) {
  check_accuracy<float>("elu", elu, -20, 1, 2);
  check_accuracy<float>("elu", elu, -1, 0, 2);
}

INSTANTIATE_TEST_SUITE_P(Targets, Unary, ::testing::ValuesIn(testing::targets()),
                         [](const auto& test) { return std::string(hwy::TargetName(test.param)); });

}  // namespace
}  // namespace tenure::cpu
