#include "tenure/nn/layer.h"

#include <gtest/gtest.h>

#include "support/expect.h"
#include "tenure/nn/core_layers.h"
#include "tenure/tenure.h"

namespace {

namespace nn = tenure::nn;
using tenure::Shape;
using tenure::Tensor;
using tenure::ValueError;
using tenure::Variable;
using tenure::testing::message_of;

struct Scale : nn::LayerBase {
  void build(const Shape& input) override {
    gain = add_weight("gain", {input[-1]}, {.initializer = "ones"});
  }
  Tensor call(const Tensor& x, const nn::Call&) override { return x * gain; }
  const char* class_name() const override { return "Scale"; }
  Variable gain;
};

TEST(Layer, dense_multiplies_and_adds) {
  const nn::Dense dense({.units = 2, .activation = "relu"});
  const Tensor x = tenure::tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {2, 3});
  EXPECT_EQ(dense(x).shape(), (Shape{2, 2}));
  dense.set_weights(
      {tenure::tensor({1.f, 0.f, 0.f, 1.f, 1.f, -9.f}, {3, 2}), tenure::tensor({0.5f, 0.f})});
  EXPECT_EQ(dense(x).to_vector<float>(), (std::vector<float>{4.5f, 0.f, 10.5f, 0.f}));
}

TEST(Layer, a_layer_of_ones_own_takes_a_dozen_lines) {
  const nn::Layer scale = nn::make_layer<Scale>();
  const Tensor y = scale(tenure::ones({2, 3}));
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(6, 1.f));
  EXPECT_EQ(scale.count_params(), 3);
}

TEST(Layer, a_node_knows_its_shape_before_anything_is_computed) {
  const nn::Node input = nn::Input({.shape = {nn::kAny, 3}});
  const nn::Node output = nn::Dense({.units = 7})(input);
  EXPECT_EQ(output.shape(), (Shape{nn::kAny, nn::kAny, 7}));
}

TEST(Layer, L20_a_disposed_layer_tells_where_it_was_disposed) {
  const nn::Dense dense({.units = 2, .name = "head"});
  dense(tenure::ones({1, 3}));
  EXPECT_EQ(dense.dispose().variables, 2);
  try {
    dense(tenure::ones({1, 3}));
    FAIL();
  } catch (const tenure::DisposedError& error) {
    EXPECT_NE(std::string(error.what()).find("Dense \"head\" was disposed"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("layer_test.cpp"), std::string::npos) << error.what();
  }
}

TEST(Layer, L20_what_was_freed_before_is_not_freed_again) {
  const nn::Dense dense({.units = 2});
  dense(tenure::ones({1, 3}));
  dense.weights()[0].dispose();
  EXPECT_EQ(dense.dispose().variables, 1);
}

TEST(Layer, values_that_are_refused_are_told_of_in_the_name_of_the_call) {
  const nn::Dense dense({.units = 2});
  dense(tenure::ones({1, 3}));
  const Tensor kernel = tenure::ones({3, 2});
  EXPECT_HAS(
      message_of<tenure::DtypeError>([&] { dense.set_weights({kernel, tenure::tensor({1, 2})}); }),
      "is float32, value 1 is int32");
  Tensor gone = tenure::ones({2});
  gone.dispose();
  EXPECT_HAS(message_of<tenure::DisposedError>([&] { dense.set_weights({kernel, gone}); }),
             "set_weights: the tensor was disposed");
  EXPECT_HAS(message_of<ValueError>([&] { dense.set_weights({kernel, Tensor()}); }),
             "set_weights: input 1 is an empty handle");
}

TEST(Layer, a_mask_of_no_inputs_is_refused) {
  for (const nn::Layer& layer :
       {nn::Layer(nn::Masking()),
        nn::Layer(nn::Embedding({.input_dim = 3, .output_dim = 2, .mask_zero = true}))}) {
    EXPECT_HAS(message_of<ValueError>([&] { layer.compute_mask({}, {}); }),
               "takes one input or more, was given 0");
  }
}

TEST(Layer, a_call_that_gives_no_output_is_refused) {
  struct Silent : nn::LayerBase {
    std::vector<Tensor> call_all(const std::vector<Tensor>&, const nn::Call&) override {
      return {};
    }
  };
  const nn::Layer silent = nn::make_layer<Silent>();
  EXPECT_HAS(message_of<ValueError>([&] { silent(tenure::ones({2})); }), "gave no output");
  EXPECT_HAS(message_of<ValueError>([&] { silent(nn::Input({.shape = {2}})); }), "gave no output");
  EXPECT_HAS(message_of<ValueError>([&] { silent.output_spec({{{2}}}); }), "gave no output");
}

TEST(Layer, a_weight_that_every_call_adds_again_is_refused) {
  struct Adds : nn::LayerBase {
    Tensor call(const Tensor& x, const nn::Call&) override { return x * add_weight("w", {}); }
  };
  const nn::Layer adds = nn::make_layer<Adds>();
  adds(tenure::ones({2}));
  EXPECT_HAS(message_of<ValueError>([&] { adds(tenure::ones({2})); }), "add weights in build");
}

TEST(Layer, errors_of_sizes_that_vary_tell_of_them_as_they_were_declared) {
  const nn::Node one = nn::Input({.shape = {2}, .batch_size = 1}), any = nn::Input({.shape = {2}});
  const auto joined = [&] { nn::Concatenate()({one, any}); };
  const std::string text = message_of<tenure::ShapeError>(joined);
  EXPECT_HAS(text, "input 1 is [-1, 2], input 0 is [1, 2]");
  EXPECT_HAS(text, "float32 [-1, 2]");
  try {
    joined();
  } catch (const tenure::ShapeError& error) {
    EXPECT_EQ(error.shapes(), (std::vector<Shape>{{nn::kAny, 2}, {1, 2}}));
  }
}

TEST(Layer, an_error_of_one_of_the_sizes_that_were_tried_tells_of_those_that_were_given) {
  struct Even : nn::LayerBase {
    Tensor call(const Tensor& x, const nn::Call&) override { return reshape(x, {2, -1}); }
  };
  const auto called = [] { nn::make_layer<Even>()(nn::Input({.shape = {3}})); };
  EXPECT_HAS(message_of<tenure::ShapeError>(called),
             "its inputs are [-1, 3]; another size was tried where one may vary (-1)");
}

}  // namespace
