#include <gtest/gtest.h>

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
std::vector<T> values(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<T> result(static_cast<std::size_t>(count));
  for (T& value : result) {
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(engine() % 201) - 100;
    } else {
      value = static_cast<T>(std::uniform_real_distribution<double>(-1, 1)(engine));
    }
  }
  return result;
}

// A matrix stack as the kernel sees it: the storage may hold more than the view shows.
template <class T>
struct Matrices {
  std::vector<T> storage;
  Shape shape;
  Strides strides;

  Operand operand() const { return Operand(storage.data(), shape, strides); }
  T at(std::int64_t item, std::int64_t row, std::int64_t column, const Shape& out) const {
    std::int64_t offset = row * strides[-2] + column * strides[-1];
    for (int axis = shape.rank() - 3, o = out.rank() - 3; axis >= 0; --axis, --o) {
      if (shape[axis] != 1) offset += item % out[o] * strides[axis];
      item /= out[o];
    }
    return storage[static_cast<std::size_t>(offset)];
  }
};

template <class T>
Matrices<T> contiguous(const Shape& shape, unsigned seed) {
  return {values<T>(shape.numel(), seed), shape, contiguous_strides(shape)};
}

template <class T>
std::vector<T> multiply(const Matrices<T>& a, const Matrices<T>& b, const Shape& out,
                        ops::MatmulAttrs attrs) {
  std::vector<T> c(static_cast<std::size_t>(out.numel()), T{77});
  testing::call(testing::find_row(matmul_kernels(), "matmul", dtype_of<T>),
                {a.operand(), b.operand()}, Operand(c.data(), out), attrs);
  return c;
}

template <class T>
void check(const Matrices<T>& a, const Matrices<T>& b, const Shape& out,
           ops::MatmulAttrs attrs = {}) {
  const std::vector<T> c = multiply(a, b, out, attrs);
  const std::int64_t m = out[-2], n = out[-1], k = a.shape[attrs.transpose_a ? -2 : -1];
  const double roundings = std::sqrt(static_cast<double>(k)) + 2;
  const auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    const std::int64_t item = i / (m * n), row = i / n % m, column = i % n;
    double expected = 0, magnitude = 0;
    for (std::int64_t p = 0; p < k; ++p) {
      const T left = attrs.transpose_a ? a.at(item, p, row, out) : a.at(item, row, p, out);
      const T right = attrs.transpose_b ? b.at(item, column, p, out) : b.at(item, p, column, out);
      expected += static_cast<double>(left) * static_cast<double>(right);
      magnitude += std::abs(static_cast<double>(left) * static_cast<double>(right));
    }
    ASSERT_NEAR(static_cast<double>(c[static_cast<std::size_t>(i)]), expected,
                roundings * epsilon * magnitude)
        << a.shape << " x " << b.shape << " at " << item << ", " << row << ", " << column
        << (attrs.transpose_a ? " transpose_a" : "") << (attrs.transpose_b ? " transpose_b" : "");
  }
}

template <class T>
void check_sizes(std::int64_t m, std::int64_t k, std::int64_t n) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      check<T>(contiguous<T>(transpose_a ? Shape{k, m} : Shape{m, k}, 1),
               contiguous<T>(transpose_b ? Shape{n, k} : Shape{k, n}, 2), {m, n},
               {transpose_a, transpose_b});
    }
  }
}

class Matmul : public ::testing::TestWithParam<std::int64_t> {
 protected:
  Matmul() : use_(GetParam()) {}
  testing::UseTarget use_;
};

TEST_P(Matmul, AgreesWithDoubleForSmallSizes) {
  for (const std::int64_t m : {1, 2, 3, 4, 5, 7, 13, 14, 15, 29}) {
    for (const std::int64_t n : {1, 2, 3, 8, 15, 16, 17, 31, 32, 33, 70}) {
      for (const std::int64_t k : {1, 2, 5, 16, 17, 67}) {
        check_sizes<float>(m, k, n);
        check_sizes<double>(m, k, n);
      }
    }
  }
}

