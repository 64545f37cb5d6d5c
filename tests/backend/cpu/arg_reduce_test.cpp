#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "ops/attrs.h"
#include "scratch_call.h"

namespace tenure::cpu {
namespace {

using testing::Operand;
using Indices = std::vector<std::int32_t>;

template <class T>
Indices arg_max(const std::vector<T>& x, const Shape& shape, int axis) {
  Shape out;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i != axis) out.push_back(shape[i]);
  }
  Indices y(static_cast<std::size_t>(out.numel()), -1);
  testing::call(testing::find_row(arg_reduce_kernels(), "arg_max", dtype_of<T>),
                {Operand(x.data(), shape)}, Operand(y.data(), out), ops::AxisAttrs{axis});
  return y;
}

TEST(ArgMax, AlongEveryAxis) {
  const std::vector<float> x = {1, 5, 2, 7, 0, 7};
  EXPECT_EQ(arg_max(x, {2, 3}, 1), (Indices{1, 0}));
  EXPECT_EQ(arg_max(x, {2, 3}, 0), (Indices{1, 0, 1}));
  EXPECT_EQ(arg_max(x, {6}, 0), Indices{3});
  EXPECT_EQ(arg_max(x, {1, 6}, 0), (Indices{0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(arg_max(x, {3, 1, 2}, 0), (Indices{1, 1}));
}

TEST(ArgMax, TheFirstOfEquals) {
  EXPECT_EQ(arg_max<std::int32_t>({3, 9, 9, 1}, {4}, 0), Indices{1});
  EXPECT_EQ(arg_max<float>({0.0f, -0.0f, 0.0f}, {3}, 0), Indices{0});
  EXPECT_EQ(arg_max<std::uint8_t>({200, 3, 200, 255}, {2, 2}, 0), (Indices{0, 1}));
  EXPECT_EQ(arg_max<std::int8_t>({-128, -128}, {2}, 0), Indices{0});
}

TEST(ArgMax, NaNOnlyWhereItComesFirst) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(arg_max<double>({1, nan, 2}, {3}, 0), Indices{2});
  EXPECT_EQ(arg_max<double>({nan, 1, 2}, {3}, 0), Indices{0});
  EXPECT_EQ(arg_max<double>({1, nan, nan, 5}, {2, 2}, 0), (Indices{0, 0}));
  EXPECT_EQ(arg_max<double>({1, 2, nan, 5}, {2, 2}, 0), (Indices{0, 1}));
}

TEST(ArgMax, MatchesAPlainSearchInLargeTensors) {
  const Shape shape{7, 301, 300};
  std::vector<std::int64_t> x(static_cast<std::size_t>(shape.numel()));
  std::uint64_t state = 1;
  for (std::int64_t& value : x) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = static_cast<std::int64_t>(state >> 50);
  }
  for (int axis = 0; axis < 3; ++axis) {
    const Indices y = arg_max(x, shape, axis);
    const std::int64_t inner = axis == 2 ? 1 : axis == 1 ? 300 : 301 * 300;
    for (std::size_t o = 0; o < y.size(); ++o) {
      const auto at = static_cast<std::int64_t>(o);
      const std::int64_t* first = x.data() + at / inner * inner * shape[axis] + at % inner;
      std::int32_t best = 0;
      for (std::int32_t i = 1; i < shape[axis]; ++i) {
        if (first[i * inner] > first[best * inner]) best = i;
      }
      ASSERT_EQ(y[o], best) << "axis " << axis << ", result " << o;
    }
  }
}

TEST(ArgMax, OfNoRows) { EXPECT_TRUE(arg_max<float>({}, {0, 3}, 1).empty()); }

}  // namespace
}  // namespace tenure::cpu
