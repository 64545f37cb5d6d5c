#include "tenure/nn/pooling_layers.h"

#include <algorithm>

#include "nn/layers/checks.h"

namespace tenure::testing {
namespace {

TEST(PoolingLayers, all_ranks_have_gradients_files_and_traces) {
  const Tensor steps = numbers({2, 5, 2}).tensor(), image = numbers({2, 4, 5, 2}).tensor();
  const Tensor solid = numbers({1, 2, 4, 3, 2}).tensor();
  for (const char* padding : {"valid", "same"}) {
    const nn::PoolingOptions options{.pool_size = {2}, .strides = Shape{1}, .padding = padding};
    check_layer(nn::MaxPooling1D(options), {steps});
    check_layer(nn::AveragePooling1D(options), {steps});
    check_layer(nn::MaxPooling2D(options), {image});
    check_layer(nn::AveragePooling2D(options), {image});
    check_layer(nn::MaxPooling3D(options), {solid});
    check_layer(nn::AveragePooling3D(options), {solid});
  }
  check_layer(nn::MaxPooling1D({.data_format = "channels_first"}), {steps});
}

TEST(PoolingLayers, strides_default_to_the_window) {
  EXPECT_EQ(nn::MaxPooling2D({.pool_size = {3, 2}})(ones({1, 6, 6, 1})).shape(),
            (Shape{1, 2, 3, 1}));
  EXPECT_EQ(nn::AveragePooling1D()(ones({1, 6, 1})).shape(), (Shape{1, 3, 1}));
}

TEST(PoolingLayers, padding_takes_no_part_in_a_mean) {
  const nn::AveragePooling1D layer({.pool_size = {3}, .strides = Shape{1}, .padding = "same"});
  EXPECT_EQ(floats(layer(tensor({2.f, 4.f, 6.f}, {1, 3, 1}))), (Floats{3, 4, 5}));
}

TEST(PoolingLayers, global_pooling_reduces_all_axes_but_batch_and_channels) {
  Grid x = numbers({2, 2, 3, 2, 3});
  Grid mean({2, 3}), largest({2, 3});
  for (int b = 0; b < 2; ++b) {
    for (int c = 0; c < 3; ++c) {
      largest(b, c) = -2;
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 3; ++j) {
          for (int k = 0; k < 2; ++k) {
            mean(b, c) += x(b, i, j, k, c) / 12;
            largest(b, c) = std::max(largest(b, c), x(b, i, j, k, c));
          }
        }
      }
    }
  }
  expect_near(in_double(nn::GlobalAveragePooling3D())(x.tensor()), mean);
  expect_near(in_double(nn::GlobalMaxPooling3D())(x.tensor()), largest);
  const Tensor first = transpose(x.tensor(), {0, 4, 1, 2, 3});
  const nn::GlobalAveragePooling3D turned({.data_format = "channels_first"});
  expect_near(in_double(turned)(first), mean);
  check_layer(turned, {first});
  check_layer(nn::GlobalMaxPooling3D(), {x.tensor()});

  EXPECT_EQ(nn::GlobalAveragePooling2D({.keepdims = true})(ones({2, 3, 4, 5})).shape(),
            (Shape{2, 1, 1, 5}));
  EXPECT_EQ(nn::GlobalMaxPooling2D({.data_format = "channels_first", .keepdims = true})(
                ones({2, 3, 4, 5}))
                .shape(),
            (Shape{2, 3, 1, 1}));
  const Tensor image = numbers({2, 3, 2, 2}).tensor(), steps = numbers({2, 4, 3}).tensor();
  check_layer(nn::GlobalMaxPooling2D({.keepdims = true}), {image});
  check_layer(nn::GlobalAveragePooling2D(), {image});
  check_layer(nn::GlobalMaxPooling1D(), {steps});
  check_layer(nn::GlobalAveragePooling1D({.keepdims = true}), {steps});
}

TEST(PoolingLayers, a_mean_over_steps_leaves_out_those_that_are_masked) {
  Grid x = numbers({2, 3, 2});
  const Tensor mask = tensor(std::vector<bool>{true, false, true, false, true, false}, {2, 3});
  Grid want({2, 2});
  for (int f = 0; f < 2; ++f) {
    want(0, f) = (x(0, 0, f) + x(0, 2, f)) / 2;
    want(1, f) = x(1, 1, f);
  }
  const nn::GlobalAveragePooling1D layer;
  expect_near(in_double(layer)(x.tensor(), {.masks = {mask}}), want);
  EXPECT_FALSE(layer.compute_mask({x.tensor()}, {mask}).defined());
  check_layer(layer, {x.tensor()}, {.masks = {mask}});
  // Whose sum is beyond float16.
  const Tensor large = full({1, 9, 1}, 30000, DType::float16);
  const Tensor all_steps = cast(ones({1, 9}), DType::boolean);
  EXPECT_TRUE(equal(layer(large, {.masks = {all_steps}}), 30000).item<bool>());
}

TEST(PoolingLayers, what_does_not_fit_is_named) {
  EXPECT_HAS(message_of<ShapeError>([] { nn::MaxPooling2D()(ones({4, 4, 1})); }),
             "rank 4, was given [4, 4, 1]");
  EXPECT_THROW(nn::GlobalMaxPooling1D()(ones({4, 4})), ShapeError);
  EXPECT_HAS(message_of<ValueError>([] { nn::MaxPooling1D({.pool_size = {0}}); }),
             "MaxPooling1D: pool_size must be 1 or more: [0]");
  EXPECT_THROW(nn::AveragePooling2D({.pool_size = {1, 2, 3}}), ValueError);
  EXPECT_THROW(nn::AveragePooling2D({.strides = Shape{0}}), ValueError);
  EXPECT_THROW(nn::AveragePooling2D({.padding = "full"}), ValueError);
}

}  // namespace
}  // namespace tenure::testing
