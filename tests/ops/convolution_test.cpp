// What random rows of convolutions cannot show.
#include <cmath>
#include <limits>

#include "array.h"

namespace tenure::testing {
namespace {

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

TEST(FusedConvolution, has_the_bits_of_its_parts) {
  const Tensor x = random::normal({2, 9, 9, 5});
  const Tensor filter = random::normal({3, 3, 5, 21});
  const Tensor bias = random::normal({21});
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
