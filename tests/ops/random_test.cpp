// What random ops draw: the right distribution, the same for the same seed, never the same twice.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "case.h"
#include "tenure/random.h"

namespace tenure::testing {
namespace {

constexpr std::int64_t kMany = 200'000;

struct Moments {
  double mean = 0, variance = 0, least = 0, most = 0;
};

Moments moments_of(const std::vector<double>& values) {
  Moments m;
  const auto count = static_cast<double>(values.size());
  m.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  for (const double value : values) m.variance += (value - m.mean) * (value - m.mean) / count;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  m.least = *least;
  m.most = *most;
  return m;
}

Moments moments_of(const Tensor& x) { return moments_of(to_array(x).data); }

// Within five standard errors: an honest generator fails once in two million seeds, and the seed is
// fixed.
void expect_moments(const Moments& m, double mean, double variance, double fourth_moment) {
  constexpr auto kCount = static_cast<double>(kMany);
  EXPECT_NEAR(m.mean, mean, 5 * std::sqrt(variance / kCount));
  EXPECT_NEAR(m.variance, variance, 5 * std::sqrt((fourth_moment - variance * variance) / kCount));
}

struct RandomFloats : ::testing::TestWithParam<DType> {
  void SetUp() override { set_seed(2024); }
  DType dtype = GetParam();
};

TEST_P(RandomFloats, normal_has_its_mean_deviation_and_tails) {
  const Tensor x = random::normal({kMany}, {.mean = 3, .deviation = 2, .dtype = dtype});
  ASSERT_EQ(x.dtype(), dtype);
  const std::vector<double> values = to_array(x).data;
  expect_moments(moments_of(values), 3, 4, 3 * 16);
  const auto beyond = [&](double deviations) {
    return static_cast<double>(
               std::count_if(values.begin(), values.end(),
                             [&](double value) { return std::abs(value - 3) > 2 * deviations; })) /
           static_cast<double>(kMany);
  };
  EXPECT_NEAR(beyond(1), 0.317311, 0.006);
  EXPECT_NEAR(beyond(2), 0.045500, 0.003);
  EXPECT_NEAR(beyond(3), 0.002700, 0.0008);
}

TEST_P(RandomFloats, uniform_fills_its_range_and_stays_within) {
  const Moments m = moments_of(random::uniform({kMany}, {.low = -1, .high = 3, .dtype = dtype}));
  expect_moments(m, 1, 16.0 / 12, 256.0 / 80);
  EXPECT_GE(m.least, -1);
  EXPECT_LT(m.most, 3);
  EXPECT_LT(m.least, -0.999);
  EXPECT_GT(m.most, 2.999);
}

TEST_P(RandomFloats, uniform_leaves_out_its_upper_end_where_rounding_would_reach_it) {
  const Moments m =
      moments_of(random::uniform({kMany}, {.low = 1000, .high = 1000.001, .dtype = dtype}));
  EXPECT_GE(m.least, rounded(1000, dtype));
  EXPECT_LT(m.most, 1000.001);
}

TEST_P(RandomFloats, uniform_halves_are_equally_full) {
  const std::vector<double> values = to_array(random::uniform({kMany}, {.dtype = dtype})).data;
  std::vector<double> bins(16);
  for (const double value : values) bins.at(static_cast<std::size_t>(value * 16)) += 1;
  for (const double bin : bins) EXPECT_NEAR(bin, kMany / 16.0, 5 * std::sqrt(kMany / 16.0));
}

TEST_P(RandomFloats, truncated_normal_stays_within_two_deviations) {
  const Moments m =
      moments_of(random::truncated_normal({kMany}, {.mean = -1, .deviation = 0.5, .dtype = dtype}));
  constexpr double kVariance = 0.7737413 * 0.25;  // of a normal cut at two deviations
  expect_moments(m, -1, kVariance, 3 * kVariance * kVariance);
  EXPECT_GE(m.least, -2);
  EXPECT_LE(m.most, 0);
  EXPECT_LT(m.least, -1.99);
  EXPECT_GT(m.most, -0.01);
}

TEST_P(RandomFloats, a_deviation_of_zero_gives_the_mean) {
  EXPECT_EQ(to_array(random::normal({3}, {.mean = 7, .deviation = 0, .dtype = dtype})).data,
            (std::vector<double>{7, 7, 7}));
}

INSTANTIATE_TEST_SUITE_P(Ops, RandomFloats, ::testing::ValuesIn(kFloats),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST(Random, bernoulli_is_one_with_its_probability) {
  set_seed(1);
  for (const double probability : {0.0, 0.25, 0.5, 1.0}) {
    const std::vector<double> values = to_array(random::bernoulli({kMany}, probability)).data;
    EXPECT_TRUE(
        std::all_of(values.begin(), values.end(), [](double v) { return v == 0 || v == 1; }));
    const double ones = std::accumulate(values.begin(), values.end(), 0.0);
    EXPECT_NEAR(ones / kMany, probability, 5 * std::sqrt(probability * (1 - probability) / kMany));
  }
}

TEST(Random, randint_draws_every_integer_of_its_range_equally_often) {
  set_seed(1);
  for (const DType dtype : kIntegers) {
    const std::int64_t low = dtype == DType::uint8 ? 0 : -3;
    const std::vector<double> values = to_array(random::randint({kMany}, low, low + 7, dtype)).data;
    std::vector<double> counts(7);
    for (const double value : values)
      counts.at(static_cast<std::size_t>(value - static_cast<double>(low))) += 1;
    for (const double count : counts)
      EXPECT_NEAR(count, kMany / 7.0, 5 * std::sqrt(kMany / 7.0)) << dtype;
  }
}

TEST(Random, randint_reaches_the_ends_of_every_dtype) {
  set_seed(1);
  const Moments bytes = moments_of(random::randint({kMany}, 0, 256, DType::uint8));
  EXPECT_EQ(bytes.least, 0);
  EXPECT_EQ(bytes.most, 255);
  const Moments signed_bytes = moments_of(random::randint({kMany}, -128, 128, DType::int8));
  EXPECT_EQ(signed_bytes.least, -128);
  EXPECT_EQ(signed_bytes.most, 127);
  constexpr std::int64_t kFar = std::int64_t{1} << 60;
  const std::vector<std::int64_t> far =
      random::randint({1000}, kFar, kFar + 3, DType::int64).to_vector<std::int64_t>();
  EXPECT_EQ(std::set<std::int64_t>(far.begin(), far.end()),
            (std::set<std::int64_t>{kFar, kFar + 1, kFar + 2}));
}

TEST(Random, halves_are_drawn_as_float32_and_not_rounded_out_of_their_range) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    const auto within = [&](const Tensor& x, double low, double high) {
      EXPECT_EQ(x.dtype(), dtype);
      const Moments m = moments_of(x);
      EXPECT_GE(m.least, low) << dtype;
      EXPECT_LT(m.most, high) << dtype;
    };
    for (const auto& [low, high] : {std::pair(0.0, 1.0), {0.0, 10.0}, {-1.0, 0.0}, {0.1, 0.7}}) {
      within(random::uniform({kMany}, {.low = low, .high = high, .dtype = dtype}), low, high);
    }
    within(random::randint({kMany}, 0, 1000, dtype), 0, 1000);
    within(random::randint({kMany}, -1001, -500, dtype), -1001, -500);
    within(random::truncated_normal({kMany}, {.deviation = 0.15, .dtype = dtype}), -0.3, 0.3);

    set_seed(9);
    const Tensor halves = random::uniform({kMany}, {.dtype = dtype});
    set_seed(9);
    const Tensor floats = cast(random::uniform({kMany}), dtype);
    const Tensor differ = not_equal(halves, floats);
    EXPECT_EQ(to_array(differ).data, to_array(equal(floats, 1)).data) << dtype;
  }
}

TEST(Random, halves_of_a_range_that_has_none_are_its_lower_end_rounded) {
  const Tensor x = random::uniform({9}, {.low = 1000.1, .high = 1000.2, .dtype = DType::bfloat16});
  for (const double value : to_array(x).data) EXPECT_EQ(value, 1000);
}

TEST(Random, no_elements_are_no_trouble) {
  EXPECT_EQ(random::normal({0}).numel(), 0);
  EXPECT_EQ(random::uniform({2, 0}).shape(), (Shape{2, 0}));
  EXPECT_EQ(random::normal({}).shape(), Shape{});
}

struct Draw {
  const char* name;
  Tensor (*run)(std::int64_t count);
};
void PrintTo(const Draw& draw, std::ostream* out) { *out << draw.name; }
const Draw kDraws[] = {
    {"normal", [](std::int64_t count) { return random::normal({count}); }},
    {"uniform", [](std::int64_t count) { return random::uniform({count}); }},
    {"truncated_normal", [](std::int64_t count) { return random::truncated_normal({count}); }},
    {"bernoulli", [](std::int64_t count) { return random::bernoulli({count}); }},
    {"randint", [](std::int64_t count) { return random::randint({count}, 0, 1 << 20); }},
    {"shuffle", [](std::int64_t count) { return random::shuffle(arange(count)); }},
};
struct RandomDraw : ::testing::TestWithParam<Draw> {
  std::vector<std::byte> bits(std::int64_t count = 1000) { return bits_of(GetParam().run(count)); }
};

TEST_P(RandomDraw, the_same_seed_gives_the_same_values) {
  set_seed(7);
  const auto first = bits(), second = bits();
  set_seed(7);
  EXPECT_EQ(bits(), first);
  EXPECT_EQ(bits(), second);
}

TEST_P(RandomDraw, other_seeds_and_later_draws_give_others) {
  std::set<std::vector<std::byte>> seen;
  for (const std::uint64_t seed : {0ull, 1ull, 2ull, 1ull << 32, ~0ull}) {
    set_seed(seed);
    for (int i = 0; i < 4; ++i)
      EXPECT_TRUE(seen.insert(bits()).second) << "seed " << seed << ", draw " << i;
  }
}

TEST_P(RandomDraw, is_the_same_on_any_number_of_threads) {
  constexpr std::int64_t kEnoughForThreads = 100'003;
  const int before = num_threads();
  set_num_threads(1);
  set_seed(3);
  const auto alone = bits(kEnoughForThreads);
  set_num_threads(4);
  set_seed(3);
  const auto together = bits(kEnoughForThreads);
  set_num_threads(before);
  EXPECT_EQ(alone, together);
}

INSTANTIATE_TEST_SUITE_P(Ops, RandomDraw, ::testing::ValuesIn(kDraws),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Random, two_draws_in_a_row_share_no_values) {
  set_seed(5);
  const std::vector<double> a = to_array(random::uniform({1000}, {.dtype = DType::float64})).data;
  const std::vector<double> b = to_array(random::uniform({1000}, {.dtype = DType::float64})).data;
  std::set<double> all(a.begin(), a.end());
  all.insert(b.begin(), b.end());
  EXPECT_EQ(all.size(), 2000u);
}

std::vector<std::int32_t> sorted(std::vector<std::int32_t> values) {
  std::sort(values.begin(), values.end());
  return values;
}

TEST(Shuffle, gives_every_row_once_and_in_one_piece) {
  set_seed(9);
  for (const std::int64_t rows : {1, 2, 10, 5000}) {
    const Tensor x = reshape(arange(rows * 3), {rows, 3});
    const std::vector<std::int32_t> values = random::shuffle(x).to_vector<std::int32_t>();
    std::vector<std::int32_t> firsts;
    for (std::size_t i = 0; i < values.size(); i += 3) {
      ASSERT_EQ(values[i] % 3, 0);
      ASSERT_EQ(values[i + 1], values[i] + 1);
      ASSERT_EQ(values[i + 2], values[i] + 2);
      firsts.push_back(values[i]);
    }
    EXPECT_EQ(sorted(firsts), (arange(0, rows * 3, 3).to_vector<std::int32_t>()));
  }
}

TEST(Shuffle, every_order_of_three_comes_up_equally_often) {
  set_seed(4);
  const Tensor x = arange(3);
  std::map<std::vector<std::int32_t>, int> counts;
  for (int i = 0; i < 6000; ++i) ++counts[random::shuffle(x).to_vector<std::int32_t>()];
  EXPECT_EQ(counts.size(), 6u);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 150);
}

TEST(Shuffle, its_gradient_puts_the_rows_back) {
  set_seed(6);
  const Tensor x = reshape(arange(0.0, 20.0), {10, 2});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = random::shuffle(x);
  EXPECT_EQ(floats(tape.gradient(y, x, {.output_gradient = y})), floats(x));
}

}  // namespace
}  // namespace tenure::testing
