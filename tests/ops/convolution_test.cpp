// What random rows of convolutions cannot show.
#include <cmath>
#include <limits>

#include "array.h"
#include "reference_convolution.h"

namespace tenure::testing {
namespace {

struct Pair {
  Shape x, filter;
};

TEST(Convolution, same_padding_puts_the_odd_pixel_behind) {
  const Tensor x = reshape(tensor({1.f, 2.f, 3.f, 4.f}), {1, 4, 1});
  const Tensor filter = reshape(tensor({1.f, 10.f}), {2, 1, 1});
  EXPECT_EQ(floats(conv1d(x, filter, {.padding = Padding::same})), (Floats{21, 32, 43, 4}));
}

TEST(Convolution, roundings_differ_where_windows_do_not_fill_the_input) {
  const Tensor x = ones({1, 6, 6, 1});
  const Tensor filter = ones({2, 2, 1, 1});
  const auto size = [&](Rounding rounding) {
    return conv2d(x, filter, {.strides = {3}, .padding = 0, .rounding = rounding}).dim(1);
  };
  EXPECT_EQ(size(Rounding::down), 2);
  EXPECT_EQ(size(Rounding::nearest), 2);
  EXPECT_EQ(size(Rounding::up), 3);
  const Tensor up = conv2d(x, filter, {.strides = {3}, .padding = 0, .rounding = Rounding::up});
  EXPECT_EQ(floats(up), (Floats{4, 4, 0, 4, 4, 0, 0, 0, 0}));
}

TEST(Convolution, of_no_channels_is_zero) {
  const Tensor y = conv2d(zeros({1, 3, 3, 0}), zeros({2, 2, 0, 2}));
  EXPECT_EQ(floats(y), Floats(8, 0.f));
  EXPECT_EQ(conv2d_grad_input(ones({1, 2, 2, 2}), zeros({2, 2, 0, 2}), {1, 3, 3, 0}).numel(), 0);
}

TEST(Convolution, the_gradient_of_a_filter_over_no_images_is_zero) {
  const Tensor gradient =
      conv2d_grad_filter(zeros({0, 3, 3, 1}), zeros({0, 2, 2, 2}), {2, 2, 1, 2});
  EXPECT_EQ(floats(gradient), Floats(8, 0.f));
}

TEST(Convolution, nan_reaches_the_windows_that_see_it_and_no_others) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = reshape(tensor({1.f, nan, 1.f, 1.f, 1.f}), {1, 5, 1});
  const Floats y = floats(conv1d(x, ones({2, 1, 1})));
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
  EXPECT_EQ((Floats{y[2], y[3]}), (Floats{2, 2}));
}

TEST(Convolution, integers_become_float32_and_mixed_floats_the_wider) {
  const Tensor x = ones({1, 2, 2, 1}, DType::int32);
  EXPECT_EQ(conv2d(x, ones({2, 2, 1, 1}, DType::int32)).dtype(), DType::float32);
  EXPECT_EQ(conv2d(x, ones({2, 2, 1, 1}, DType::float64)).dtype(), DType::float64);
  EXPECT_EQ(conv2d(ones({1, 2, 2, 1}), ones({2, 2, 1, 1}, DType::float64)).dtype(), DType::float64);
}

TEST(Convolution, a_chain_with_channels_first_copies_nothing_in_between) {
  const ConvOptions options{.padding = Padding::same, .channels_first = true};
  const Tensor y = conv2d(ones({1, 2, 8, 8}), ones({3, 3, 2, 4}), options);
  const Tensor last = transpose(y, {0, 2, 3, 1});
  EXPECT_EQ(bytes_of(contiguous(last)), bytes_of(y));
}

// Images and filters large enough to be computed by tiles of 2 x 2 pixels.
class TiledConvolution : public ::testing::Test {
 protected:
  const ConvKind kind_{.options = {.padding = Padding::same}};
  const Shape filter_{3, 3, 40, 64};
  Random random_{7};
  Array whole_numbers(const Shape& shape) {
    return draw(shape, {.low = -9, .high = 9, .whole = true}, DType::float32, random_);
  }
};

TEST_F(TiledConvolution, of_whole_numbers_is_exact) {
  const Shape shape{2, 13, 17, 40};
  const Array x = whole_numbers(shape);
  const Array filter = whole_numbers(filter_);
  const Array y = conv_of(kind_, x, filter);
  const Array dy = whole_numbers(y.shape);
  const auto tensor_of = [](const Array& array) { return to_tensor(array, DType::float32); };
  EXPECT_EQ(to_array(conv2d(tensor_of(x), tensor_of(filter), kind_.options)).data, y.data);
  EXPECT_EQ(
      to_array(conv2d_grad_input(tensor_of(dy), tensor_of(filter), shape, kind_.options)).data,
      conv_grad_input_of(kind_, dy, filter, shape).data);
  EXPECT_EQ(to_array(conv2d_grad_filter(tensor_of(x), tensor_of(dy), filter_, kind_.options)).data,
            conv_grad_filter_of(kind_, x, dy, filter_).data);
}

// Where the definition gives a number, `got` has that number, and elsewhere what it gives.
void expect_same_numbers(const Tensor& got, const Array& want) {
  const Array values = to_array(got);
  ASSERT_EQ(values.shape, want.shape);
  for (std::size_t i = 0; i < want.data.size(); ++i) {
    const double wanted = want.data[i];
    if (std::isnan(wanted)) {
      ASSERT_TRUE(std::isnan(values.data[i])) << i;
    } else {
      ASSERT_EQ(values.data[i], wanted) << i;
    }
  }
}

TEST_F(TiledConvolution, what_is_not_finite_reaches_those_that_see_it_and_no_others) {
  const Shape shape{2, 13, 17, 40};
  const Array filter = whole_numbers(filter_);
  for (const float strange : {kNaN, kInf, -kInf}) {
    Array x = whole_numbers(shape);
    x.data[(5 * 17 + 6) * 40 + 3] = strange;
    const Array y = conv_of(kind_, x, filter);
    Array dy = whole_numbers(y.shape);
    const Tensor x_tensor = to_tensor(x, DType::float32);
    const Tensor filter_tensor = to_tensor(filter, DType::float32);
    expect_same_numbers(conv2d(x_tensor, filter_tensor, kind_.options), y);
    expect_same_numbers(
        conv2d_grad_filter(x_tensor, to_tensor(dy, DType::float32), filter_, kind_.options),
        conv_grad_filter_of(kind_, x, dy, filter_));
    dy.data[(12 * 17 + 16) * 64 + 63] = strange;
    expect_same_numbers(
        conv2d_grad_input(to_tensor(dy, DType::float32), filter_tensor, shape, kind_.options),
        conv_grad_input_of(kind_, dy, filter, shape));
  }
}

TEST_F(TiledConvolution, of_numbers_whose_sums_overflow_but_not_together_is_finite) {
  const Tensor x = full({1, 12, 12, 32}, 3e38F);
  const Tensor filter = zeros({3, 3, 32, 32});
  EXPECT_EQ(floats(max(conv2d(x, filter))), (Floats{0}));
}

TEST_F(TiledConvolution, of_one_image_has_the_bits_it_has_in_a_batch) {
  const Tensor x = random::normal({3, 14, 23, 40});
  const Tensor filter = random::normal(filter_);
  const Tensor y = conv2d(x, filter, kind_.options);
  const Tensor dx = conv2d_grad_input(y, filter, x.shape(), kind_.options);
  const Tensor second = slice(x, {1, 0, 0, 0}, {1, 14, 23, 40});
  const Tensor y_alone = conv2d(second, filter, kind_.options);
  EXPECT_EQ(bits_of(y_alone), bits_of(slice(y, {1, 0, 0, 0}, {1, 14, 23, 64})));
  EXPECT_EQ(bits_of(conv2d_grad_input(y_alone, filter, second.shape(), kind_.options)),
            bits_of(slice(dx, {1, 0, 0, 0}, {1, 14, 23, 40})));
}

// Kernels of three and five take another road than others, the ends of lines another than their
// middles, and the last vector of channels another than whole ones.
TEST(DepthwiseConvolution, of_every_width_stride_and_number_of_channels_is_its_definition) {
  std::int64_t checked = 0;
  for (const std::int64_t taps : {1, 2, 3, 4, 5, 7}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      for (const std::int64_t dilation : {1, 2}) {
        if (stride > 1 && dilation > 1) continue;
        for (const std::int64_t width : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16}) {
          const std::int64_t channels = 1 + checked * 7 % 83;
          const std::int64_t multiplier = 1 + (checked % 5 == 0 ? 1 : 0);
          const ConvKind kind{
              .axes = 2,
              .depthwise = true,
              .options = {.strides = {stride}, .padding = Padding::same, .dilations = {dilation}}};
          const Tensor x = random::normal({1, 3, width, channels});
          const Tensor filter = random::normal({3, taps, channels, multiplier});
          const Tensor y = depthwise_conv2d(x, filter, kind.options);
          const Tensor dx = depthwise_conv2d_grad_input(y, filter, x.shape(), kind.options);
          const Array want_y = conv_of(kind, to_array(x), to_array(filter));
          const Array want_dx = conv_grad_input_of(kind, to_array(y), to_array(filter), x.shape());
          const Tolerance rounding{.ulps = 16, .epsilons = 256};
          ASSERT_TRUE(close(y, want_y, DType::float32, rounding)) << taps << " taps, " << width;
          ASSERT_TRUE(close(dx, want_dx, DType::float32, rounding)) << taps << " taps, " << width;
          ++checked;
        }
      }
    }
  }
  EXPECT_EQ(checked, 6 * 4 * 11);
}

