#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "ops/attrs.h"
#include "scratch_call.h"

namespace tenure::cpu {
namespace {

using testing::Operand;

template <class T>
std::vector<T> values(std::int64_t count) {
  std::mt19937 engine(5);
  std::vector<T> result(static_cast<std::size_t>(count));
  for (T& value : result) {
    value = static_cast<T>(std::is_integral_v<T>
                               ? static_cast<double>(engine() % 200) - 100
                               : std::uniform_real_distribution<double>(-1, 1)(engine));
  }
  return result;
}

bool contains(const Axes& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

Shape result_shape(const Shape& shape, const Axes& axes) {
  Shape out;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!contains(axes, axis)) out.push_back(shape[axis]);
  }
  return out;
}

template <class T>
std::vector<T> reduce(const char* op, const std::vector<T>& x, const Shape& shape,
                      const Axes& axes) {
  const Shape out = result_shape(shape, axes);
  std::vector<T> y(static_cast<std::size_t>(out.numel()), T{99});
  testing::call(testing::find_row(reduce_kernels(), op, dtype_of<T>), {Operand(x.data(), shape)},
                Operand(y.data(), out), ops::ReduceAttrs{axes, false});
  return y;
}

// The index of the result that element `index` belongs to.
std::size_t result_index(const Shape& shape, const Axes& axes, std::int64_t index) {
  std::int64_t result = 0;
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (!contains(axes, axis)) {
      result += index % shape[axis] * stride;
      stride *= shape[axis];
    }
    index /= shape[axis];
  }
  return static_cast<std::size_t>(result);
}

template <class T>
void check(const Shape& shape, const Axes& axes) {
  const std::vector<T> x = values<T>(shape.numel());
  const std::size_t count = static_cast<std::size_t>(result_shape(shape, axes).numel());
  std::vector<double> sums(count, 0), magnitudes(count, 0);
  std::vector<T> largest(count, std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                                            : std::numeric_limits<T>::lowest());
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    const std::size_t at = result_index(shape, axes, i);
    const T value = x[static_cast<std::size_t>(i)];
    sums[at] += static_cast<double>(value);
    magnitudes[at] += std::abs(static_cast<double>(value));
    largest[at] = std::max(largest[at], value);
  }
  EXPECT_EQ(reduce("max", x, shape, axes), largest) << shape << " over " << axes;
  if constexpr (sizeof(T) >= 4) {
    const std::vector<T> y = reduce("sum", x, shape, axes);
    const double epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_NEAR(static_cast<double>(y[i]), sums[i], 2 * epsilon * magnitudes[i])
          << shape << " over " << axes << " at " << i;
    }
  }
}

class Reduce : public ::testing::TestWithParam<std::int64_t> {
 protected:
  Reduce() : use_(GetParam()) {}
  testing::UseTarget use_;
};

TEST_P(Reduce, EverySetOfAxes) {
  for (const Shape& shape :
       {Shape{}, Shape{1}, Shape{7}, Shape{3, 20}, Shape{20, 3}, Shape{5, 4, 33},
        Shape{2, 1, 17, 1}, Shape{3, 2, 5, 4}, Shape{2, 2, 2, 2, 2, 2, 2, 3}}) {
    for (int set = 0; set < 1 << shape.rank(); ++set) {
      Axes axes;
      for (int axis = 0; axis < shape.rank(); ++axis) {
        if ((set >> axis & 1) != 0) axes.push_back(axis);
      }
      check<float>(shape, axes);
      check<double>(shape, axes);
      check<std::int32_t>(shape, axes);
      check<std::int64_t>(shape, axes);
      check<std::int8_t>(shape, axes);
    }
  }
}

TEST_P(Reduce, LengthsAroundEveryLoop) {
  for (const std::int64_t n :
       {8, 15, 16, 17, 31, 33, 64, 127, 128, 129, 255, 257, 4095, 4096, 4097, 9000}) {
    check<float>({n}, {0});
    check<double>({n}, {0});
    check<float>({3, n}, {1});
    check<float>({n, 3}, {0});
    check<double>({9, n}, {0});
    check<float>({70, n}, {0});
    check<std::int32_t>({5, n}, {0});
  }
}

