// Pooling where random values do not lead: NaN, ties, infinities and windows without elements.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "array.h"

namespace tenure::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor picture(const Floats& values, std::int64_t height) {
  return tensor(values, {height, static_cast<std::int64_t>(values.size()) / height, 1});
}

Tensor gradient_of(const Tensor& x, const Shape& window, const PoolOptions& options) {
  return grad([&](const Tensor& at) { return max_pool(at, window, options); })(x);
}

TEST(Pooling, max_pool_passes_over_nan) {
  const Tensor x = picture({1, 2, 3, 4, 5, 6, 7, kNaN, 9}, 3);
  EXPECT_EQ(max_pool(x, {2, 2}, {.strides = {1}}).to_vector<float>(), (Floats{5, 6, 7, 9}));
}

TEST(Pooling, max_pool_of_nothing_but_nan_is_minus_infinity) {
  const Tensor x = picture({kNaN, kNaN, kNaN, kNaN}, 2);
  const auto [values, indices] = max_pool_with_argmax(x, {2, 2});
  EXPECT_EQ(values.item<float>(), -kInfinity);
  EXPECT_EQ(indices.item<std::int32_t>(), -1);
  EXPECT_EQ(gradient_of(x, {2, 2}, {}).to_vector<float>(), (Floats{0, 0, 0, 0}));
}

TEST(Pooling, avg_pool_of_nan_is_nan_and_of_infinity_infinity) {
  const Tensor x = picture({1, kNaN, 2, 3, kInfinity, 4, 5, 6}, 1);
  const Floats y = avg_pool(x, {1, 2}).to_vector<float>();
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 2.5F);
  EXPECT_EQ(y[2], kInfinity);
  EXPECT_EQ(y[3], 5.5F);
}

TEST(Pooling, the_first_of_equals_gets_the_gradient) {
  const Tensor x = picture({5, 5, 5, 5}, 2);
  EXPECT_EQ(gradient_of(x, {2, 2}, {}).to_vector<float>(), (Floats{1, 0, 0, 0}));
  EXPECT_EQ(max_pool_with_argmax(x, {2, 2}).indices.item<std::int32_t>(), 0);
}

TEST(Pooling, the_lowest_integer_is_found_like_any_other) {
  const Tensor x = tensor(std::vector<std::uint8_t>{0, 0, 0, 0}, {2, 2, 1});
  const auto [values, indices] = max_pool_with_argmax(x, {2, 2});
  EXPECT_EQ(values.item<std::uint8_t>(), 0);
  EXPECT_EQ(indices.item<std::int32_t>(), 0);
}

TEST(Pooling, windows_of_padding_alone_hold_the_lowest_value_and_the_mean_0) {
  const Tensor x = picture({-3}, 1);
  const PoolOptions options{.strides = {1}, .padding = 1};
  EXPECT_EQ(max_pool(x, {1, 1}, options).to_vector<float>(),
            (Floats{-kInfinity, -kInfinity, -kInfinity, -kInfinity, -3, -kInfinity, -kInfinity,
                    -kInfinity, -kInfinity}));
  EXPECT_EQ(avg_pool(x, {1, 1}, options).to_vector<float>(), (Floats{0, 0, 0, 0, -3, 0, 0, 0, 0}));
}

TEST(Pooling, a_mean_does_not_count_padding) {
  const Tensor x = picture({1, 2, 3, 4}, 2);
  EXPECT_EQ(avg_pool(x, {2, 2}, {.strides = {1}, .padding = Padding::same}).to_vector<float>(),
            (Floats{2.5F, 3, 3.5F, 4}));
}

TEST(Pooling, rounding_says_how_many_windows_there_are) {
  const Tensor x = zeros({3, 3, 1});
  const auto shape = [&](Rounding rounding) {
    return max_pool(x, {3, 3}, {.strides = {3}, .padding = {{2, 2}, {1, 1}}, .rounding = rounding})
        .shape();
  };
  EXPECT_EQ(shape(Rounding::down), (Shape{2, 1, 1}));
  EXPECT_EQ(shape(Rounding::nearest), (Shape{2, 2, 1}));
  EXPECT_EQ(shape(Rounding::up), (Shape{3, 2, 1}));
}

TEST(Pooling, a_dilated_window_skips_elements) {
  const Tensor x = reshape(arange(1.0, 17.0), {4, 4, 1});
  EXPECT_EQ(pool(x, {2, 2}, PoolType::max, {.dilations = {2}}).to_vector<float>(),
            (Floats{11, 12, 15, 16}));
}

TEST(Pooling, dilation2d_lays_the_filter_over_the_image) {
  const Tensor x = picture({7, 8, 9, 4, 5, 6, 1, 2, 3}, 3);
  const Tensor filter = tensor({0.F, 1.F, 2.F, 3.F}, {2, 2, 1});
  EXPECT_EQ(dilation2d(x, filter).to_vector<float>(), (Floats{9, 10, 6, 7}));
}

}  // namespace
}  // namespace tenure::testing
