// Copies of models: the same layers, other weights.
#include <gtest/gtest.h>

#include "support/expect.h"

namespace tenure::testing {
namespace {

struct Doubling : nn::LayerBase {
  const char* class_name() const override { return "Doubles"; }
  Tensor call(const Tensor& x, const nn::Call&) override { return x * 2.0; }
};

void expect_clone(const nn::Model& model, const Tensor& x) {
  const nn::Model clone = nn::clone_model(model);
  EXPECT_FALSE(clone == model);
  EXPECT_EQ(clone.class_name(), model.class_name());
  EXPECT_EQ(clone.name(), model.name());
  clone.predict(x);
  clone.set_weights(model.get_weights());
  EXPECT_EQ(floats(clone.predict(x)), floats(model.predict(x)));
  const std::vector<Floats> before = {floats(model.get_weights()[0])};
  clone.compile({.optimizer = "sgd", .loss = "mse"});
  clone.train_on_batch(x, zeros(clone.predict(x).shape()));
  EXPECT_NE(floats(clone.get_weights()[0]), before[0]);
  EXPECT_EQ(floats(model.get_weights()[0]), before[0]);  // the weights are its own
}

TEST(CloneModel, sequential_functional_and_nested_models) {
  const Tensor x = random::normal({3, 4});
  expect_clone(
      nn::Sequential({nn::Dense({.units = 3, .input_shape = {4}}), nn::Dense({.units = 2})}), x);
  nn::Sequential unbuilt({nn::Dense({.units = 3})});
  EXPECT_FALSE(nn::clone_model(unbuilt).is_built());

  const nn::Node input = nn::Input({.shape = {4}});
  const nn::Dense shared({.units = 4});
  const nn::Sequential inner({nn::Dense({.units = 4, .activation = "tanh", .input_shape = {4}}),
                              nn::Dropout({.rate = 0.5})});
  const nn::Model nested({input}, {nn::Add()({shared(shared(input)), inner(input)})});
  expect_clone(nested, x);
  EXPECT_EQ(nn::clone_model(nested).weights().size(), 4u);
}

TEST(CloneModel, keeps_what_is_frozen_and_functions_of_ones_own) {
  const Tensor x = random::normal({3, 4});
  const nn::Sequential model(
      {nn::Dense({.units = 3,
                  .activation = [](Tensor in) { return in * 3.0; },
                  .kernel_initializer = [](const Shape& shape,
                                           DType dtype) { return full(shape, 0.25, dtype); },
                  .kernel_regularizer = [](Tensor w) { return sum(w); },
                  .kernel_constraint = [](Tensor w) { return w * 1.0; },
                  .input_shape = {4},
                  .dtype = "mixed_bfloat16"}),
       nn::Lambda({.function = [](Tensor in) { return in + 1.0; }})});
  expect_clone(model, x);
  EXPECT_EQ(floats(nn::clone_model(model).predict(x)), floats(model.predict(x)));
  EXPECT_EQ(nn::clone_model(model).layers()[0](x).dtype(), DType::bfloat16);

  nn::Dense frozen({.units = 2, .input_shape = {4}});
  frozen.set_trainable(false);
  EXPECT_TRUE(nn::clone_model(nn::Sequential({frozen})).trainable_weights().empty());
}

TEST(CloneModel, says_what_to_do_about_classes_of_ones_own) {
  const nn::Sequential model({nn::make_layer<Doubling>(), nn::Dense({.units = 1})});
  EXPECT_HAS(message_of<UnsupportedError>([&] { nn::clone_model(model); }),
             "clone_model: Sequential \"");
  EXPECT_HAS(message_of<UnsupportedError>([&] { nn::clone_model(model); }),
             "no layer is called \"Doubles\": if it is one of your own, register_layer it first");
  nn::register_layer("Doubles", [](const std::string&) { return nn::make_layer<Doubling>(); });
  const Tensor x = ones({1, 2});
  model.predict(x);
  expect_clone(model, x);

  struct Own : nn::ModelBase {
    Tensor call(const Tensor& x, const nn::Call& c) override { return out(x, c); }
    nn::Layer out = track(nn::Dense({.units = 1}));
  };
  EXPECT_HAS(message_of<UnsupportedError>([] { nn::clone_model(nn::make_model<Own>()); }),
             "is made by a class of your own");
  const nn::Dense shared({.units = 2, .input_shape = {2}});
  const nn::Sequential first({shared}), second({shared});
  const nn::Node input = nn::Input({.shape = {2}});
  const nn::Model both({input}, {first(input), second(input)});
  EXPECT_HAS(message_of<UnsupportedError>([&] { nn::clone_model(both); }),
             "stands in two of the models within");
}

}  // namespace
}  // namespace tenure::testing
