#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "backend/cpu/philox.h"
#include "ops/attrs.h"
#include "scratch_call.h"

namespace tenure::cpu {
namespace {

using testing::Operand;

TEST(PhiloxTest, PublishedAnswers) {
  EXPECT_EQ(Philox::encrypt({0, 0, 0, 0}, {0, 0}),
            (Philox::Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(Philox::encrypt({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Philox::Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      Philox::encrypt({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
      (Philox::Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxTest, BelowCoversItsRangeEvenly) {
  const Philox::Counter none{}, all{~0U, ~0U, ~0U, ~0U}, half{0, 0, 0, 0x80000000};
  EXPECT_EQ(below(10, none), 0U);
  EXPECT_EQ(below(10, all), 9U);
  EXPECT_EQ(below(10, half), 5U);
  EXPECT_EQ(below(~std::uint64_t{0}, all), ~std::uint64_t{0} - 1);
}

template <class T>
std::vector<T> draw(const char* op, std::int64_t count, Scalar a, Scalar b, std::uint64_t seed = 1,
                    std::uint64_t offset = 0) {
  std::vector<T> y(static_cast<std::size_t>(count));
  ops::RandomAttrs attrs;
  attrs.shape = {count};
  attrs.dtype = dtype_of<T>;
  attrs.a = a;
  attrs.b = b;
  attrs.seed = seed;
  attrs.offset = offset;
  testing::call(testing::find_row(random_kernels(), op, dtype_of<T>), {},
                Operand(y.data(), {count}), attrs);
  return y;
}

struct Moments {
  double mean = 0, variance = 0, least = 0, most = 0;
};

template <class T>
Moments moments(const std::vector<T>& x) {
  Moments result;
  const auto n = static_cast<double>(x.size());
  for (const T value : x) result.mean += static_cast<double>(value) / n;
  for (const T value : x) {
    const double distance = static_cast<double>(value) - result.mean;
    result.variance += distance * distance / n;
  }
  result.least = static_cast<double>(*std::min_element(x.begin(), x.end()));
  result.most = static_cast<double>(*std::max_element(x.begin(), x.end()));
  return result;
}

class Random : public ::testing::TestWithParam<std::int64_t> {
 protected:
  Random() : use_(GetParam()) {}
  testing::UseTarget use_;
};

constexpr std::int64_t kMany = 200'000;

template <class T>
void check_normal() {
  const std::vector<T> x = draw<T>("random_normal", kMany, 3, 2, 7);
  const Moments m = moments(x);
  EXPECT_NEAR(m.mean, 3, 0.02);
  EXPECT_NEAR(m.variance, 4, 0.06);
  // The share of values up to each bound, against the distribution function.
  for (const double bound : {-3.0, -1.0, 1.0, 3.0, 4.0, 6.0, 8.0}) {
    const auto share =
        static_cast<double>(std::count_if(x.begin(), x.end(), [&](T v) { return v <= bound; })) /
        kMany;
    EXPECT_NEAR(share, std::erfc(-(bound - 3) / 2 / std::sqrt(2.0)) / 2, 0.005) << bound;
  }
  double neighbours = 0;
  for (std::size_t i = 1; i < x.size(); ++i)
    neighbours += (x[i] - 3.0) * (x[i - 1] - 3.0) / 4 / kMany;
  EXPECT_NEAR(neighbours, 0, 0.01);
}

TEST_P(Random, NormalHasItsDistribution) {
  check_normal<float>();
  check_normal<double>();
}

TEST_P(Random, TruncatedNormalStaysWithinTwoDeviations) {
  for (const Moments& m : {moments(draw<float>("random_truncated_normal", kMany, 1, 0.5)),
                           moments(draw<double>("random_truncated_normal", kMany, 1, 0.5))}) {
    EXPECT_GE(m.least, 0);
    EXPECT_LT(m.least, 0.001);
    EXPECT_LE(m.most, 2);
    EXPECT_GT(m.most, 1.999);
    EXPECT_NEAR(m.mean, 1, 0.005);
    EXPECT_NEAR(m.variance, 0.25 * 0.77374, 0.004);
  }
}

template <class T>
void check_uniform() {
  const Moments m = moments(draw<T>("random_uniform", kMany, -1, 3));
  EXPECT_GE(m.least, -1);
  EXPECT_LT(m.least, -0.999);
  EXPECT_LT(m.most, 3);
  EXPECT_GT(m.most, 2.999);
  EXPECT_NEAR(m.mean, 1, 0.015);
  EXPECT_NEAR(m.variance, 16.0 / 12, 0.02);
  // So narrow that rounding alone would reach the upper end.
  const T high = std::nextafter(std::nextafter(T{1}, T{2}), T{2});
  for (const T value : draw<T>("random_uniform", 10'000, 1, static_cast<double>(high))) {
    EXPECT_GE(value, T{1});
    EXPECT_LT(value, high);
  }
  const double huge = static_cast<double>(std::numeric_limits<T>::max());
  for (const T value : draw<T>("random_uniform", 100, -huge, huge))
    EXPECT_TRUE(std::isfinite(value));
  for (const T value : draw<T>("random_uniform", 10, 2, 2)) EXPECT_EQ(value, T{2});
}

TEST_P(Random, UniformStaysBelowItsUpperEnd) {
  check_uniform<float>();
  check_uniform<double>();
}

template <class T>
void check_bernoulli() {
  EXPECT_NEAR(moments(draw<T>("random_bernoulli", kMany, 0.3, 0)).mean, 0.3, 0.006);
  EXPECT_EQ(moments(draw<T>("random_bernoulli", 1000, 0, 0)).most, 0);
  EXPECT_EQ(moments(draw<T>("random_bernoulli", 1000, 1, 0)).least, 1);
}

TEST_P(Random, BernoulliIsOneWithItsProbability) {
  check_bernoulli<float>();
  check_bernoulli<double>();
  check_bernoulli<std::int32_t>();
  check_bernoulli<std::uint8_t>();
}

template <class T>
void check_randint() {
  std::vector<int> seen(10, 0);
  for (const T value : draw<T>("random_randint", 20'000, -3, 7)) {
    ASSERT_GE(value, T(-3));
    ASSERT_LT(value, T(7));
    ++seen[static_cast<std::size_t>(static_cast<std::int64_t>(value) + 3)];
  }
  for (const int count : seen) EXPECT_NEAR(count, 2000, 220);
}

TEST_P(Random, RandintCoversItsRangeEvenly) {
  check_randint<std::int32_t>();
  check_randint<std::int64_t>();
  check_randint<std::int8_t>();
  check_randint<float>();
  const Moments bytes = moments(draw<std::uint8_t>("random_randint", kMany, 0, 256));
  EXPECT_EQ(bytes.least, 0);
  EXPECT_EQ(bytes.most, 255);
  EXPECT_NEAR(bytes.mean, 127.5, 0.7);
  const Moments wide =
      moments(draw<std::int64_t>("random_randint", kMany, std::numeric_limits<std::int64_t>::min(),
                                 std::numeric_limits<std::int64_t>::max()));
  EXPECT_LT(wide.least, -0x1.ff8p62);
  EXPECT_GT(wide.most, 0x1.ff8p62);
  EXPECT_NEAR(wide.mean / 0x1p63, 0, 0.006);
}

TEST_P(Random, WordsOfTheDocumentedBlocks) {
  // The counters pass 2^32 on the way.
  const std::uint64_t seed = 0x123456789abcdef0, offset = 0xfffffff0;
  const std::vector<float> y = draw<float>("random_uniform", 300, 0, 1, seed, offset);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::uint32_t word = Philox::block(seed, offset + i / 4)[i % 4];
    ASSERT_EQ(y[i], static_cast<float>(word >> 8) * 0x1p-24f) << i;
  }
  const std::vector<double> z = draw<double>("random_uniform", 100, 0, 1, seed, offset);
  for (std::size_t i = 0; i < z.size(); ++i) {
    const Philox::Counter block = Philox::block(seed, offset + i);
    const std::uint64_t bits = std::uint64_t{block[1]} << 32 | block[0];
    ASSERT_EQ(z[i], static_cast<double>(bits >> 11) * 0x1p-53) << i;
  }
}

TEST_P(Random, AnElementDependsOnItsIndexOnly) {
  for (const char* op :
       {"random_normal", "random_uniform", "random_truncated_normal", "random_bernoulli"}) {
    const testing::UseThreads one(1);
    const std::vector<float> alone = draw<float>(op, 70'001, 0.5, 1, 3);
    const testing::UseThreads two(2);
    EXPECT_EQ(alone, draw<float>(op, 70'001, 0.5, 1, 3)) << op;
    const std::vector<float> fewer = draw<float>(op, 101, 0.5, 1, 3);
    EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), alone.begin())) << op;
    EXPECT_NE(alone, draw<float>(op, 70'001, 0.5, 1, 4)) << op;
  }
}

TEST_P(Random, NothingForAnEmptyShape) {
  EXPECT_TRUE(draw<float>("random_normal", 0, 0, 1).empty());
  EXPECT_TRUE(draw<std::int64_t>("random_randint", 0, 0, 5).empty());
}

INSTANTIATE_TEST_SUITE_P(Targets, Random, ::testing::ValuesIn(testing::targets()),
                         [](const auto& tested) {
                           return std::string(hwy::TargetName(tested.param));
                         });

}  // namespace
}  // namespace tenure::cpu
