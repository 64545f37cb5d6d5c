#include "tenure/nn/reshaping_layers.h"

#include <algorithm>
#include <cmath>

#include "nn/layers/checks.h"

namespace tenure::testing {
namespace {

TEST(ReshapingLayers, flatten_keeps_the_batch) {
  EXPECT_EQ(nn::Flatten()(ones({2, 3, 4})).shape(), (Shape{2, 12}));
  EXPECT_EQ(nn::Flatten()(ones({2})).shape(), (Shape{2, 1}));
  EXPECT_EQ(nn::Flatten()(ones({0, 3, 4})).shape(), (Shape{0, 12}));
  check_layer(nn::Flatten({.data_format = "channels_first"}), {numbers({2, 3, 2, 2}).tensor()});
}

TEST(ReshapingLayers, reshape_finds_the_size_that_is_open) {
  EXPECT_EQ(nn::Reshape({.target_shape = {3, -1}})(ones({5, 2, 6})).shape(), (Shape{5, 3, 4}));
  EXPECT_EQ(nn::Reshape({.target_shape = {12}})(ones({5, 2, 6})).shape(), (Shape{5, 12}));
  check_layer(nn::Reshape({.target_shape = {-1}}), {numbers({2, 2, 3}).tensor()});
  check_layer(nn::Reshape({.target_shape = {3, -1, 2}}), {numbers({2, 2, 6}).tensor()});
  EXPECT_HAS(message_of<ShapeError>([] { nn::Reshape({.target_shape = {4}})(ones({2, 2, 4})); }),
             "cannot make [4] of each example of [2, 2, 4]");
  EXPECT_THROW(nn::Reshape({.target_shape = {5, -1}})(ones({2, 6})), ShapeError);
  EXPECT_THROW(nn::Reshape({.target_shape = {-1, -1}}), ValueError);
  EXPECT_THROW(nn::Reshape({.target_shape = {-2}}), ValueError);
}

TEST(ReshapingLayers, a_reshape_of_sizes_that_vary_is_known_where_it_can_be) {
  const nn::Node input = nn::Input({.shape = {nn::kAny, 6}});
  EXPECT_EQ(nn::Reshape({.target_shape = {-1, 2}})(input).shape(), (Shape{nn::kAny, nn::kAny, 2}));
}

TEST(ReshapingLayers, permute_counts_axes_from_1) {
  Grid x = numbers({2, 3, 4}), want({2, 4, 3});
  for (int b = 0; b < 2; ++b) {
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 4; ++j) want(b, j, i) = x(b, i, j);
    }
  }
  const nn::Permute permute({.dims = {2, 1}});
  expect_near(in_double(permute)(x.tensor()), want, 0);
  check_layer(permute, {x.tensor()});
  EXPECT_HAS(message_of<ShapeError>([&] { permute(ones({2, 3})); }), "rank 3");
  EXPECT_THROW(nn::Permute({.dims = {1, 1}}), ValueError);
  EXPECT_THROW(nn::Permute({.dims = {0, 1}}), ValueError);
  EXPECT_THROW(nn::Permute({.dims = {}}), ValueError);
}

TEST(ReshapingLayers, repeat_vector_makes_steps) {
  EXPECT_EQ(floats(nn::RepeatVector({.n = 2})(tensor({1.f, 2.f}, {1, 2}))), (Floats{1, 2, 1, 2}));
  check_layer(nn::RepeatVector({.n = 3}), {numbers({2, 4}).tensor()});
  EXPECT_THROW(nn::RepeatVector({.n = 3})(ones({2, 3, 4})), ShapeError);
  EXPECT_THROW(nn::RepeatVector({.n = 0}), ValueError);
}

TEST(ReshapingLayers, cropping_and_padding_work_along_each_axis) {
  Grid x = numbers({2, 5, 3});
  Grid cropped({2, 2, 3}), padded({2, 8, 3});
  for (int b = 0; b < 2; ++b) {
    for (int f = 0; f < 3; ++f) {
      for (int t = 0; t < 2; ++t) cropped(b, t, f) = x(b, t + 1, f);
      for (int t = 0; t < 5; ++t) padded(b, t + 1, f) = x(b, t, f);
    }
  }
  const nn::Cropping1D crop({.cropping = {{1, 2}}});
  const nn::ZeroPadding1D pad({.padding = {{1, 2}}});
  expect_near(in_double(crop)(x.tensor()), cropped, 0);
  expect_near(in_double(pad)(x.tensor()), padded, 0);
  check_layer(crop, {x.tensor()});
  check_layer(pad, {x.tensor()});

  const Tensor image = numbers({2, 4, 5, 2}).tensor();
  check_layer(nn::Cropping2D({.cropping = {{1, 0}, {2, 1}}}), {image});
  check_layer(nn::Cropping2D({.cropping = {{1, 1}}, .data_format = "channels_first"}),
              {numbers({2, 2, 4, 3}).tensor()});
  check_layer(nn::ZeroPadding2D(), {image});

  Grid solid = numbers({1, 3, 4, 2, 2}), inside({1, 1, 2, 2, 2}), around({1, 4, 4, 3, 2});
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) {
      for (int k = 0; k < 2; ++k) {
        for (int c = 0; c < 2; ++c) {
          if (i == 1 && j > 0 && j < 3) inside(0, 0, j - 1, k, c) = solid(0, i, j, k, c);
          around(0, i + 1, j, k, c) = solid(0, i, j, k, c);
        }
      }
    }
  }
  const nn::Cropping3D crop3({.cropping = {{1, 1}, {1, 1}, {0, 0}}});
  const nn::ZeroPadding3D pad3({.padding = {{1, 0}, {0, 0}, {0, 1}}});
  expect_near(in_double(crop3)(solid.tensor()), inside, 0);
  expect_near(in_double(pad3)(solid.tensor()), around, 0);
  check_layer(crop3, {solid.tensor()});
  check_layer(pad3, {solid.tensor()});
}

