#include "backend/cpu/copy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "ops/attrs.h"
#include "scratch_call.h"

namespace tenure::cpu {
namespace {

using testing::Operand;

// Numbers each element of a source that holds `count`, and copies a view of it.
template <class T>
void check(const Shape& shape, const Strides& strides, std::int64_t count, std::int64_t first = 0) {
  std::vector<T> src(static_cast<std::size_t>(count));
  std::iota(src.begin(), src.end(), T{1});
  std::vector<T> dst(static_cast<std::size_t>(shape.numel()) + 1, T{0});
  testing::call(testing::find_row(copy_kernels(), "copy", dtype_of<T>),
                {Operand(src.data() + first, shape, strides)}, Operand(dst.data(), shape),
                ops::CastAttrs{});
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    std::int64_t rest = i, offset = first;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      offset += rest % shape[axis] * strides[axis];
      rest /= shape[axis];
    }
    ASSERT_EQ(dst[static_cast<std::size_t>(i)], src[static_cast<std::size_t>(offset)])
        << shape << " " << strides << " at " << i;
  }
  EXPECT_EQ(dst.back(), T{0});
}

void check_sizes(const Shape& shape, const Strides& strides, std::int64_t count,
                 std::int64_t first = 0) {
  check<std::uint8_t>(shape, strides, count, first);
  check<std::int32_t>(shape, strides, count, first);
  check<std::int64_t>(shape, strides, count, first);
}

TEST(Copy, ScalarsAndContiguous) {
  check_sizes({}, {}, 1);
  check_sizes({1, 1}, {5, 9}, 1);
  check_sizes({100}, {1}, 100);
  check_sizes({300, 700}, {700, 1}, 210'000);
}

TEST(Copy, Transposes) {
  for (const std::int64_t rows : {1, 2, 15, 16, 17, 63, 64, 65, 130, 300}) {
    for (const std::int64_t columns : {1, 3, 16, 33, 64, 100, 257}) {
      check_sizes({rows, columns}, {1, rows}, rows * columns);
    }
  }
  check_sizes({5, 40, 30}, {1200, 1, 40}, 6000);
  check_sizes({40, 5, 30}, {1, 1200, 40}, 6000);
  check_sizes({40, 30, 5}, {1, 40, 1200}, 6000);
}

TEST(Copy, BroadcastsAndReverses) {
  check_sizes({40, 30}, {0, 1}, 30);
  check_sizes({40, 30}, {1, 0}, 40);
  check_sizes({200, 500}, {0, 0}, 1);
  check_sizes({3, 40, 5}, {0, 1, 0}, 40);
  check_sizes({100}, {-1}, 100, 99);
  check_sizes({20, 30}, {-30, -1}, 600, 599);
  check_sizes({20, 30}, {-30, 1}, 600, 570);
  check_sizes({20, 30}, {1, -20}, 600, 580);
}

TEST(Copy, StepsAndGaps) {
  check_sizes({50}, {3}, 150);
  check_sizes({20, 10}, {30, 1}, 600);
  check_sizes({20, 10}, {30, 2}, 600);
  check_sizes({4, 5, 6}, {100, 20, 3}, 500);
  check_sizes({2, 1, 2, 1, 2, 2, 2, 2, 2}, {1, 7, 2, 7, 4, 8, 16, 32, 64}, 128);
  check_sizes({100'000}, {2}, 200'000);
}

TEST(Copy, NothingOfAnEmptyTensor) {
  check_sizes({0}, {1}, 0);
  check_sizes({4, 0, 3}, {0, 3, 1}, 0);
}

TEST(Copy, EveryDType) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    std::vector<std::byte> src(6 * 8), dst(6 * 8);
    for (std::size_t b = 0; b < src.size(); ++b) src[b] = static_cast<std::byte>(b);
    const Shape shape{3, 2};
    const Strides transposed{1, 3}, strides{2, 1};
    const ops::KernelView in{src.data(), &shape, &transposed, dtype};
    const ops::KernelView out{dst.data(), &shape, &strides, dtype};
    testing::find_row(copy_kernels(), "copy", dtype).run({{&in, 1}, {&out, 1}, {}, nullptr});
    const std::size_t size = size_of(dtype);
    for (std::size_t e = 0; e < 6; ++e) {
      const std::size_t from = e / 2 + e % 2 * 3;
      EXPECT_EQ(std::memcmp(dst.data() + e * size, src.data() + from * size, size), 0) << dtype;
    }
  }
}

TEST(Copy, IntoAStridedDestination) {
  std::vector<std::int32_t> src(12), dst(100, -1);
  std::iota(src.begin(), src.end(), 0);
  copy_strided(reinterpret_cast<std::byte*>(dst.data() + 99), {-20, -3},
               reinterpret_cast<const std::byte*>(src.data()), {4, 1}, {3, 4}, 4);
  for (std::int32_t i = 0; i < 100; ++i) {
    const std::int32_t back = 99 - i, row = back / 20, column = back % 20 / 3;
    const bool written = row < 3 && back % 20 % 3 == 0 && column < 4;
    EXPECT_EQ(dst[static_cast<std::size_t>(i)], written ? row * 4 + column : -1) << i;
  }
}

std::vector<float> unslice(const std::vector<float>& x, const Shape& shape,
                           const ops::UnsliceAttrs& attrs) {
  std::vector<float> y(static_cast<std::size_t>(attrs.shape.numel()), 9);
  testing::call(testing::find_row(copy_kernels(), "unslice", DType::float32),
                {Operand(x.data(), shape)}, Operand(y.data(), attrs.shape), attrs);
  return y;
}

TEST(Unslice, WritesIntoZeros) {
  EXPECT_EQ(unslice({1, 2}, {2}, {{5}, {1}, {2}}), (std::vector<float>{0, 1, 0, 2, 0}));
  EXPECT_EQ(unslice({1, 2}, {2}, {{4}, {3}, {-2}}), (std::vector<float>{0, 2, 0, 1}));
  EXPECT_EQ(unslice({1, 2, 3, 4}, {2, 2}, {{3, 3}, {1, 0}, {1, 2}}),
            (std::vector<float>{0, 0, 0, 1, 0, 2, 3, 0, 4}));
  EXPECT_EQ(unslice({7}, {}, {{}, {}, {}}), std::vector<float>{7});
}

TEST(Unslice, NothingLeavesZeros) {
  EXPECT_EQ(unslice({}, {0}, {{3}, {1}, {1}}), (std::vector<float>{0, 0, 0}));
  EXPECT_TRUE(unslice({}, {0}, {{0}, {0}, {1}}).empty());
}

}  // namespace
}  // namespace tenure::cpu
