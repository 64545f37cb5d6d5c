#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "ops/attrs.h"
#include "scratch_call.h"

namespace tenure::cpu {
namespace {

using testing::Operand;

template <class T>
std::vector<T> concat(const std::vector<Operand>& in, const Shape& out, int axis) {
  std::vector<T> y(static_cast<std::size_t>(out.numel()));
  testing::call(testing::find_row(concat_kernels(), "concat", dtype_of<T>), in,
                Operand(y.data(), out), ops::AxisAttrs{axis});
  return y;
}

TEST(Concat, AlongEveryAxis) {
  const float a[] = {1, 2, 3, 4}, b[] = {5, 6};
  EXPECT_EQ(concat<float>({Operand(a, {2, 2}), Operand(b, {1, 2})}, {3, 2}, 0),
            (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(concat<float>({Operand(a, {2, 2}), Operand(b, {2, 1})}, {2, 3}, 1),
            (std::vector<float>{1, 2, 5, 3, 4, 6}));
  EXPECT_EQ(concat<float>({Operand(b, {1, 2, 1}), Operand(a, {1, 2, 2})}, {1, 2, 3}, 2),
            (std::vector<float>{5, 1, 2, 6, 3, 4}));
}

TEST(Concat, EmptyPartsAddNothing) {
  const std::int64_t a[] = {1, 2};
  EXPECT_EQ(concat<std::int64_t>({Operand(a, {0}), Operand(a, {2}), Operand(a, {0})}, {2}, 0),
            (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(concat<std::int64_t>({Operand(a, {0, 1}), Operand(a, {0, 2})}, {0, 3}, 1).empty());
}

TEST(Concat, ManyLargeParts) {
  const std::vector<std::uint8_t> one(300 * 200, 1), two(300 * 70, 2), three(300 * 1, 3);
  const auto y =
      concat<std::uint8_t>({Operand(one.data(), {300, 200}), Operand(two.data(), {300, 70}),
                            Operand(three.data(), {300, 1})},
                           {300, 271}, 1);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t column = i % 271;
    ASSERT_EQ(y[i], column < 200 ? 1 : column < 270 ? 2 : 3) << i;
  }
}

}  // namespace
}  // namespace tenure::cpu
