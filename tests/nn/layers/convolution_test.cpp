#include "tenure/nn/conv_layers.h"

#include "nn/layers/checks.h"

namespace tenure::testing {
namespace {

struct Window {
  int stride = 1;
  int dilation = 1;
  int before = 0;  // padding
};

// [batch, steps, channels] by [taps, channels / groups, filters].
Grid convolved(Grid& x, Grid& kernel, Grid& bias, int steps, const Window& w, int groups = 1) {
  const auto batch = static_cast<int>(x.shape[0]), taps = static_cast<int>(kernel.shape[0]);
  const auto inputs = static_cast<int>(kernel.shape[1]),
             filters = static_cast<int>(kernel.shape[2]);
  Grid y({batch, steps, filters});
  for (int b = 0; b < batch; ++b) {
    for (int t = 0; t < steps; ++t) {
      for (int f = 0; f < filters; ++f) {
        double sum = bias(f);
        for (int k = 0; k < taps; ++k) {
          const int at = t * w.stride + k * w.dilation - w.before;
          if (at < 0 || at >= x.shape[1]) continue;
          const int first = f / (filters / groups) * inputs;
          for (int c = 0; c < inputs; ++c) sum += x(b, at, first + c) * kernel(k, c, f);
        }
        y(b, t, f) = sum;
      }
    }
  }
  return y;
}

template <class L>
L filled(const L& layer, const Tensor& x) {
  layer(x);
  fill_weights(layer);
  return layer;
}

TEST(ConvolutionLayers, conv1d_is_causal_dilated_and_strided) {
  Grid x = numbers({2, 7, 3});
  const auto check = [&](const nn::ConvLayerOptions& options, int steps, const Window& window) {
    const nn::Conv1D layer = filled(nn::Conv1D(options), x.tensor());
    Grid kernel = grid_of(layer.get_weights()[0]), bias = grid_of(layer.get_weights()[1]);
    expect_near(layer(x.tensor()), convolved(x, kernel, bias, steps, window));
    check_layer(layer, {x.tensor()});
  };
  check({.filters = 2, .kernel_size = {3}, .padding = "causal", .dtype = kDouble}, 7, {1, 1, 2});
  check({.filters = 2,
         .kernel_size = {3},
         .padding = "causal",
         .dilation_rate = {2},
         .dtype = kDouble},
        7, {1, 2, 4});
  check({.filters = 2, .kernel_size = {2}, .strides = {3}, .dtype = kDouble}, 2, {3, 1, 0});
  check({.filters = 4, .kernel_size = {3}, .padding = "same", .dtype = kDouble}, 7, {1, 1, 1});
}

TEST(ConvolutionLayers, groups_of_channels_are_convolved_by_themselves) {
  Grid x = numbers({2, 5, 4});
  const nn::Conv1D layer = filled(
      nn::Conv1D({.filters = 6, .kernel_size = {2}, .groups = 2, .dtype = kDouble}), x.tensor());
  Grid kernel = grid_of(layer.get_weights()[0]), bias = grid_of(layer.get_weights()[1]);
  EXPECT_EQ(kernel.shape, (Shape{2, 2, 6}));
  expect_near(layer(x.tensor()), convolved(x, kernel, bias, 4, {}, 2));
  check_layer(layer, {x.tensor()});
  check_layer(filled(nn::Conv2D({.filters = 2, .kernel_size = {2}, .groups = 2, .dtype = kDouble}),
                     ones({1, 3, 3, 4}, kDouble)),
              {numbers({1, 3, 3, 4}).tensor()});
  EXPECT_HAS(message_of<ShapeError>([] {
               nn::Conv2D({.filters = 2, .kernel_size = {2}, .groups = 2})(ones({1, 3, 3, 3}));
             }),
             "3 channels");
  EXPECT_THROW(nn::Conv2D({.filters = 3, .kernel_size = {2}, .groups = 2}), ValueError);
}

TEST(ConvolutionLayers, channels_first_gives_the_same_as_channels_last) {
  const Tensor x = numbers({2, 4, 5, 3}).tensor();
  const auto options = [](const char* format) {
    return nn::ConvLayerOptions{.filters = 2,
                                .kernel_size = {2, 3},
                                .padding = "same",
                                .data_format = format,
                                .activation = "tanh",
                                .dtype = kDouble};
  };
  const nn::Conv2D last = filled(nn::Conv2D(options("channels_last")), x);
  const nn::Conv2D first(options("channels_first"));
  const Tensor turned = transpose(x, {0, 3, 1, 2});
  first(turned);
  first.set_weights(last.get_weights());
  expect_near(transpose(first(turned), {0, 2, 3, 1}), grid_of(last(x)), 1e-12);
  check_layer(first, {turned});
}

TEST(ConvolutionLayers, every_rank_has_gradients_files_and_traces) {
  const auto options = [](Shape kernel) {
    return nn::ConvLayerOptions{
        .filters = 2, .kernel_size = std::move(kernel), .strides = {2}, .dtype = kDouble};
  };
  const Tensor image = numbers({2, 4, 4, 2}).tensor(), solid = numbers({2, 3, 3, 3, 2}).tensor();
  check_layer(filled(nn::Conv2D(options({2})), image), {image});
  check_layer(filled(nn::Conv3D(options({2, 1, 2})), solid), {solid});
  const nn::ConvTransposeOptions up{
      .filters = 2, .kernel_size = {3}, .strides = {2}, .padding = "same", .dtype = kDouble};
  check_layer(filled(nn::Conv2DTranspose(up), image), {image});
  const Tensor small = numbers({1, 2, 2, 1, 2}).tensor();
  check_layer(filled(nn::Conv3DTranspose(up), small), {small});
}

// Each input step adds a copy of the kernel to the output.
Grid transposed(Grid& x, Grid& kernel, Grid& bias, int steps, const Window& w) {
  const auto batch = static_cast<int>(x.shape[0]), taps = static_cast<int>(kernel.shape[0]);
  const auto filters = static_cast<int>(kernel.shape[1]),
             inputs = static_cast<int>(kernel.shape[2]);
  Grid y({batch, steps, filters});
  for (int b = 0; b < batch; ++b) {
    for (int f = 0; f < filters; ++f) {
      for (int t = 0; t < steps; ++t) y(b, t, f) = bias(f);
      for (int t = 0; t < x.shape[1]; ++t) {
        for (int k = 0; k < taps; ++k) {
          const int at = t * w.stride + k * w.dilation - w.before;
          if (at < 0 || at >= steps) continue;
          for (int c = 0; c < inputs; ++c) y(b, at, f) += x(b, t, c) * kernel(k, f, c);
        }
      }
    }
  }
  return y;
}

TEST(ConvolutionLayers, conv1d_transpose_spreads_each_step) {
  Grid x = numbers({2, 3, 2});
  const auto check = [&](const nn::ConvTransposeOptions& options, int steps, const Window& window) {
    const nn::Conv1DTranspose layer = filled(nn::Conv1DTranspose(options), x.tensor());
    Grid kernel = grid_of(layer.get_weights()[0]), bias = grid_of(layer.get_weights()[1]);
    expect_near(layer(x.tensor()), transposed(x, kernel, bias, steps, window));
    check_layer(layer, {x.tensor()});
  };
  check({.filters = 3, .kernel_size = {4}, .strides = {2}, .dtype = kDouble}, 8, {2, 1, 0});
  check({.filters = 3, .kernel_size = {3}, .strides = {2}, .padding = "same", .dtype = kDouble}, 6,
        {2, 1, 0});
  check({.filters = 1, .kernel_size = {2}, .strides = {3}, .dtype = kDouble}, 9, {3, 1, 0});
  check({.filters = 2, .kernel_size = {3}, .dilation_rate = {2}, .dtype = kDouble}, 7, {1, 2, 0});
  // (3 - 1) * 2 + 3 - 2 * 1 + 1 = 6; with no output padding it is 5, and padding stands on both
  // sides.
  check({.filters = 2,
         .kernel_size = {3},
         .strides = {2},
         .padding = "same",
         .output_padding = {1},
         .dtype = kDouble},
        6, {2, 1, 0});
  check({.filters = 2,
         .kernel_size = {3},
         .strides = {2},
         .padding = "same",
         .output_padding = {0},
         .dtype = kDouble},
        5, {2, 1, 1});
  check({.filters = 2, .kernel_size = {3}, .strides = {2}, .output_padding = {1}, .dtype = kDouble},
        8, {2, 1, 0});
  EXPECT_THROW(nn::Conv1DTranspose(
                   {.filters = 2, .kernel_size = {3}, .strides = {2}, .output_padding = {2}}),
               ValueError);
}

// Each channel by itself.
Grid depthwise(Grid& x, Grid& kernel, int steps, const Window& w) {
  const auto channels = static_cast<int>(kernel.shape[1]),
             times = static_cast<int>(kernel.shape[2]);
  Grid y({x.shape[0], steps, channels * times});
  for (int b = 0; b < x.shape[0]; ++b) {
    for (int t = 0; t < steps; ++t) {
      for (int c = 0; c < channels; ++c) {
        for (int m = 0; m < times; ++m) {
          for (int k = 0; k < kernel.shape[0]; ++k) {
            const int at = t * w.stride + k * w.dilation - w.before;
            if (at < 0 || at >= x.shape[1]) continue;
            y(b, t, c * times + m) += x(b, at, c) * kernel(k, c, m);
          }
        }
      }
    }
  }
  return y;
}

TEST(ConvolutionLayers, depthwise_conv1d_takes_each_channel_by_itself) {
  Grid x = numbers({2, 6, 3});
  const auto check = [&](const nn::DepthwiseConvOptions& options, int steps, const Window& window) {
    const nn::DepthwiseConv1D layer = filled(nn::DepthwiseConv1D(options), x.tensor());
    Grid kernel = grid_of(layer.get_weights()[0]), bias = grid_of(layer.get_weights()[1]);
    Grid want = depthwise(x, kernel, steps, window);
    for (std::size_t i = 0; i < want.values.size(); ++i) {
      want.values[i] += bias.values[i % bias.values.size()];
    }
    expect_near(layer(x.tensor()), want);
    check_layer(layer, {x.tensor()});
  };
  check({.kernel_size = {3}, .depth_multiplier = 2, .dtype = kDouble}, 4, {});
  check({.kernel_size = {2}, .strides = {2}, .dtype = kDouble}, 3, {2, 1, 0});
  check({.kernel_size = {3}, .padding = "same", .dtype = kDouble}, 6, {1, 1, 1});
  check({.kernel_size = {2}, .padding = "causal", .dilation_rate = {2}, .dtype = kDouble}, 6,
        {1, 2, 2});
}

TEST(ConvolutionLayers, separable_conv1d_is_depthwise_then_pointwise) {
  Grid x = numbers({2, 6, 3});
  const auto check = [&](const nn::SeparableConvOptions& options, int steps, const Window& window) {
    const nn::SeparableConv1D layer = filled(nn::SeparableConv1D(options), x.tensor());
    const std::vector<Tensor> weights = layer.get_weights();
    Grid kernel = grid_of(weights[0]), point = grid_of(weights[1]), bias = grid_of(weights[2]);
    Grid between = depthwise(x, kernel, steps, window);
    expect_near(layer(x.tensor()), convolved(between, point, bias, steps, {}));
    check_layer(layer, {x.tensor()});
  };
  check({.filters = 4, .kernel_size = {3}, .depth_multiplier = 2, .dtype = kDouble}, 4, {});
  check({.filters = 2, .kernel_size = {3}, .padding = "causal", .dtype = kDouble}, 6, {1, 1, 2});
}

TEST(ConvolutionLayers, depthwise_and_separable_images_have_gradients) {
  const Tensor x = numbers({2, 4, 3, 2}).tensor(), turned = transpose(x, {0, 3, 1, 2});
  check_layer(filled(nn::DepthwiseConv2D({.kernel_size = {2}, .dtype = kDouble}), x), {x});
  check_layer(filled(nn::SeparableConv2D({.filters = 2, .kernel_size = {2}, .dtype = kDouble}), x),
              {x});
  const nn::DepthwiseConv2D first(
      {.kernel_size = {2}, .data_format = "channels_first", .dtype = kDouble});
  check_layer(filled(first, turned), {turned});
  const Tensor steps = numbers({2, 3, 5}).tensor();
  const nn::SeparableConv1D narrow(
      {.filters = 2, .kernel_size = {2}, .data_format = "channels_first", .dtype = kDouble});
  check_layer(filled(narrow, steps), {steps});
}

TEST(ConvolutionLayers, weights_have_the_names_and_beginnings_of_keras) {
  const nn::SeparableConv2D layer({.filters = 3, .kernel_size = {2}, .name = "sep"});
  layer.build({nn::kAny, 8, 8, 4});
  ASSERT_EQ(layer.weights().size(), 3u);
  EXPECT_EQ(layer.weights()[0].name(), "sep/depthwise_kernel");
  EXPECT_EQ(layer.weights()[1].name(), "sep/pointwise_kernel");
  EXPECT_EQ(layer.weights()[1].shape(), (Shape{1, 1, 4, 3}));
  EXPECT_EQ(floats(layer.get_weights()[2]), (Floats{0, 0, 0}));
  const nn::Conv2D conv({.filters = 8, .kernel_size = {3}, .name = "conv"});
  conv.build({nn::kAny, 8, 8, 4});
  EXPECT_EQ(conv.weights()[0].name(), "conv/kernel");
  const double bound = std::sqrt(6.0 / (9 * 4 + 9 * 8));
  for (const float value : floats(conv.get_weights()[0])) EXPECT_LE(std::abs(value), bound);
}

TEST(ConvolutionLayers, what_does_not_fit_is_named) {
  const nn::Conv2D layer({.filters = 2, .kernel_size = {3}, .name = "c"});
  const std::string text = message_of<ShapeError>([&] { layer(ones({5, 5, 1})); });
  EXPECT_HAS(text, "Conv2D \"c\"");
  EXPECT_HAS(text, "rank 4, was given [5, 5, 1]");
  layer(ones({1, 5, 5, 2}));
  EXPECT_HAS(message_of<ShapeError>([&] { layer(ones({1, 5, 5, 3})); }), "Conv2D \"c\"");
  EXPECT_THROW(layer(ones({5, 5, 2})), ShapeError);
  EXPECT_HAS(message_of<ShapeError>([] {
               nn::Conv1D({.filters = 2, .kernel_size = {3}}).build({nn::kAny, 4, nn::kAny});
             }),
             "how many channels");
  EXPECT_HAS(message_of<ValueError>([] { nn::Conv2D({.filters = 0, .kernel_size = {3}}); }),
             "Conv2D: filters");
  EXPECT_THROW(nn::Conv2D({.filters = 1}), ValueError);
  EXPECT_THROW(nn::Conv2D({.filters = 1, .kernel_size = {3, 3, 3}}), ValueError);
  EXPECT_THROW(nn::Conv2D({.filters = 1, .kernel_size = {3}, .strides = {0}}), ValueError);
  EXPECT_HAS(message_of<ValueError>(
                 [] { nn::Conv2D({.filters = 1, .kernel_size = {3}, .padding = "causal"}); }),
             "no such padding: \"causal\"");
  EXPECT_THROW(nn::DepthwiseConv2D({.kernel_size = {3}, .depth_multiplier = 0}), ValueError);
}

}  // namespace
}  // namespace tenure::testing