TEST_P(Reduce, LargeTensorsInPieces) {
  check<float>({400'000}, {0});
  check<double>({3, 200'000}, {1});
  check<float>({40'000, 5}, {0});
  check<float>({300, 1500}, {0});
  check<float>({2, 3000, 40}, {1});
  check<float>({100, 3, 1000}, {0, 2});
  check<float>({70, 4000}, {1});
  check<std::int64_t>({200'000}, {0});
}

TEST_P(Reduce, SumsOfManyFloatsLoseNothing) {
  const std::vector<float> x(1 << 22, 0.1f);
  const double expected = static_cast<double>(0.1f) * static_cast<double>(x.size());
  EXPECT_NEAR(reduce("sum", x, {1 << 22}, {0})[0] / expected, 1, 1e-7);
  EXPECT_NEAR(reduce("sum", x, {1 << 20, 4}, {0})[3] / expected * 4, 1, 1e-7);
}

TEST_P(Reduce, NaNIsTheMaximum) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::int64_t n : {1, 5, 16, 40, 300}) {
    for (std::int64_t at = 0; at < n; ++at) {
      std::vector<float> x = values<float>(n);
      x[static_cast<std::size_t>(at)] = nan;
      EXPECT_TRUE(std::isnan(reduce("max", x, {n}, {0})[0])) << at << " of " << n;
      EXPECT_TRUE(std::isnan(reduce("max", x, {n, 1}, {0})[0]));
      std::vector<float> columns(static_cast<std::size_t>(2 * n), 0.0f);
      columns[static_cast<std::size_t>(2 * at)] = nan;
      const std::vector<float> y = reduce("max", columns, {n, 2}, {0});
      EXPECT_TRUE(std::isnan(y[0]));
      EXPECT_EQ(y[1], 0.0f);
    }
  }
}

TEST_P(Reduce, OfNothing) {
  const std::vector<float> none;
  EXPECT_EQ(reduce("sum", none, {0, 2}, {0}), (std::vector<float>{0, 0}));
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(reduce("max", none, {2, 0}, {1}), (std::vector<float>{-infinity, -infinity}));
  EXPECT_EQ(reduce("max", std::vector<std::uint8_t>(), {0}, {0}), std::vector<std::uint8_t>{0});
  EXPECT_EQ(reduce("max", std::vector<std::int32_t>(), {0}, {0}),
            std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::lowest()});
  EXPECT_TRUE(reduce("sum", none, {0, 2}, {1}).empty());
}

TEST_P(Reduce, IntegerSumsWrap) {
  const std::int32_t max = std::numeric_limits<std::int32_t>::max();
  EXPECT_EQ(reduce<std::int32_t>("sum", {max, 1}, {2}, {0})[0],
            std::numeric_limits<std::int32_t>::min());
}

TEST_P(Reduce, BitsDoNotDependOnThreads) {
  struct Case {
    Shape shape;
    Axes axes;
  };
  for (const Case& c :
       {Case{{1'000'003}, {0}}, Case{{3, 300'001}, {1}}, Case{{70'001, 7}, {0}},
        Case{{500, 1300}, {0}}, Case{{90, 4000}, {1}}, Case{{30, 50, 100}, {0, 2}}}) {
    const std::vector<float> x = values<float>(c.shape.numel());
    const testing::UseThreads one(1);
    const std::vector<float> alone = reduce("sum", x, c.shape, c.axes);
    for (const int threads : {2, 3}) {
      const testing::UseThreads several(threads);
      EXPECT_EQ(alone, reduce("sum", x, c.shape, c.axes)) << c.shape << " over " << c.axes;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Reduce, ::testing::ValuesIn(testing::targets()),
                         [](const auto& tested) {
                           return std::string(hwy::TargetName(tested.param));
                         });

}  // namespace
}  // namespace tenure::cpu
