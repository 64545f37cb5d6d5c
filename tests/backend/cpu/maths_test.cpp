// Accuracy of the functions in maths.cpp and activation.cpp against long double, over every
// exponent there is, on each target.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "kernel_call.h"
#include "ops/maths_attrs.h"

namespace tenure::cpu {
namespace {

using Wide = long double;
using Function = Wide (*)(Wide);

Wide softplus(Wide x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x))); }
Wide log_sigmoid(Wide x) { return -softplus(-x); }
Wide silu(Wide x) { return x < 0 ? x * std::exp(x) / (1 + std::exp(x)) : x / (1 + std::exp(-x)); }
Wide gelu(Wide x) { return x * std::erfc(-x / std::sqrt(Wide{2})) / 2; }

struct Row {
  const char* op;
  Function exact;
  double low, high;
  int float_ulp, double_ulp;
};

constexpr double kEverything = 1e300;
const Row kRows[] = {
    {"expm1", std::expm1, -110, 720, 2, 2},
    {"log1p", std::log1p, -0.999, kEverything, 2, 2},
    {"erf", std::erf, -6, 6, 2, 1},
    {"sin", std::sin, -kEverything, kEverything, 1, 1},
    {"sin", std::sin, -100, 100, 1, 1},
    {"cos", std::cos, -kEverything, kEverything, 1, 1},
    {"cos", std::cos, -100, 100, 1, 1},
    {"tan", std::tan, -kEverything, kEverything, 1, 1},
    {"tan", std::tan, -100, 100, 1, 1},
    {"asin", std::asin, -1, 1, 1, 1},
    {"acos", std::acos, -1, 1, 1, 1},
    {"atan", std::atan, -kEverything, kEverything, 1, 1},
    {"atan", std::atan, -4, 4, 1, 1},
    {"sinh", std::sinh, -89, 89, 1, 2},
    {"cosh", std::cosh, -89, 89, 1, 2},
    {"asinh", std::asinh, -kEverything, kEverything, 1, 2},
    {"acosh", std::acosh, 1, kEverything, 1, 2},
    {"acosh", std::acosh, 1, 3, 1, 2},
    {"atanh", std::atanh, -1, 1, 1, 2},
    {"rsqrt", [](Wide x) { return 1 / std::sqrt(x); }, 1e-30, 1e30, 1, 1},
    {"softplus", softplus, -110, 200, 3, 3},
    {"log_sigmoid", log_sigmoid, -200, 110, 3, 3},
    {"silu", silu, -85, 100, 3, 4},
    {"gelu", gelu, -12, 12, 6, 4},
};

template <class T>
std::vector<T> samples(const Row& row) {
  using Limits = std::numeric_limits<T>;
  const T low =
      std::max(static_cast<T>(std::max<double>(row.low, Limits::lowest())), Limits::lowest());
  const T high = static_cast<T>(std::min<double>(row.high, Limits::max()));
  constexpr int kCount = 60'000;
  std::vector<T> all;
  // Evenly by value, then evenly by exponent.
  for (int i = 0; i <= kCount; ++i) {
    const T part = static_cast<T>(i) / kCount;
    all.push_back(low * (1 - part) + high * part);
    const T size = std::exp2(part * (2 * Limits::max_exponent - 3) - (Limits::max_exponent - 2)) *
                   (1 + static_cast<T>(i % 97) / 100);
    all.push_back(std::clamp(low < 0 && i % 2 == 0 ? -size : size, low, high));
  }
  return all;
}

ops::KernelFn kernel_of(const char* op, DType dtype) {
  const auto in_maths = maths_kernels(), in_activation = activation_kernels();
  for (const auto& rows : {in_maths, in_activation}) {
    for (const ops::KernelRow& row : rows) {
      if (row.op == op && row.dtype == dtype) return row.run;
    }
  }
  return nullptr;
}

template <class T>
void check(const Row& row, int max_ulp) {
  const std::vector<T> src = samples<T>(row);
  std::vector<T> dst(src.size());
  const ops::GeluAttrs exact;
  const Shape shape{static_cast<std::int64_t>(src.size())};
  const ops::KernelFn kernel = kernel_of(row.op, dtype_of<T>);
  ASSERT_NE(kernel, nullptr) << row.op;
  testing::call(kernel, {testing::Operand(src.data(), shape)}, testing::Operand(dst.data(), shape),
                ops::ref(exact));
  std::int64_t worst = 0;
  T at = 0;
  for (std::size_t i = 0; i < src.size(); ++i) {
    const T want = static_cast<T>(row.exact(src[i]));
    ASSERT_EQ(std::isnan(want), std::isnan(dst[i])) << row.op << " of " << src[i];
    if (std::isnan(want)) continue;
    const std::int64_t ulp = std::abs(testing::ordinal(dst[i]) - testing::ordinal(want));
    if (ulp > worst) {
      worst = ulp;
      at = src[i];
    }
  }
  EXPECT_LE(worst, max_ulp) << row.op << " of " << name(dtype_of<T>) << " at " << at;
}

