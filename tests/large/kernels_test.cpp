// Products, convolutions, segments, images and what draws: one operand or the result is past 2^31
// elements, of two bytes where a kernel knows no smaller ones. Not among them are sort, whose
// indices would take 8 GiB beside what is sorted, softmax and the norms, which widen halves as a
// whole.
#include "large.h"

namespace tenure::testing {
namespace {

using LargeKernels = Large;

constexpr std::int64_t kColumns = 1024;
constexpr std::int64_t kRows = kPast / kColumns + 3;

// float16 of these rows: 0, but for the numbers given in the last row.
Tensor zeros_but_for(std::int64_t rows, std::int64_t columns, const std::vector<float>& last) {
  std::vector<std::int64_t> at;
  for (std::int64_t i = 0; i < std::ssize(last); ++i) {
    at.insert(at.end(), {rows - 1, i});
  }
  return tensor_scatter_update(zeros({rows, columns}, DType::float16), coordinates(at, 2),
                               cast(tensor(last), DType::float16));
}

float element(const Tensor& x, std::int64_t row, std::int64_t column) {
  return cast(slice(x, {row, column}, {1, 1}), DType::float32).item<float>();
}

TEST_F(LargeKernels, a_product_has_more_elements_than_int32_counts) {
  NEEDS_GIB(5);
  std::vector<float> column(kSide, 1.F), row(kSide, 2.F);
  column.back() = 3;
  row.back() = 5;
  const Tensor product = matmul(cast(tensor(column, {kSide, 1}), DType::float16),
                                cast(tensor(row, {1, kSide}), DType::float16));
  EXPECT_EQ(element(product, 0, 0), 2);
  EXPECT_EQ(element(product, 0, kSide - 1), 5);
  EXPECT_EQ(element(product, kSide - 1, 0), 6);
  EXPECT_EQ(element(product, kSide - 2, kSide - 1), 5);
  EXPECT_EQ(element(product, kSide - 1, kSide - 1), 15);
}

TEST_F(LargeKernels, a_product_takes_a_matrix_of_more_elements_than_int32_counts) {
  NEEDS_GIB(6);
  const Tensor x = zeros_but_for(kRows, kColumns, {2, 3});
  std::vector<float> weights(kColumns, 1.F);
  weights[1] = 4;
  const Tensor y = matmul(x, cast(tensor(weights, {kColumns, 1}), DType::float16));
  EXPECT_EQ(element(y, kRows - 1, 0), 14);
  EXPECT_EQ(element(y, kRows - 2, 0), 0);
  const Tensor z = matmul(x, cast(ones({kRows, 1}), DType::float16), {.transpose_a = true});
  EXPECT_EQ(element(z, 0, 0), 2);
  EXPECT_EQ(element(z, 1, 0), 3);
  EXPECT_EQ(element(z, 2, 0), 0);
}

TEST_F(LargeKernels, a_convolution_slides_over_more_pixels_than_int32_counts) {
  NEEDS_GIB(7);
  const Tensor x = reshape(zeros_but_for(kSide, kSide, {7}), {1, kSide, kSide, 1});
  const Tensor ends = cast(tensor({1.F, 10.F, 100.F, 1000.F}, {2, 2, 1, 1}), DType::float16);
  const Tensor y = conv2d(x, ends, {.strides = {2, 2}});
  ASSERT_EQ(y.shape(), (Shape{1, kSide / 2, kSide / 2, 1}));
  const Tensor square = reshape(y, {kSide / 2, kSide / 2});
  EXPECT_EQ(element(square, kSide / 2 - 1, 0), 700);
  EXPECT_EQ(element(square, kSide / 2 - 1, 1), 0);
  EXPECT_EQ(element(square, 0, 0), 0);
}

TEST_F(LargeKernels, segments_take_rows_past_int32) {
  NEEDS_GIB(4);
  const Tensor x = reshape(pattern(), {kPeriod, kRepeats});
  std::vector<std::int32_t> of_rows(kPeriod, 0);
  of_rows.back() = 1;
  const Tensor most = reshape(unsorted_segment_max(x, tensor(of_rows), 2), {-1});
  EXPECT_EQ(item<std::int8_t>(most, 5), 125);
  for (const std::int64_t i : {std::int64_t{0}, kRepeats / 2, kRepeats - 1}) {
    EXPECT_EQ(item<std::int8_t>(most, kRepeats + i), value_at((kPeriod - 1) * kRepeats + i)) << i;
  }
}

// Numbers come from counters: one of 32 bits would begin again.
TEST_F(LargeKernels, random_numbers_do_not_repeat) {
  NEEDS_GIB(4);
  set_seed(3);
  const Tensor x = random::randint({kSize}, 0, 200, DType::uint8);
  const auto part = [&](std::int64_t at) { return slice(x, {at}, {64}).to_vector<std::uint8_t>(); };
  for (const std::int64_t at : {kPast / 2, kPast - 32, kPast, kSize - 64}) {
    EXPECT_NE(part(at), part(0)) << at;
    EXPECT_NE(part(at), std::vector<std::uint8_t>(64, part(at)[0])) << at;
  }
  const Tensor y = random::bernoulli({kSize}, 0.5, DType::boolean);
  const std::vector<bool> last = [&] {
    std::vector<bool> values;
    for (std::int64_t i = kSize - 64; i < kSize; ++i) values.push_back(item<bool>(y, i));
    return values;
  }();
  EXPECT_NE(last, std::vector<bool>(64, last[0]));
}

TEST_F(LargeKernels, images_of_more_pixels_than_int32_counts_are_resized_and_turned) {
  NEEDS_GIB(5);
  Tensor x = zeros({1, kSide, kSide, 1}, DType::uint8);
  x = tensor_scatter_update(std::move(x),
                            coordinates({0, kSide - 1, 1, 0, 0, kSide - 2, kSide - 1, 0}, 4),
                            cast(tensor({9, 8}), DType::uint8));
  const auto pixel = [](const Tensor& image, std::int64_t row, std::int64_t column) {
    return slice(image, {0, row, column, 0}, {1, 1, 1, 1}).item<std::uint8_t>();
  };
  {
    const Tensor turned = image::flip_left_right(x);
    EXPECT_EQ(pixel(turned, kSide - 1, kSide - 2), 9);
    EXPECT_EQ(pixel(turned, kSide - 2, 0), 8);
    EXPECT_EQ(pixel(turned, kSide - 1, 0), 0);
  }
  const Tensor half = image::resize_nearest(x, {kSide / 2, kSide}, {.half_pixel_centers = true});
  EXPECT_EQ(pixel(half, kSide / 2 - 1, 1), 9);
  EXPECT_EQ(pixel(half, kSide / 2 - 1, 0), 0);
}

}  // namespace
}  // namespace tenure::testing
