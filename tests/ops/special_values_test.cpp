// What happens at the edges: NaN, infinities, both zeros, subnormals, the ends of the integers.
#include <cmath>
#include <limits>

#include "elementwise_rows.h"

namespace tenure::testing {
namespace {

template <class T>
std::vector<double> special_values() {
  using Limits = std::numeric_limits<T>;
  std::vector<double> values{kNaN};
  for (const double size :
       {0.0, static_cast<double>(Limits::denorm_min()), static_cast<double>(Limits::min()) / 2,
        static_cast<double>(Limits::min()), static_cast<double>(Limits::epsilon()), 0.5, 1.0, 6.0,
        20.0, 80.0, 100.0, 700.0, 745.0, 1e4, 1e30, static_cast<double>(Limits::max()),
        double{kInf}}) {
    values.push_back(size);
    values.push_back(-size);
  }
  return values;
}

struct UnaryOp : ::testing::TestWithParam<UnaryRow> {};

TEST_P(UnaryOp, special_values_are_the_c_librarys) {
  const UnaryRow& row = GetParam();
  for (const DType dtype : kFloats) {
    SCOPED_TRACE(dtype);
    const std::vector<double> values =
        dtype == DType::float32 ? special_values<float>() : special_values<double>();
    for (const double value : values) {
      const double x = rounded(value, dtype);
      SCOPED_TRACE(x);
      // Alone, and in the middle of a vector of others.
      for (const std::size_t count : {1, 37}) {
        const Array given{{static_cast<std::int64_t>(count)}, std::vector<double>(count, x)};
        const Array want{given.shape,
                         std::vector<double>(count, static_cast<double>(row.value(x)))};
        EXPECT_TRUE(
            close(row.run(to_tensor(given, dtype)), want, row.result(dtype), {.ulps = row.ulps}));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, UnaryOp, ::testing::ValuesIn(unary_rows()),
                         [](const auto& test) { return std::string(test.param.name); });
INSTANTIATE_TEST_SUITE_P(Maths, UnaryOp, ::testing::ValuesIn(maths_rows()),
                         [](const auto& test) { return std::string(test.param.name); });
INSTANTIATE_TEST_SUITE_P(Activations, UnaryOp, ::testing::ValuesIn(activation_rows()),
                         [](const auto& test) { return std::string(test.param.name); });

Tensor floats_in(DType dtype, std::vector<double> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return to_tensor({{count}, std::move(values)}, dtype);
}

bool is_nan(const Tensor& scalar) { return std::isnan(to_array(scalar).data.at(0)); }

TEST(SpecialValues, maximum_is_nan_if_either_is_and_zero_is_above_minus_zero) {
  const std::vector<double> values{kNaN, -kInf, -1, -0.0, 0.0, 1, kInf};
  for (const DType dtype : kFloats) {
    for (const double a : values) {
      for (const double b : values) {
        double want = a > b ? a : b;
        if (a == 0 && b == 0) want = std::signbit(a) && std::signbit(b) ? -0.0 : 0.0;
        if (std::isnan(a) || std::isnan(b)) want = kNaN;
        EXPECT_TRUE(
            close(maximum(floats_in(dtype, {a}), floats_in(dtype, {b})), {{1}, {want}}, dtype, {}))
            << a << " and " << b;
      }
    }
  }
}

TEST(SpecialValues, max_is_nan_wherever_one_is) {
  for (const DType dtype : kFloats) {
    for (const std::size_t count : {1, 2, 5, 33, 1000, 70001}) {
      for (const std::size_t at : {std::size_t{0}, count / 2, count - 1}) {
        std::vector<double> values(count, 1.0);
        values[at] = kNaN;
        const Tensor x = floats_in(dtype, values);
        const auto n = static_cast<std::int64_t>(count);
        EXPECT_TRUE(is_nan(max(x))) << at << " of " << count;
        EXPECT_TRUE(is_nan(max(reshape(x, {n, 1}), {0}))) << at << " of " << count;
        EXPECT_TRUE(is_nan(max(broadcast_to(reshape(x, {n, 1}), {n, 2}), {0})))
            << at << " of " << count;
      }
    }
  }
}

TEST(SpecialValues, max_of_nothing_is_the_lowest_value) {
  EXPECT_EQ(max(zeros({0})).item<float>(), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(max(zeros({0}, DType::int32)).item<std::int32_t>(),
            std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(max(zeros({0}, DType::uint8)).item<std::uint8_t>(), 0);
  EXPECT_EQ(max(full({3}, -kInf)).item<float>(), -std::numeric_limits<float>::infinity());
}

TEST(SpecialValues, arg_max_takes_the_first_and_what_strictly_exceeds_it) {
  const auto place = [](std::vector<double> values) {
    const std::int32_t in_float = arg_max(floats_in(DType::float32, values)).item<std::int32_t>();
    const std::int32_t in_double = arg_max(floats_in(DType::float64, values)).item<std::int32_t>();
    EXPECT_EQ(in_float, in_double);
    return in_float;
  };
  EXPECT_EQ(place({1, 3, 3, 2}), 1);
  EXPECT_EQ(place({0, -0.0}), 0);
  EXPECT_EQ(place({-0.0, 0.0}), 0);
  EXPECT_EQ(place({1, kNaN, 2}), 2) << "NaN exceeds nothing";
  EXPECT_EQ(place({kNaN, 1, 2}), 0) << "nothing exceeds NaN";
  EXPECT_EQ(place({-kInf, -kInf}), 0);
  EXPECT_EQ(place({-kInf, kInf, kInf}), 1);
  for (const std::size_t count : {8, 33, 1000, 70001}) {
    std::vector<double> values(count, 0.0);
    EXPECT_EQ(place(values), 0) << count;
    values[count / 3] = values[count - 1] = 1;
    EXPECT_EQ(place(values), static_cast<std::int32_t>(count / 3)) << count;
    values[count / 5] = kNaN;
    EXPECT_EQ(place(values), static_cast<std::int32_t>(count / 3)) << count;
    values[0] = kNaN;
    EXPECT_EQ(place(values), 0) << count;
  }
}

TEST(SpecialValues, comparisons_with_nan_are_false_but_for_not_equal) {
  for (const DType dtype : kFloats) {
    const Tensor nan = floats_in(dtype, {kNaN}), one = floats_in(dtype, {1});
    for (const auto& [a, b] : {std::pair(nan, one), {one, nan}, {nan, nan}}) {
      EXPECT_FALSE(equal(a, b).item<bool>());
      EXPECT_FALSE(less(a, b).item<bool>());
      EXPECT_FALSE(less_equal(a, b).item<bool>());
      EXPECT_FALSE(greater(a, b).item<bool>());
      EXPECT_FALSE(greater_equal(a, b).item<bool>());
      EXPECT_TRUE(not_equal(a, b).item<bool>());
    }
    EXPECT_TRUE(equal(floats_in(dtype, {0.0}), floats_in(dtype, {-0.0})).item<bool>());
  }
}

TEST(SpecialValues, division_of_floats_is_the_machines) {
  for (const DType dtype : kFloats) {
    const Tensor quotients =
        floats_in(dtype, {1, -1, 0, kInf, 1}) / floats_in(dtype, {0, 0, 0, kInf, -0.0});
    EXPECT_TRUE(close(quotients, {{5}, {kInf, -kInf, kNaN, kNaN, -kInf}}, dtype, {}));
  }
}

TEST(SpecialValues, linspace_begins_and_ends_exactly) {
  for (const DType dtype : kFloats) {
    for (const std::int64_t count : {2, 3, 7, 11, 1000}) {
      const std::vector<double> values = to_array(linspace(0.1, 0.7, count, dtype)).data;
      EXPECT_EQ(values.front(), rounded(0.1, dtype));
      EXPECT_EQ(values.back(), rounded(0.7, dtype)) << count;
    }
  }
}

template <class T>
class SpecialIntegers : public ::testing::Test {};
using IntegerTypes = ::testing::Types<std::int32_t, std::int64_t, std::int8_t>;
TYPED_TEST_SUITE(SpecialIntegers, IntegerTypes);

TYPED_TEST(SpecialIntegers, division_is_the_floor_and_by_zero_zero_and_wraps_once) {
  using T = TypeParam;
  constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  const std::vector<T> a{7, -7, 7, -7, 5, 0, least, least, most, most, -1, least};
  const std::vector<T> b{2, 2, -2, -2, 0, 0, -1, 1, -1, 2, most, least};
  const std::vector<T> want{3, -4, -4, 3, 0, 0, least, least, -most, most / 2, -1, 1};
  EXPECT_EQ(div(tensor(a), tensor(b)).template to_vector<T>(), want);
}

TYPED_TEST(SpecialIntegers, arithmetic_wraps) {
  using T = TypeParam;
  constexpr T least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
  EXPECT_EQ((tensor(std::vector<T>{most}) + 1).template item<T>(), least);
  EXPECT_EQ((tensor(std::vector<T>{least}) - 1).template item<T>(), most);
  EXPECT_EQ((tensor(std::vector<T>{most}) * 2).template item<T>(), T{-2});
  EXPECT_EQ(neg(tensor(std::vector<T>{least})).template item<T>(), least);
  EXPECT_EQ(square(tensor(std::vector<T>{most})).template item<T>(), T{1});
  EXPECT_EQ(maximum(tensor(std::vector<T>{least}), tensor(std::vector<T>{most})).template item<T>(),
            most);
}

TEST(SpecialValues, sums_of_int64_are_exact_and_wrap) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(sum(tensor(std::vector<std::int64_t>{most, -1, -(most - 3)})).item<std::int64_t>(), 2);
  EXPECT_EQ(sum(tensor(std::vector<std::int64_t>{most, 1})).item<std::int64_t>(), -most - 1);
  EXPECT_EQ(max(tensor(std::vector<std::int64_t>{most - 1, most, most - 2})).item<std::int64_t>(),
            most);
}

TEST(SpecialValues, small_integers_sum_in_int32) {
  EXPECT_EQ(sum(full({1000}, 255, DType::uint8)).item<std::int32_t>(), 255000);
  EXPECT_EQ(sum(full({1000}, -128, DType::int8)).item<std::int32_t>(), -128000);
  EXPECT_EQ(sum(ones({1000}, DType::boolean)).item<std::int32_t>(), 1000);
}

TEST(SpecialValues, a_float32_sum_of_many_does_not_drift) {
  constexpr std::int64_t kCount = 1'000'000;  // one after the other they would sum to 100958.34
  const Array want{{}, {kCount * double{0.1f}}};
  EXPECT_TRUE(close(sum(full({kCount}, 0.1f)), want, DType::float32, {.ulps = 1}));
  EXPECT_TRUE(
      close(reshape(sum(full({kCount, 1}, 0.1f), {0}), {}), want, DType::float32, {.ulps = 1}));
}

TEST(SpecialValues, a_float32_sum_keeps_what_small_addends_add) {
  const Tensor x = concat({full({1}, 0x1p24f), ones({1000})});
  EXPECT_TRUE(close(sum(x), {{}, {0x1p24 + 1000}}, DType::float32, {.ulps = 1}));
}

TEST(SpecialValues, mean_of_nothing_is_nan) {
  EXPECT_TRUE(is_nan(mean(zeros({0}))));
  EXPECT_TRUE(is_nan(mean(zeros({2, 0}), {1})));
}

}  // namespace
}  // namespace tenure::testing
