#include "tenure/nn/layer.h"

#include <gtest/gtest.h>

#include "tenure/nn/core_layers.h"
#include "tenure/tenure.h"

namespace {

namespace nn = tenure::nn;
using tenure::Shape;
using tenure::Tensor;
using tenure::Variable;

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

}  // namespace
