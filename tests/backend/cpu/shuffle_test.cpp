#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "ops/attrs.h"
#include "scratch_call.h"

namespace tenure::cpu {
namespace {

using testing::Operand;

template <class T>
std::vector<T> shuffle(const std::vector<T>& x, const Shape& shape, ops::ShuffleAttrs attrs) {
  std::vector<T> y(x.size());
  testing::call(testing::find_row(shuffle_kernels(), "shuffle", dtype_of<T>),
                {Operand(x.data(), shape)}, Operand(y.data(), shape), attrs);
  return y;
}

TEST(Shuffle, IsAPermutationThatItsInverseUndoes) {
  std::vector<std::int32_t> x(1000);
  std::iota(x.begin(), x.end(), 0);
  std::vector<std::int32_t> y = shuffle(x, {1000}, {1, 2, false});
  EXPECT_NE(y, x);
  EXPECT_EQ(shuffle(y, {1000}, {1, 2, true}), x);
  EXPECT_NE(shuffle(x, {1000}, {1, 3, false}), y);
  std::sort(y.begin(), y.end());
  EXPECT_EQ(y, x);
}

TEST(Shuffle, MovesWholeRows) {
  std::vector<std::uint8_t> x(50 * 3);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<std::uint8_t>(i / 3);
  const std::vector<std::uint8_t> y = shuffle(x, {50, 3}, {9, 0, false});
  EXPECT_NE(y, x);
  for (std::size_t i = 0; i < y.size(); i += 3) {
    EXPECT_EQ(y[i], y[i + 1]);
    EXPECT_EQ(y[i], y[i + 2]);
  }
}

TEST(Shuffle, EveryOrderIsAsLikely) {
  std::vector<int> seen(6, 0);
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const auto y = shuffle<std::int64_t>({0, 1, 2}, {3}, {seed, 0, false});
    ++seen[static_cast<std::size_t>(y[0] * 2 + (y[1] > y[2] ? 1 : 0))];
  }
  for (const int count : seen) EXPECT_NEAR(count, 1000, 150);
}

TEST(Shuffle, NothingAndSingleRows) {
  EXPECT_TRUE(shuffle<float>({}, {0, 3}, {}).empty());
  EXPECT_TRUE(shuffle<float>({}, {3, 0}, {}).empty());
  EXPECT_EQ(shuffle<float>({5, 6}, {1, 2}, {}), (std::vector<float>{5, 6}));
}

}  // namespace
}  // namespace tenure::cpu