TEST_P(Matmul, AgreesWithDoubleAcrossBlocks) {
  check_sizes<float>(64, 64, 64);
  check_sizes<float>(20, 1030, 300);
  check_sizes<float>(40, 513, 260);
  check_sizes<float>(3, 1300, 530);
  check_sizes<float>(70, 64, 517);
  check_sizes<double>(37, 600, 270);
}

TEST_P(Matmul, RowsThatShareCacheSetsAreRight) {
  check_sizes<float>(30, 1024, 140);  // A's rows lie 4096 bytes apart
  check_sizes<double>(20, 512, 80);
}

TEST_P(Matmul, VectorsOfAnyStride) {
  const auto wide = values<float>(40 * 50, 3);
  // A column and a row of larger matrices.
  const Matrices<float> column{wide, {40, 1}, {50, 1}};
  const Matrices<float> row{wide, {1, 40}, {1, 50}};
  const Matrices<float> dense{wide, {40, 50}, {50, 1}};
  const Matrices<float> transposed{wide, {50, 40}, {1, 50}};
  check<float>(row, column, {1, 1});
  check<float>(row, dense, {1, 50});
  check<float>(transposed, column, {50, 1});
  check<float>(column, {wide, {1, 40}, {1, 50}}, {40, 40});
  check<float>(column, {wide, {1, 40}, {7, 1}}, {40, 40});
  check<float>({wide, {40, 1}, {1, 9}}, {wide, {1, 1}, {1, 1}}, {40, 1});
}

TEST_P(Matmul, ViewsWithALeadingDimension) {
  const auto storage = values<float>(90 * 120, 4);
  for (const std::int64_t m : {1, 3, 30, 64}) {
    const std::int64_t k = 70, n = 50;
    check<float>({storage, {m, k}, {120, 1}}, {storage, {k, n}, {120, 1}}, {m, n});
    check<float>({storage, {m, k}, {1, 120}}, {storage, {k, n}, {1, 120}}, {m, n});
    check<float>({storage, {k, m}, {1, 120}}, {storage, {n, k}, {120, 1}}, {m, n}, {true, true});
  }
}

TEST_P(Matmul, BatchesBroadcast) {
  check<float>(contiguous<float>({3, 2, 5, 7}, 1), contiguous<float>({3, 2, 7, 6}, 2),
               {3, 2, 5, 6});
  check<float>(contiguous<float>({3, 1, 5, 7}, 1), contiguous<float>({2, 7, 6}, 2), {3, 2, 5, 6});
  check<float>(contiguous<float>({5, 7}, 1), contiguous<float>({4, 7, 6}, 2), {4, 5, 6});
  check<float>(contiguous<float>({4, 5, 7}, 1), contiguous<float>({7, 6}, 2), {4, 5, 6});
  check<float>(contiguous<float>({4, 1, 7}, 1), contiguous<float>({1, 1, 7, 6}, 2), {1, 4, 1, 6});
  check<float>(contiguous<float>({4, 7, 5}, 1), contiguous<float>({7, 6}, 2), {4, 5, 6},
               {true, false});
  check<float>(contiguous<float>({40, 20, 30}, 1), contiguous<float>({40, 30, 25}, 2),
               {40, 20, 25});
  // An expanded batch, one with gaps, and one whose rows continue.
  const auto storage = values<float>(4000, 5);
  check<float>({storage, {4, 5, 7}, {0, 7, 1}}, contiguous<float>({4, 7, 6}, 2), {4, 5, 6});
  check<float>({storage, {4, 5, 7}, {100, 7, 1}}, contiguous<float>({7, 6}, 2), {4, 5, 6});
  check<float>({storage, {4, 5, 7}, {50, 10, 1}}, contiguous<float>({7, 6}, 2), {4, 5, 6});
  check<float>({storage, {2, 3, 1, 7}, {300, 100, 1, 1}}, contiguous<float>({7, 6}, 2),
               {2, 3, 1, 6});
}

TEST_P(Matmul, NothingToAddUpGivesZeros) {
  check<float>(contiguous<float>({3, 0}, 1), contiguous<float>({0, 4}, 2), {3, 4});
  check<double>(contiguous<double>({2, 3, 0}, 1), contiguous<double>({0, 1}, 2), {2, 3, 1});
  check<std::int32_t>(contiguous<std::int32_t>({3, 0}, 1), contiguous<std::int32_t>({0, 4}, 2),
                      {3, 4});
}

