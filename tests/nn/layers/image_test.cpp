#include "tenure/nn/image_layers.h"

#include "nn/layers/checks.h"

namespace tenure::testing {
namespace {

TEST(ImageLayers, rescaling_gives_the_dtype_of_the_layer) {
  const nn::Rescaling layer({.scale = 1.0 / 255, .offset = -0.5});
  const Tensor y = layer(tensor(std::vector<std::uint8_t>{0, 255}, {1, 2}));
  EXPECT_EQ(y.dtype(), DType::float32);
  EXPECT_EQ(floats(y), (Floats{-0.5f, 0.5f}));
  check_layer(nn::Rescaling({.scale = 2, .offset = 1, .dtype = kDouble}),
              {numbers({2, 3}).tensor()});
}

TEST(ImageLayers, resizing_halves_by_the_middles_of_pixels) {
  const Tensor x = tensor({0.f, 2.f, 4.f, 6.f, 8.f, 10.f, 12.f, 14.f}, {1, 2, 4, 1});
  const nn::Resizing layer({.height = 1, .width = 2});
  EXPECT_EQ(floats(layer(x)), (Floats{5, 9}));
  EXPECT_EQ(layer(reshape(x, {2, 4, 1})).shape(), (Shape{1, 2, 1}));
  EXPECT_EQ(floats(nn::Resizing({.height = 1, .width = 2, .interpolation = "nearest"})(x)),
            (Floats{10, 14}));
  check_config(layer, {x});
  check_trace(layer, {x});
  check_spec(layer, {x});
}

TEST(ImageLayers, resizing_can_cut_what_would_be_squeezed) {
  const Tensor x = tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, 8.f}, {1, 2, 4, 1});
  const nn::Resizing layer({.height = 2, .width = 2, .crop_to_aspect_ratio = true});
  EXPECT_EQ(floats(layer(x)), (Floats{2, 3, 6, 7}));
}

TEST(ImageLayers, center_crop_takes_the_middle_or_resizes) {
  Grid x = numbers({2, 4, 5, 2}), want({2, 2, 3, 2});
  for (int b = 0; b < 2; ++b) {
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 3; ++j) {
        for (int c = 0; c < 2; ++c) want(b, i, j, c) = x(b, i + 1, j + 1, c);
      }
    }
  }
  const nn::CenterCrop layer({.height = 2, .width = 3, .dtype = kDouble});
  expect_near(layer(x.tensor()), want, 0);
  check_layer(layer, {x.tensor()});
  const nn::CenterCrop larger({.height = 8, .width = 8});
  EXPECT_EQ(larger(x.tensor(DType::float32)).shape(), (Shape{2, 8, 8, 2}));
}

TEST(ImageLayers, categories_become_rows) {
  const Tensor ids = tensor({0, 2, 2, 1}, {2, 2});
  EXPECT_EQ(floats(nn::CategoryEncoding({.num_tokens = 3})(ids)), (Floats{1, 0, 1, 0, 1, 1}));
  const nn::CategoryEncoding count({.num_tokens = 3, .output_mode = "count"});
  EXPECT_EQ(floats(count(tensor({2, 2, 2, 1}, {2, 2}))), (Floats{0, 0, 2, 0, 1, 1}));
  EXPECT_EQ(floats(count({ids, tensor({0.5f, 1.f, 2.f, 3.f}, {2, 2})})),
            (Floats{0.5f, 0, 1, 0, 3, 2}));
  const nn::CategoryEncoding one({.num_tokens = 3, .output_mode = "one_hot"});
  EXPECT_EQ(floats(one(tensor({2, 0}, {2, 1}))), (Floats{0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(one(ids).shape(), (Shape{2, 2, 3}));
  check_config(count, {ids});
  check_trace(count, {ids});
}

TEST(ImageLayers, what_does_not_fit_is_named) {
  EXPECT_HAS(message_of<ShapeError>([] { nn::Resizing({.height = 2, .width = 2})(ones({4, 4})); }),
             "rank 3 or 4, was given [4, 4]");
  EXPECT_THROW(nn::CenterCrop({.height = 2, .width = 2})(ones({4, 4})), ShapeError);
  EXPECT_THROW(nn::Resizing({.height = 0, .width = 2}), ValueError);
  EXPECT_THROW(nn::Resizing({.height = 1, .width = 2, .interpolation = "area"}), ValueError);
  EXPECT_THROW(nn::CategoryEncoding({.num_tokens = 3})(tensor({3}, {1, 1})), ValueError);
  EXPECT_THROW(nn::CategoryEncoding({.num_tokens = 0}), ValueError);
  EXPECT_THROW(nn::CategoryEncoding({.num_tokens = 3, .output_mode = "int"}), ValueError);
  EXPECT_THROW(nn::CategoryEncoding({.num_tokens = 3})(ones({2, 2, 2})), ShapeError);
  EXPECT_THROW(nn::CategoryEncoding({.num_tokens = 3})({ones({2}), ones({2})}), ShapeError);
}

}  // namespace
}  // namespace tenure::testing
