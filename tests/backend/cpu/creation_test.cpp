#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "kernel_call.h"
#include "ops/attrs.h"

namespace tenure::cpu {
namespace {

using testing::Operand;

template <class T, class Attrs>
std::vector<T> create(const char* op, const Attrs& attrs, const Shape& shape) {
  std::vector<T> dst(static_cast<std::size_t>(shape.numel()) + 1, T{});
  testing::call(testing::find(creation_kernels(), op, dtype_of<T>), {}, Operand(dst.data(), shape),
                ops::AttrsRef(&attrs, nullptr));
  EXPECT_EQ(dst.back(), T{}) << "written past the end";
  dst.pop_back();
  return dst;
}

template <class T>
std::vector<T> fill(Scalar value, std::int64_t count) {
  return create<T>("fill", ops::FillAttrs{{count}, dtype_of<T>, value}, {count});
}

template <class T>
std::vector<T> arange(Scalar start, Scalar step, std::int64_t count) {
  return create<T>("arange", ops::RangeAttrs{start, step, count, dtype_of<T>}, {count});
}

template <class T>
std::vector<T> linspace(double start, double stop, std::int64_t count) {
  return create<T>("linspace", ops::LinspaceAttrs{start, stop, count, dtype_of<T>}, {count});
}

TEST(Creation, FillConvertsTheScalar) {
  EXPECT_EQ(fill<float>(1.5, 70'000), std::vector<float>(70'000, 1.5F));
  EXPECT_EQ(fill<double>(0.1, 2), std::vector<double>(2, 0.1));
  EXPECT_EQ(fill<std::int64_t>((std::int64_t{1} << 53) + 1, 1)[0], (std::int64_t{1} << 53) + 1);
  EXPECT_EQ(fill<std::uint8_t>(-1, 3), std::vector<std::uint8_t>(3, 255));
  EXPECT_EQ(fill<std::int8_t>(1000.0, 3), std::vector<std::int8_t>(3, 127));
  EXPECT_EQ(fill<Float16>(0.1, 2), std::vector<Float16>(2, Float16(0.1F)));
  EXPECT_EQ(fill<BFloat16>(3, 2), std::vector<BFloat16>(2, BFloat16(3.0F)));
  EXPECT_TRUE(fill<float>(1, 0).empty());
}

TEST(Creation, ArangeIsExactForIntegers) {
  EXPECT_EQ(arange<std::int32_t>(2, 3, 4), (std::vector<std::int32_t>{2, 5, 8, 11}));
  EXPECT_EQ(arange<std::int64_t>(std::int64_t{1} << 60, -1, 2),
            (std::vector<std::int64_t>{std::int64_t{1} << 60, (std::int64_t{1} << 60) - 1}));
  EXPECT_EQ(arange<std::int64_t>(std::numeric_limits<std::int64_t>::max(), 1, 2)[1],
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(arange<float>(0, 1, 3), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(arange<float>(1, -0.5, 4), (std::vector<float>{1, 0.5, 0, -0.5}));
  EXPECT_EQ(arange<double>(0, 0.1, 4)[3], 3 * 0.1);
  EXPECT_EQ(arange<std::int32_t>(0, 0.5, 4), (std::vector<std::int32_t>{0, 0, 1, 1}));
}

TEST(Creation, LinspaceHasBothEnds) {
  EXPECT_EQ(linspace<float>(0, 1, 5), (std::vector<float>{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(linspace<double>(3, 7, 1), std::vector<double>{3});
  EXPECT_TRUE(linspace<double>(3, 7, 0).empty());
  for (std::int64_t count = 2; count < 100; ++count) {
    EXPECT_EQ(linspace<double>(0.1, 0.7, count).front(), 0.1);
    EXPECT_EQ(linspace<double>(0.1, 0.7, count).back(), 0.7);
  }
}

TEST(Creation, EyeOfAnyShape) {
  const auto eye = [](std::int64_t rows, std::int64_t columns) {
    return create<float>("eye", ops::EyeAttrs{rows, columns, DType::float32}, {rows, columns});
  };
  const std::pair<int, int> sizes[] = {{3, 3}, {2, 5}, {5, 2}, {0, 4}, {4, 0}, {300, 200}};
  for (const auto& [rows, columns] : sizes) {
    const std::vector<float> values = eye(rows, columns);
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < columns; ++j) {
        ASSERT_EQ(values[static_cast<std::size_t>(i * columns + j)], i == j ? 1.0F : 0.0F);
      }
    }
  }
}

}  // namespace
}  // namespace tenure::cpu