TEST_P(Matmul, EmptyResultsAreLeftAlone) {
  for (const Shape& out : {Shape{0, 4}, Shape{3, 0}, Shape{0, 3, 4}}) {
    const std::int64_t m = out[-2], n = out[-1];
    Shape a = out;
    a[-2] = m;
    a[-1] = 5;
    EXPECT_TRUE(multiply(contiguous<float>(a, 1), contiguous<float>({5, n}, 2), out, {}).empty());
    EXPECT_TRUE(
        multiply(contiguous<std::int64_t>(a, 1), contiguous<std::int64_t>({5, n}, 2), out, {})
            .empty());
  }
}

TEST_P(Matmul, IntegersAreExact) {
  for (const std::int64_t m : {1, 3, 17}) {
    for (const std::int64_t n : {1, 5, 33}) {
      check_sizes<std::int32_t>(m, 19, n);
      check_sizes<std::int64_t>(m, 19, n);
    }
  }
  check<std::int32_t>(contiguous<std::int32_t>({70, 3, 40}, 1),
                      contiguous<std::int32_t>({70, 40, 20}, 2), {70, 3, 20});
}

TEST_P(Matmul, IntegersWrap) {
  const std::int32_t large = std::numeric_limits<std::int32_t>::max();
  const Matrices<std::int32_t> a{{large, large}, {1, 2}, {2, 1}};
  const Matrices<std::int32_t> b{{2, 2}, {2, 1}, {1, 1}};
  EXPECT_EQ(multiply(a, b, {1, 1}, {}), std::vector<std::int32_t>{-4});
  const std::int64_t larger = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(multiply<std::int64_t>({{larger}, {1, 1}, {1, 1}}, {{3}, {1, 1}, {1, 1}}, {1, 1}, {}),
            std::vector<std::int64_t>{larger - 2});
}

TEST_P(Matmul, BitsDoNotDependOnThreads) {
  struct Case {
    std::int64_t m, k, n;
    ops::MatmulAttrs attrs;
  };
  const Case cases[] = {{6, 700, 300, {false, true}}, {50, 600, 100, {false, true}},
                        {100, 550, 90, {}},           {9, 1000, 64, {true, false}},
                        {1, 900, 200, {false, true}}, {200, 300, 1, {}},
                        {33, 520, 40, {true, true}}};
  for (const Case& c : cases) {
    const auto a = contiguous<float>(c.attrs.transpose_a ? Shape{c.k, c.m} : Shape{c.m, c.k}, 1);
    const auto b = contiguous<float>(c.attrs.transpose_b ? Shape{c.n, c.k} : Shape{c.k, c.n}, 2);
    const testing::UseThreads one(1);
    const std::vector<float> alone = multiply(a, b, {c.m, c.n}, c.attrs);
    const testing::UseThreads two(2);
    EXPECT_EQ(alone, multiply(a, b, {c.m, c.n}, c.attrs)) << c.m << ", " << c.k << ", " << c.n;
  }
}

TEST_P(Matmul, ARowDoesNotDependOnTheOthers) {
  const auto b = contiguous<float>({600, 100}, 2);
  const auto a = contiguous<float>({61, 600}, 1);
  const std::vector<float> all = multiply(a, b, {61, 100}, {});
  for (const std::int64_t row : {0, 13, 14, 60}) {
    const std::vector<float> one(a.storage.begin() + row * 600,
                                 a.storage.begin() + (row + 1) * 600);
    const std::vector<float> expected(all.begin() + row * 100, all.begin() + (row + 1) * 100);
    EXPECT_EQ(multiply<float>({one, {1, 600}, {600, 1}}, b, {1, 100}, {}), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Matmul, ::testing::ValuesIn(testing::targets()),
                         [](const auto& tested) {
                           return std::string(hwy::TargetName(tested.param));
                         });

}  // namespace
}  // namespace tenure::cpu