class MathsAccuracy : public ::testing::TestWithParam<std::int64_t> {
 protected:
  MathsAccuracy() : use_(GetParam()) {}
  testing::UseTarget use_;
};

TEST_P(MathsAccuracy, FloatsAreWithinTheirBounds) {
  for (const Row& row : kRows) check<float>(row, row.float_ulp);
}

TEST_P(MathsAccuracy, DoublesAreWithinTheirBounds) {
  for (const Row& row : kRows) check<double>(row, row.double_ulp);
}

// a to the b and the angle of (b, a), for all signs and sizes.
TEST_P(MathsAccuracy, PairsOfFloatsAreWithinTheirBounds) {
  std::vector<float> a, b;
  for (int i = -140; i <= 120; ++i) {
    for (int k = 0; k < 200; ++k) {
      a.push_back((k % 5 == 0 ? -1.0f : 1.0f) * std::ldexp(1 + static_cast<float>(k) / 201, i));
      b.push_back(k % 10 == 0 ? static_cast<float>(k % 7 - 3)
                              : static_cast<float>(k - 100) / static_cast<float>(std::abs(i) + 1));
    }
  }
  std::vector<float> dst(a.size());
  const Shape shape{static_cast<std::int64_t>(a.size())};
  const auto check = [&](const char* op, Wide (*exact)(Wide, Wide), std::int64_t max_ulp) {
    testing::call(kernel_of(op, DType::float32),
                  {testing::Operand(a.data(), shape), testing::Operand(b.data(), shape)},
                  testing::Operand(dst.data(), shape));
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto want = static_cast<float>(exact(a[i], b[i]));
      ASSERT_EQ(std::isnan(want), std::isnan(dst[i])) << op << " of " << a[i] << ", " << b[i];
      if (std::isnan(want)) continue;
      ASSERT_LE(std::abs(testing::ordinal(dst[i]) - testing::ordinal(want)), max_ulp)
          << op << " of " << a[i] << ", " << b[i] << " is " << dst[i] << " instead of " << want;
    }
  };
  check("pow", std::pow, 1);
  check("atan2", std::atan2, 1);
  check(
      "mod",
      [](Wide x, Wide y) {
        const auto p = static_cast<double>(x), q = static_cast<double>(y);
        const double rest = std::fmod(p, q);
        return Wide{(p < 0) == (q < 0) ? rest : std::fmod(rest + q, q)};
      },
      0);
}

TEST_P(MathsAccuracy, WhatIsTooLargeForAFloatIsInfinite) {
  const float inf = std::numeric_limits<float>::infinity();
  const auto of = [](const char* op, float x) {
    float y = 0;
    testing::call_flat<float>(kernel_of(op, DType::float32), {&x, 1}, {&y, 1});
    return y;
  };
  for (const float x : {100.0f, 1e30f, inf}) {
    EXPECT_EQ(of("sinh", x), inf);
    EXPECT_EQ(of("sinh", -x), -inf);
    EXPECT_EQ(of("cosh", -x), inf);
    EXPECT_EQ(of("expm1", x), inf);
  }
  EXPECT_EQ(of("asinh", -inf), -inf);
  EXPECT_EQ(of("acosh", inf), inf);
  EXPECT_EQ(of("atanh", -1), -inf);
  EXPECT_EQ(of("log1p", inf), inf);
  const float base = 10, power = 100;
  float y = 0;
  testing::call(kernel_of("pow", DType::float32),
                {testing::Operand(&base, Shape{1}), testing::Operand(&power, Shape{1})},
                testing::Operand(&y, Shape{1}));
  EXPECT_EQ(y, inf);
}

INSTANTIATE_TEST_SUITE_P(Targets, MathsAccuracy, ::testing::ValuesIn(testing::targets()),
                         [](const auto& test) { return std::string(hwy::TargetName(test.param)); });

}  // namespace
}  // namespace tenure::cpu