TEST(ReshapingLayers, the_margins_default_to_what_keras_has) {
  EXPECT_EQ(nn::Cropping1D()(ones({1, 5, 1})).shape(), (Shape{1, 3, 1}));
  EXPECT_EQ(nn::Cropping2D()(ones({1, 5, 5, 1})).shape(), (Shape{1, 5, 5, 1}));
  EXPECT_EQ(nn::Cropping3D()(ones({1, 5, 5, 5, 1})).shape(), (Shape{1, 3, 3, 3, 1}));
  EXPECT_EQ(nn::ZeroPadding1D()(ones({1, 5, 1})).shape(), (Shape{1, 7, 1}));
  EXPECT_EQ(nn::ZeroPadding3D()(ones({1, 1, 2, 3, 1})).shape(), (Shape{1, 3, 4, 5, 1}));
}

TEST(ReshapingLayers, a_crop_that_leaves_nothing_is_refused) {
  EXPECT_HAS(
      message_of<ShapeError>([] { nn::Cropping1D({.cropping = {{2, 3}}})(ones({1, 5, 2})); }),
      "leaves nothing of [1, 5, 2]");
  EXPECT_THROW(nn::Cropping2D()(ones({1, 5, 2})), ShapeError);
  EXPECT_THROW(nn::ZeroPadding2D({.padding = {{1, 1}, {1, 1}, {1, 1}}}), ValueError);
  EXPECT_THROW(nn::ZeroPadding2D({.padding = {{-1, 1}}}), ValueError);
  EXPECT_THROW(nn::ZeroPadding2D({.data_format = "nchw"}), ValueError);
}

TEST(ReshapingLayers, up_sampling_repeats) {
  Grid x = numbers({2, 3, 2}), want({2, 6, 2});
  for (int b = 0; b < 2; ++b) {
    for (int t = 0; t < 6; ++t) {
      for (int f = 0; f < 2; ++f) want(b, t, f) = x(b, t / 2, f);
    }
  }
  expect_near(in_double(nn::UpSampling1D())(x.tensor()), want, 0);
  check_layer(nn::UpSampling1D({.size = 3}), {x.tensor()});

  Grid solid = numbers({1, 2, 2, 1, 2}), larger({1, 2, 4, 3, 2});
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 4; ++j) {
      for (int k = 0; k < 3; ++k) {
        for (int c = 0; c < 2; ++c) larger(0, i, j, k, c) = solid(0, i, j / 2, 0, c);
      }
    }
  }
  const nn::UpSampling3D three({.size = {1, 2, 3}});
  expect_near(in_double(three)(solid.tensor()), larger, 0);
  check_layer(three, {solid.tensor()});
  check_layer(nn::UpSampling3D({.data_format = "channels_first"}),
              {numbers({1, 2, 1, 2, 2}).tensor()});
  check_layer(nn::UpSampling2D({.size = {2, 3}}), {numbers({2, 2, 2, 2}).tensor()});
}

TEST(ReshapingLayers, bilinear_up_sampling_is_by_the_middles_of_pixels) {
  Grid x = numbers({1, 3, 2, 2}), want({1, 6, 6, 2});
  // Where the middle of pixel i of the larger image lies in the smaller one.
  const auto blend = [](int i, int factor, int size) {
    const double at = std::clamp((i + 0.5) / factor - 0.5, 0.0, size - 1.0);
    const int low = static_cast<int>(at);
    return std::tuple(low, std::min(low + 1, size - 1), at - low);
  };
  for (int i = 0; i < 6; ++i) {
    const auto [i0, i1, di] = blend(i, 2, 3);
    for (int j = 0; j < 6; ++j) {
      const auto [j0, j1, dj] = blend(j, 3, 2);
      for (int c = 0; c < 2; ++c) {
        want(0, i, j, c) = (1 - di) * ((1 - dj) * x(0, i0, j0, c) + dj * x(0, i0, j1, c)) +
                           di * ((1 - dj) * x(0, i1, j0, c) + dj * x(0, i1, j1, c));
      }
    }
  }
  const nn::UpSampling2D layer({.size = {2, 3}, .interpolation = "bilinear"});
  expect_near(layer(x.tensor(DType::float32)), want, 1e-5);
  const nn::UpSampling2D first(
      {.size = {2, 3}, .data_format = "channels_first", .interpolation = "bilinear"});
  expect_near(transpose(first(transpose(x.tensor(DType::float32), {0, 3, 1, 2})), {0, 2, 3, 1}),
              want, 1e-5);
  EXPECT_THROW(nn::UpSampling2D({.interpolation = "cubic"}), ValueError);
  EXPECT_THROW(nn::UpSampling2D({.size = {0}}), ValueError);
}

}  // namespace
}  // namespace tenure::testing
