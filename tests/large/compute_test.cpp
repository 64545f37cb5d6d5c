// Elementwise operations, reductions and what counts.
#include <algorithm>

#include "large.h"

namespace tenure::testing {
namespace {

using LargeCompute = Large;

std::int8_t wrapped(int value) { return static_cast<std::int8_t>(value); }

TEST_F(LargeCompute, elementwise_ops_reach_every_element) {
  NEEDS_GIB(7);
  const Tensor x = pattern();
  const Tensor positive = greater(x, 0);
  for (const std::int64_t i : kPlaces) EXPECT_EQ(item<bool>(positive, i), value_at(i) > 0) << i;
  const Tensor chosen = where(positive, x, 7);
  for (const std::int64_t i : kPlaces) {
    EXPECT_EQ(item<std::int8_t>(chosen, i), value_at(i) > 0 ? value_at(i) : 7) << i;
  }
}

TEST_F(LargeCompute, arithmetic_overwrites_and_casts) {
  NEEDS_GIB(5);
  Tensor x = pattern();
  const Tensor twice = x + x;
  for (const std::int64_t i : kPlaces) {
    EXPECT_EQ(item<std::int8_t>(twice, i), wrapped(2 * value_at(i))) << i;
  }
  x = cast(std::move(x), DType::boolean);
  for (const std::int64_t i : kPlaces) EXPECT_EQ(item<bool>(x, i), value_at(i) != 0) << i;
}

TEST_F(LargeCompute, a_traced_function_fuses_over_every_element) {
  NEEDS_GIB(5);
  const Function f = function("f", [](Tensor x) { return maximum(x * 2, 3) - abs(minimum(x, 5)); });
  const Tensor y = f(pattern());
  for (const std::int64_t i : kPlaces) {
    const int twice = wrapped(2 * value_at(i)), low = std::min<int>(value_at(i), 5);
    EXPECT_EQ(item<std::int8_t>(y, i), wrapped(std::max(twice, 3) - std::abs(low))) << i;
  }
}

TEST_F(LargeCompute, reductions_see_an_element_past_int32) {
  NEEDS_GIB(3);
  Tensor x = zeros({kSize}, DType::int8);
  EXPECT_EQ(max(x).item<std::int8_t>(), 0);
  x = tensor_scatter_update(std::move(x), coordinates({kPast + 3, kSize - 1}),
                            cast(tensor({100, -100}), DType::int8));
  EXPECT_EQ(max(x).item<std::int8_t>(), 100);
  EXPECT_EQ(min(x).item<std::int8_t>(), -100);
  const Tensor rows = reshape(std::move(x), {kPeriod, kRepeats});
  const std::vector<std::int8_t> most = max(rows, {1}).to_vector<std::int8_t>();
  for (std::int64_t row = 0; row < kPeriod; ++row) {
    EXPECT_EQ(most[static_cast<std::size_t>(row)], row == (kPast + 3) / kRepeats ? 100 : 0) << row;
  }
}

TEST_F(LargeCompute, any_and_all_see_an_element_past_int32) {
  NEEDS_GIB(3);
  Tensor x = zeros({kSize}, DType::boolean);
  EXPECT_FALSE(any(x).item<bool>());
  x = tensor_scatter_update(std::move(x), coordinates({kSize - 2}), ones({1}, DType::boolean));
  EXPECT_TRUE(any(x).item<bool>());
  EXPECT_FALSE(all(x).item<bool>());
}

TEST_F(LargeCompute, a_running_sum_counts_past_int32) {
  trim_pool();
  NEEDS_GIB(8);
  const Tensor counts = cumsum(ones({kPast + 3}, DType::int32));  // in place
  for (const std::int64_t i : {std::int64_t{0}, kPast - 2, kPast - 1, kPast, kPast + 2}) {
    EXPECT_EQ(item<std::int32_t>(counts, i), static_cast<std::int32_t>(i + 1)) << i;
  }
}

// Rows and columns of fewer than 2^31 elements, more in all: places fit.
TEST_F(LargeCompute, places_along_axes_that_int32_counts_are_found) {
  NEEDS_GIB(3);
  constexpr std::int64_t kWide = kPast / 2 + 4, kColumns = 136, kRows = 2 * kWide / kColumns;
  static_assert(kRows * kColumns == 2 * kWide);
  Tensor x = zeros({2, kWide}, DType::int8);
  x = tensor_scatter_update(std::move(x), coordinates({0, kWide - 1, 1, kWide - 1}, 2),
                            cast(tensor({5, 6}), DType::int8));
  EXPECT_EQ(arg_max(x, 1).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{kWide - 1, kWide - 1}));
  EXPECT_EQ(top_k(x, 1).indices.to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{kWide - 1, kWide - 1}));
  x = reshape(std::move(x), {kRows, kColumns});
  std::vector<std::int32_t> expected(kColumns, 0);
  expected[(kWide - 1) % kColumns] = (kWide - 1) / kColumns;
  expected[kColumns - 1] = kRows - 1;
  EXPECT_EQ(arg_max(x, 0).to_vector<std::int32_t>(), expected);
}

TEST_F(LargeCompute, where_indices_names_coordinates_that_fit) {
  NEEDS_GIB(3);
  constexpr std::int64_t kWide = kPast / 2 + 3;
  Tensor x = zeros({2, kWide}, DType::boolean);
  const Tensor at = coordinates({0, 5, 1, kWide - 1}, 2);
  x = tensor_scatter_update(std::move(x), at, ones({2}, DType::boolean));
  EXPECT_EQ(where_indices(x).to_vector<std::int32_t>(),
            (std::vector<std::int32_t>{0, 5, 1, kWide - 1}));
}

TEST_F(LargeCompute, a_mask_chooses_elements_past_int32) {
  NEEDS_GIB(5);
  const Tensor x = pattern();
  Tensor mask = zeros({kSize}, DType::boolean);
  mask = tensor_scatter_update(std::move(mask), coordinates({3, kPast + 7, kSize - 1}),
                               ones({3}, DType::boolean));
  EXPECT_EQ(boolean_mask(x, mask).to_vector<std::int8_t>(),
            (std::vector<std::int8_t>{value_at(3), value_at(kPast + 7), value_at(kSize - 1)}));
}

TEST_F(LargeCompute, a_histogram_counts_as_far_as_int32_goes) {
  NEEDS_GIB(3);
  const Tensor x = pattern();
  EXPECT_HAS(message_of<ValueError>([&] { histogram(x, -1000, 1000, 1); }),
             "histogram: bin 0 has more elements than int32 can count");
}

TEST_F(LargeCompute, windows_slide_over_images_of_more_pixels_than_int32_counts) {
  NEEDS_GIB(4);
  Tensor x = zeros({1, kSide, kSide, 1}, DType::uint8);
  x = tensor_scatter_update(std::move(x), coordinates({0, kSide - 1, kSide - 1, 0}, 4),
                            cast(tensor({9}), DType::uint8));
  const Tensor y = max_pool(x, {2, 2}, {.strides = {2, 2}});
  ASSERT_EQ(y.shape(), (Shape{1, kSide / 2, kSide / 2, 1}));
  const Tensor flat = reshape(y, {-1});
  EXPECT_EQ(item<std::uint8_t>(flat, flat.numel() - 1), 9);
  EXPECT_EQ(item<std::uint8_t>(flat, flat.numel() - 2), 0);
}

}  // namespace
}  // namespace tenure::testing
