// Settings as files of Keras and TensorFlow.js have them.
#include "nn/layers/common.h"

#include <nlohmann/json.hpp>

#include "nn/layers/checks.h"

namespace tenure::testing {
namespace {

using nn::detail::Json;

nn::Layer read(const char* class_name, const char* config) {
  return nn::detail::layer_from_json(class_name, Json::parse(config));
}
Json config_of(const nn::Layer& layer) { return Json::parse(layer.config()); }

TEST(LayerFiles, one_axis_may_be_a_list) {
  EXPECT_EQ(config_of(read("BatchNormalization", R"({"axis": [3]})"))["axis"], 3);
  EXPECT_EQ(config_of(read("BatchNormalization", R"({"axis": 1})"))["axis"], 1);
  EXPECT_EQ(config_of(read("LayerNormalization", R"({"axis": -1})"))["axis"], Json::array({-1}));
  EXPECT_EQ(config_of(read("Softmax", R"({"axis": [1, 2]})"))["axis"], Json::array({1, 2}));
  EXPECT_THROW(read("BatchNormalization", R"({"axis": [1, 2]})"), ValueError);
}

TEST(LayerFiles, an_open_size_is_minus_1_or_null) {
  EXPECT_EQ(config_of(read("Reshape", R"({"target_shape": [3, null]})"))["target_shape"],
            Json::array({3, -1}));
  EXPECT_EQ(config_of(read("Reshape", R"({"target_shape": [-1]})"))["target_shape"],
            Json::array({-1}));
  EXPECT_EQ(config_of(read("Dropout", R"({"rate": 0.5, "noise_shape": [null, 1]})"))["noise_shape"],
            Json::array({nullptr, 1}));
}

TEST(LayerFiles, margins_are_a_number_a_list_or_pairs) {
  const Json both = Json::parse("[[1, 1], [2, 2]]");
  EXPECT_EQ(config_of(read("ZeroPadding2D", R"({"padding": [1, 2]})"))["padding"], both);
  EXPECT_EQ(config_of(read("ZeroPadding2D", R"({"padding": [[1, 1], [2, 2]]})"))["padding"], both);
  EXPECT_EQ(config_of(read("ZeroPadding2D", R"({"padding": 1})"))["padding"],
            Json::parse("[[1, 1], [1, 1]]"));
  EXPECT_EQ(config_of(read("ZeroPadding1D", R"({"padding": 2})"))["padding"], Json::array({2, 2}));
  EXPECT_EQ(config_of(read("Cropping1D", R"({"cropping": [0, 3]})"))["cropping"],
            Json::array({0, 3}));
  EXPECT_THROW(read("ZeroPadding2D", R"({"padding": [[1], [2]]})"), ValueError);
  EXPECT_THROW(read("ZeroPadding2D", R"({"padding": "same"})"), ValueError);
}

TEST(LayerFiles, windows_are_written_with_a_number_for_each_axis) {
  const Json conv = config_of(read("Conv2D", R"({"filters": 2, "kernel_size": 3})"));
  EXPECT_EQ(conv["kernel_size"], Json::array({3, 3}));
  EXPECT_EQ(conv["strides"], Json::array({1, 1}));
  EXPECT_EQ(conv["data_format"], "channels_last");
  const Json pool = config_of(read("MaxPooling1D", R"({"pool_size": [3], "strides": null})"));
  EXPECT_EQ(pool["strides"], Json::array({3}));
  EXPECT_EQ(
      config_of(read("Conv2DTranspose", R"({"filters": 2, "kernel_size": 3})"))["output_padding"],
      nullptr);
}

TEST(LayerFiles, names_that_changed_are_known) {
  EXPECT_EQ(config_of(read("LeakyReLU", R"({"alpha": 0.1})"))["negative_slope"], 0.1);
}

TEST(LayerFiles, what_keras_lacks_is_written_only_where_it_is_set) {
  EXPECT_FALSE(config_of(read("MultiHeadAttention", R"({"num_heads": 1, "key_dim": 2})"))
                   .contains("use_causal_mask"));
  EXPECT_TRUE(config_of(read("Attention", R"({"use_causal_mask": true})"))["use_causal_mask"]);
}

TEST(LayerFiles, a_setting_of_the_wrong_kind_is_named) {
  EXPECT_HAS(message_of<ValueError>([] { read("Dot", R"({"name": "d", "axes": "one"})"); }),
             "d: axes");
  EXPECT_HAS(message_of<ValueError>([] { read("Dropout", R"({"name": "d", "rate": "half"})"); }),
             "d: rate");
}

}  // namespace
}  // namespace tenure::testing
