#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernel_call.h"

namespace tenure::cpu {
namespace {

using testing::Operand;

template <class To, class T>
To run(std::span<const ops::KernelRow> rows, const char* op, T a, T b) {
  To y{};
  testing::call(testing::find(rows, op, dtype_of<T>), {Operand(&a, {}), Operand(&b, {})},
                Operand(&y, {}));
  return y;
}

class Binary : public ::testing::TestWithParam<std::int64_t> {
 protected:
  Binary() : use_(GetParam()) {}
  testing::UseTarget use_;
};

template <class T>
T floor_of_quotient(T a, T b) {
  if (b == 0) return 0;
  if (b == static_cast<T>(-1) && b < 0) return static_cast<T>(0 - static_cast<std::uint64_t>(a));
  const T rest = static_cast<T>(a % b);
  return static_cast<T>(a / b - (rest != 0 && (rest < 0) != (b < 0) ? 1 : 0));
}

template <class T>
void check_integers() {
  const T min = std::numeric_limits<T>::min(), max = std::numeric_limits<T>::max();
  const T values[] = {min,  T(min + 1), T(-7), T(-2),      T(-1), T(0),
                      T(1), T(2),       T(7),  T(max - 1), max};
  for (const T a : values) {
    for (const T b : values) {
      const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
      const auto rows = binary_kernels();
      EXPECT_EQ((run<T>(rows, "add", a, b)), static_cast<T>(x + y));
      EXPECT_EQ((run<T>(rows, "sub", a, b)), static_cast<T>(x - y));
      EXPECT_EQ((run<T>(rows, "mul", a, b)), static_cast<T>(x * y));
      EXPECT_EQ((run<T>(rows, "maximum", a, b)), a < b ? b : a);
      EXPECT_EQ((run<T>(rows, "div", a, b)), floor_of_quotient(a, b)) << +a << " / " << +b;
    }
  }
}

TEST_P(Binary, IntegersWrapAndDivideToTheFloor) {
  check_integers<std::int32_t>();
  check_integers<std::int64_t>();
  check_integers<std::uint8_t>();
  check_integers<std::int8_t>();
}

template <class T>
void check_maximum() {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const auto maximum = [](T a, T b) { return run<T>(binary_kernels(), "maximum", a, b); };
  for (const T x : {-inf, T{-1}, T{0}, T{3}, inf, nan}) {
    EXPECT_TRUE(std::isnan(maximum(x, nan)));
    EXPECT_TRUE(std::isnan(maximum(nan, x)));
  }
  EXPECT_EQ(maximum(T{2}, T{-5}), T{2});
  EXPECT_EQ(maximum(-inf, T{-5}), T{-5});
  EXPECT_FALSE(std::signbit(maximum(T{0}, T{-0.0})));
  EXPECT_FALSE(std::signbit(maximum(T{-0.0}, T{0})));
  EXPECT_TRUE(std::signbit(maximum(T{-0.0}, T{-0.0})));
}

TEST_P(Binary, MaximumLetsNanThrough) {
  check_maximum<float>();
  check_maximum<double>();
}

TEST_P(Binary, FloatsFollowIeee) {
  const auto rows = binary_kernels();
  EXPECT_EQ((run<float>(rows, "div", 1.0F, 0.0F)), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(run<float>(rows, "div", 0.0F, 0.0F)));
  EXPECT_EQ((run<float>(rows, "div", 1.0F, 3.0F)), 1.0F / 3.0F);
  EXPECT_EQ((run<double>(rows, "sub", 1.0, 1e-17)), 1.0);
}

template <class T>
void check_comparisons(std::initializer_list<T> values) {
  const auto rows = compare_kernels();
  for (const T a : values) {
    for (const T b : values) {
      EXPECT_EQ((run<bool>(rows, "equal", a, b)), a == b);
      EXPECT_EQ((run<bool>(rows, "not_equal", a, b)), a != b);
      EXPECT_EQ((run<bool>(rows, "less", a, b)), a < b);
      EXPECT_EQ((run<bool>(rows, "less_equal", a, b)), a <= b);
      EXPECT_EQ((run<bool>(rows, "greater", a, b)), a > b);
      EXPECT_EQ((run<bool>(rows, "greater_equal", a, b)), a >= b);
    }
  }
}

TEST_P(Binary, ComparisonsOfEveryDtype) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  check_comparisons<float>({-1, -0.0F, 0, 1, nan});
  check_comparisons<double>({-1, -0.0, 0, 1, nan});
  check_comparisons<std::int32_t>({-5, 0, 5});
  check_comparisons<std::int64_t>({std::int64_t{-1} << 40, 0, std::int64_t{1} << 40});
  check_comparisons<std::uint8_t>({0, 1, 255});
  check_comparisons<std::int8_t>({-128, 0, 127});
  check_comparisons<bool>({false, true});
}

TEST_P(Binary, ComparisonsBroadcastEitherSide) {
  std::vector<float> row(100);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i);
  const float middle = 50;
  const auto result = std::make_unique<bool[]>(row.size());
  const ops::KernelFn greater = testing::find(compare_kernels(), "greater", DType::float32);
  testing::call(greater, {Operand(row.data(), {100}), Operand(&middle, {})},
                Operand(result.get(), {100}));
  for (std::size_t i = 0; i < row.size(); ++i) EXPECT_EQ(result[i], row[i] > middle);
  testing::call(greater, {Operand(&middle, {1}), Operand(row.data(), {100})},
                Operand(result.get(), {100}));
  for (std::size_t i = 0; i < row.size(); ++i) EXPECT_EQ(result[i], middle > row[i]);
}

template <class T>
void check_where() {
  std::vector<T> a(77), b(77), dst(77);
  const auto condition = std::make_unique<bool[]>(77);
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::memset(static_cast<void*>(&a[i]), static_cast<int>(i + 1), sizeof(T));
    std::memset(static_cast<void*>(&b[i]), static_cast<int>(255 - i), sizeof(T));
    condition[i] = i % 3 == 0;
  }
  const ops::KernelFn kernel = testing::find(where_kernels(), "where", dtype_of<T>);
  for (unsigned stepped = 0; stepped < 8; ++stepped) {
    const auto shape = [&](unsigned input) { return Shape{(stepped >> input & 1U) != 0 ? 77 : 1}; };
    testing::call(kernel,
                  {Operand(condition.get(), shape(0)), Operand(a.data(), shape(1)),
                   Operand(b.data(), shape(2))},
                  Operand(dst.data(), {77}));
    for (std::size_t i = 0; i < dst.size(); ++i) {
      const auto at = [&](unsigned input) { return (stepped >> input & 1U) != 0 ? i : 0; };
      const T& expected = condition[at(0)] ? a[at(1)] : b[at(2)];
      ASSERT_EQ(std::memcmp(&dst[i], &expected, sizeof(T)), 0) << stepped << " at " << i;
    }
  }
}

TEST_P(Binary, WhereOfEverySizeAndBroadcast) {
  check_where<float>();
  check_where<double>();
  check_where<std::int32_t>();
  check_where<std::int64_t>();
  check_where<std::uint8_t>();
  check_where<std::int8_t>();
  check_where<Float16>();
  check_where<BFloat16>();
}

INSTANTIATE_TEST_SUITE_P(Targets, Binary, ::testing::ValuesIn(testing::targets()),
                         [](const auto& test) { return std::string(hwy::TargetName(test.param)); });

}  // namespace
}  // namespace tenure::cpu