class FusedConvolutionOf : public ::testing::TestWithParam<Pair> {};

TEST_P(FusedConvolutionOf, has_the_bits_of_its_parts) {
  const Tensor x = random::normal(GetParam().x);
  const Tensor filter = random::normal(GetParam().filter);
  const Tensor bias = random::normal({filter.dim(-1)});
  const Tensor z = conv2d(x, filter) + bias;
  const auto fused = [&](Activation activation) {
    return bits_of(fused_conv2d(x, filter, {.bias = bias, .activation = activation}));
  };
  EXPECT_EQ(fused(Activation::linear), bits_of(z));
  EXPECT_EQ(fused(Activation::relu), bits_of(relu(z)));
  EXPECT_EQ(fused(Activation::relu6), bits_of(relu6(z)));
  EXPECT_EQ(fused(Activation::elu), bits_of(elu(z)));
  EXPECT_EQ(fused(Activation::sigmoid), bits_of(sigmoid(z)));
  EXPECT_EQ(fused(Activation::tanh), bits_of(tanh(z)));
  EXPECT_EQ(fused(Activation::hard_sigmoid), bits_of(hard_sigmoid(z)));
}

INSTANTIATE_TEST_SUITE_P(Sizes, FusedConvolutionOf,
                         ::testing::Values(Pair{{2, 9, 9, 5}, {3, 3, 5, 21}},
                                           Pair{{2, 15, 14, 32}, {3, 3, 32, 41}}));

TEST(FusedConvolution, takes_variables_and_finds_their_gradients) {
  Variable filter(ones({1, 1, 1, 2}));
  Variable bias(tensor({1.f, -5.f}));
  GradientTape tape;
  const Tensor y =
      fused_conv2d(ones({1, 2, 2, 1}), filter, {.bias = bias, .activation = Activation::relu});
  const std::vector<Tensor> g = tape.gradient(sum(y), {filter, bias});
  EXPECT_EQ(floats(g[0]), (Floats{4, 0}));
  EXPECT_EQ(floats(g[1]), (Floats{4, 0}));
}

}  // namespace
}  // namespace tenure::testing
