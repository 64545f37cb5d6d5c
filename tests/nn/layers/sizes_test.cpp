// Settings that are a number or several, and the order in which settings are written.
#include <nlohmann/json.hpp>

#include "nn/layers/checks.h"
#include "tenure/nn.h"

namespace tenure::testing {
namespace {

using Json = nlohmann::ordered_json;

Json config_of(const nn::Layer& layer) { return Json::parse(layer.config()); }

TEST(LayerSizes, one_number_is_the_same_for_every_axis) {
  const Json conv = config_of(nn::Conv3D({.filters = 1, .kernel_size = 3, .strides = 2}));
  EXPECT_EQ(conv["kernel_size"], Json({3, 3, 3}));
  EXPECT_EQ(conv["strides"], Json({2, 2, 2}));
  EXPECT_EQ(conv["dilation_rate"], Json({1, 1, 1}));
  EXPECT_EQ(config_of(nn::Conv2D({.filters = 1, .kernel_size = {3, 5}}))["kernel_size"],
            Json({3, 5}));
  const Shape sizes{3, 5};
  EXPECT_EQ(config_of(nn::Conv2D({.filters = 1, .kernel_size = sizes}))["kernel_size"],
            Json({3, 5}));
  const std::int64_t three = 3;
  EXPECT_EQ(config_of(nn::Conv1D({.filters = 1, .kernel_size = three}))["kernel_size"], Json({3}));
  const Json back = config_of(nn::Conv2DTranspose(
      {.filters = 1, .kernel_size = 3, .strides = 2, .output_padding = 1, .dilation_rate = 1}));
  EXPECT_EQ(back["output_padding"], Json({1, 1}));
  EXPECT_EQ(config_of(nn::DepthwiseConv2D({.kernel_size = 2}))["kernel_size"], Json({2, 2}));
  EXPECT_EQ(config_of(nn::SeparableConv1D({.filters = 1, .kernel_size = 2}))["kernel_size"],
            Json({2}));
  EXPECT_EQ(config_of(nn::ConvLSTM2D({.filters = 1, .kernel_size = 3}))["kernel_size"].size(), 1u);
  const Json pool = config_of(nn::MaxPooling2D({.pool_size = 3}));
  EXPECT_EQ(pool["pool_size"], Json({3, 3}));
  EXPECT_EQ(pool["strides"], Json({3, 3}));
  EXPECT_EQ(config_of(nn::AveragePooling2D({.pool_size = {3, 2}, .strides = 1}))["strides"],
            Json({1, 1}));
  EXPECT_EQ(config_of(nn::UpSampling2D({.size = 3}))["size"], Json({3, 3}));
  EXPECT_EQ(config_of(nn::UpSampling1D({.size = 3}))["size"], 3);
}

TEST(LayerSizes, margins_are_a_number_numbers_or_pairs) {
  const auto padding = [](nn::Margins margins) {
    return config_of(nn::ZeroPadding2D({.padding = std::move(margins)}))["padding"];
  };
  EXPECT_EQ(padding(1), Json({{1, 1}, {1, 1}}));
  EXPECT_EQ(padding({1, 2}), Json({{1, 1}, {2, 2}}));
  EXPECT_EQ(padding({{1, 0}, {2, 3}}), Json({{1, 0}, {2, 3}}));
  EXPECT_EQ(padding(Paddings{{1, 0}}), Json({{1, 0}, {1, 0}}));
  EXPECT_EQ(config_of(nn::ZeroPadding1D({.padding = {1, 2}}))["padding"], Json({1, 2}));
  EXPECT_EQ(config_of(nn::Cropping1D({.cropping = 2}))["cropping"], Json({2, 2}));
  EXPECT_EQ(config_of(nn::Cropping3D({.cropping = {1, 2, 3}}))["cropping"],
            Json({{1, 1}, {2, 2}, {3, 3}}));
  EXPECT_EQ(nn::ZeroPadding2D({.padding = 2})(ones({1, 3, 3, 1})).shape(), (Shape{1, 7, 7, 1}));
  EXPECT_HAS(message_of<ValueError>([] { nn::ZeroPadding2D({.padding = {1, 2, 3}}); }),
             "ZeroPadding2D: padding takes one number, 2, or as many pairs, was given [1, 2, 3]");
  EXPECT_HAS(message_of<ValueError>([] { nn::Cropping1D({.cropping = {1, 2, 3}}); }),
             "Cropping1D: cropping takes one number or a pair, was given [1, 2, 3]");
}

TEST(LayerSizes, axes_are_one_or_several) {
  EXPECT_EQ(config_of(nn::Softmax({.axis = 1}))["axis"], 1);
  EXPECT_EQ(config_of(nn::Softmax({.axis = {1, 2}}))["axis"], Json({1, 2}));
  EXPECT_EQ(config_of(nn::LayerNormalization({.axis = 1}))["axis"], Json({1}));
  EXPECT_EQ(config_of(nn::Dot({.axes = 1}))["axes"], 1);
  EXPECT_EQ(config_of(nn::PReLU({.shared_axes = 1}))["shared_axes"], 1);
  const nn::MultiHeadAttention attention(
      {.num_heads = 1, .key_dim = 2, .output_shape = 5, .attention_axes = 1});
  EXPECT_EQ(attention({ones({2, 3, 4}), ones({2, 3, 4})}).shape(), (Shape{2, 3, 5}));
}

TEST(LayerSizes, a_wrong_count_names_the_layer_and_the_field) {
  EXPECT_HAS(message_of<ValueError>([] { nn::Conv1D({.filters = 1, .kernel_size = {3, 3}}); }),
             "Conv1D: kernel_size takes one number, was given [3, 3]");
  EXPECT_HAS(message_of<ValueError>(
                 [] { nn::Conv2D({.filters = 1, .kernel_size = 3, .strides = {1, 2, 3}}); }),
             "Conv2D: strides takes one number, or 2, was given [1, 2, 3]");
  EXPECT_HAS(message_of<ValueError>([] { nn::MaxPooling3D({.pool_size = {2, 2}}); }),
             "MaxPooling3D: pool_size takes one number, or 3, was given [2, 2]");
  EXPECT_HAS(message_of<ValueError>([] { nn::UpSampling2D({.size = 0}); }),
             "UpSampling2D: size must be 1 or more: [0]");
}

TEST(LayerSizes, other_numbers_are_one_or_several_too) {
  EXPECT_EQ(config_of(nn::RMSNormalization({.axis = 1}))["axis"], 1);
  EXPECT_EQ(config_of(nn::UnitNormalization({.axis = {1, 2}}))["axis"], Json({1, 2}));
  const nn::Normalization all({.axis = {}, .mean = 1, .variance = 4});
  EXPECT_EQ(floats(all(full({2, 2}, 5.f))), (Floats{2, 2, 2, 2}));
  const nn::Normalization last({.axis = 1, .mean = {1, 2}, .variance = 1});
  EXPECT_EQ(floats(last(ones({1, 2}))), (Floats{0, -1}));
  EXPECT_EQ(
      config_of(nn::EinsumDense({.equation = "ab,bc->ac", .output_shape = 3}))["output_shape"],
      Json({3}));
  EXPECT_EQ(Json::parse(nn::Precision({.thresholds = 0.3}).config())["thresholds"], Json({0.3}));
  EXPECT_EQ(Json::parse(nn::Recall({.thresholds = {0.3, 1}}).config())["thresholds"],
            Json({0.3, 1.0}));
  EXPECT_EQ(Json::parse(nn::Dice({.axis = 1}).config())["axis"], 1);
}

TEST(LayerSizes, a_loss_weight_of_one_output_is_a_number) {
  const nn::Sequential model(
      {nn::Dense({.units = 1, .kernel_initializer = "ones", .input_shape = {1}})});
  model.compile({.optimizer = "sgd", .loss = "mse", .loss_weights = 0.5});
  EXPECT_EQ(nn::value_of(model.test_on_batch(full({1, 1}, 2.f), zeros({1, 1})), "loss"), 2);
}

}  // namespace
}  // namespace tenure::testing
