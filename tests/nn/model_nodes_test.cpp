// The places in models that exist: by layer, of what was loaded, with calls that are settled.
#include <cmath>
#include <nlohmann/json.hpp>

#include "nn/config.h"
#include "nn/layers/checks.h"
#include "tenure/nn/conv_layers.h"
#include "tenure/nn/files.h"
#include "tenure/nn/merge_layers.h"
#include "tenure/nn/model.h"
#include "tenure/nn/normalization_layers.h"
#include "tenure/nn/regularization_layers.h"

namespace tenure::testing {
namespace {

nn::Sequential three_blocks() {
  return nn::Sequential(
      {nn::Dense({.units = 4, .activation = "tanh", .name = "block1", .input_shape = {2}}),
       nn::Dense({.units = 3, .activation = "tanh", .name = "block2"}),
       nn::Dense({.units = 1, .name = "head"})},
      {.name = "blocks"});
}
Tensor batch() { return numbers({5, 2}).tensor(DType::float32); }

TEST(ModelNodes, an_input_is_given_once) {
  const nn::Node a = nn::Input({.shape = {2}, .name = "a"});
  const nn::Node b = nn::Dense({.units = 1})(a);
  EXPECT_HAS(message_of<ValueError>([&] { nn::Model({a, a}, {b}); }),
             "Model: input \"a\" is given twice: give each once");
}

TEST(ModelNodes, layers_are_found_by_name_and_by_place) {
  const nn::Sequential model = three_blocks();
  EXPECT_EQ(model.get_layer("block2"), model.layers()[1]);
  EXPECT_EQ(model.get_layer(0), model.layers()[0]);
  EXPECT_EQ(model.get_layer(-1), model.layers()[2]);
  const int line = here().line() + 1;
  const std::string text = whole_message_of<ValueError>([&] { model.get_layer("block3"); });
  EXPECT_HAS(text, "get_layer: Sequential \"blocks\" has no layer called \"block3\"");
  EXPECT_HAS(text, "\"block1\", \"block2\", \"head\"");
  EXPECT_HAS(text, "model_nodes_test.cpp:" + std::to_string(line));
  EXPECT_HAS(message_of<ValueError>([&] { model.get_layer(3); }), "has no layer number 3");
  EXPECT_THROW(model.get_layer(-4), ValueError);
  EXPECT_HAS(message_of<ValueError>([] { nn::Sequential().get_layer(0); }), "it has none yet");
}

TEST(ModelNodes, features_of_a_layer_within_are_a_model) {
  const nn::Sequential model = three_blocks();
  const nn::Layer one = model.get_layer(0), two = model.get_layer("block2");
  const nn::Model features({model.inputs()}, {two.output()});
  EXPECT_EQ(floats(features(batch())), floats(two(one(batch()))));
  EXPECT_EQ(two.input().layer(), one);
  EXPECT_EQ(model.output().layer(), model.get_layer("head"));
  EXPECT_EQ(model.input().shape(), (Shape{nn::kAny, 2}));
  const nn::Spec spec = two.output();
  EXPECT_EQ(spec.shape, (Shape{nn::kAny, 3}));
  // Several at once.
  const nn::Model all({model.input()}, {one.output(), two.output(), model.output()});
  const std::vector<Tensor> given = all.apply({batch()});
  ASSERT_EQ(given.size(), 3u);
  EXPECT_EQ(floats(given[2]), floats(model(batch())));
}

TEST(ModelNodes, features_of_a_loaded_model) {
  const std::string path = ::testing::TempDir() + "model_nodes.safetensors";
  const nn::Sequential chain = three_blocks();
  const nn::Node x = nn::Input({.shape = {2}, .name = "x"});
  const nn::Dense wide({.units = 4, .activation = "relu", .name = "wide"});
  const nn::Node h = wide(x);
  const nn::Model graph(
      {x}, {nn::Dense({.units = 1})(nn::Concatenate({.name = "both"})({h, chain(x)}))});
  for (const nn::Model& model : {nn::Model(chain), graph}) {
    model.save(path);
    const nn::Model again = nn::load_model(path);
    const char* name = model == graph ? "both" : "block2";
    const nn::Model features({again.inputs()}, {again.get_layer(name).output()});
    const nn::Model want({model.inputs()}, {model.get_layer(name).output()});
    EXPECT_EQ(floats(features.predict(batch())), floats(want.predict(batch())));
  }
}

TEST(ModelNodes, a_base_goes_on_under_a_new_head) {
  const nn::Sequential model = three_blocks();
  model.set_trainable(false);
  const nn::Dense head({.units = 2, .name = "new_head"});
  const nn::Model tuned({model.input()}, {head(model.get_layer("block2").output())});
  tuned.compile({.optimizer = "adam", .loss = "mse"});
  const Floats before = floats(model(batch()));
  tuned.fit(batch(), ones({5, 2}), {.verbose = nn::Verbose::silent});
  EXPECT_EQ(floats(model(batch())), before);
  EXPECT_EQ(tuned.trainable_weights().size(), 2u);
}

TEST(ModelNodes, a_layer_without_a_place_or_with_several_says_so) {
  const nn::Dense dense({.units = 2, .name = "d"});
  EXPECT_TRUE(dense.outputs().empty());
  EXPECT_HAS(message_of<ValueError>([&] { dense.output(); }),
             "output: Dense \"d\" is in no model yet whose sizes are known");
  const nn::Node a = nn::Input({.shape = {3}}), b = nn::Input({.shape = {3}});
  const nn::Node first = dense(a);
  EXPECT_EQ(dense.output().layer(), dense);
  {
    const nn::Node second = dense(b);
    const int line = here().line() + 1;
    const std::string text = whole_message_of<ValueError>([&] { dense.output(); });
    EXPECT_HAS(text, "Dense \"d\" was called on Nodes in several places");
    EXPECT_HAS(text, "model_nodes_test.cpp:" + std::to_string(line));
  }
  EXPECT_EQ(dense.input().layer(), a.layer());  // the second is gone
  const nn::Model two({a, b}, {first, nn::Dense({.units = 1})(b)}, {.name = "two"});
  EXPECT_HAS(message_of<ValueError>([&] { two.output(); }), "Functional \"two\" has 2 of them");
  EXPECT_EQ(two.inputs().size(), 2u);
  const nn::Sequential unknown({nn::Dense({.units = 1})});
  EXPECT_TRUE(unknown.inputs().empty());
  unknown(ones({2, 3}));
  EXPECT_EQ(unknown.outputs().size(), 1u);
}

TEST(ModelNodes, places_hold_layers_and_layers_hold_no_places) {
  const std::size_t before = memory().parameter_bytes;
  std::optional<nn::Model> features;
  {
    const nn::Sequential model = three_blocks();
    features.emplace(std::vector<nn::Node>{model.input()},
                     std::vector<nn::Node>{model.get_layer(0).output()});
  }
  EXPECT_EQ((*features)(batch()).shape(), (Shape{5, 4}));
  EXPECT_EQ(features->weights().size(), 2u);
  EXPECT_EQ(memory().parameter_bytes - before,
            (2 * 4 + 4) * sizeof(float));  // the other layers are gone
  const nn::Layer block = features->get_layer("block1");
  features.reset();
  EXPECT_TRUE(block.outputs().empty());
}

TEST(ModelNodes, a_disposed_model_gives_none) {
  const nn::Sequential model = three_blocks();
  const nn::Layer block = model.get_layer(1);
  model.dispose();
  EXPECT_THROW(model.inputs(), DisposedError);
  EXPECT_THROW(block.output(), DisposedError);
  EXPECT_THROW(model.get_layer(0), DisposedError);
}

TEST(NodeCalls, training_that_is_settled_stays_so) {
  const nn::BatchNormalization norm({.name = "norm"});
  const nn::Dropout drop({.rate = 0.5, .name = "drop"});
  const nn::Sequential base({norm, drop}, {.name = "base"});
  const nn::Node x = nn::Input({.shape = {2}});
  const nn::Model fixed({x}, {base(x, {.training = false})}, {.name = "fixed"});
  const nn::Model free({x}, {base(x)}, {.name = "free"});
  const nn::Model always({x}, {drop(x, {.training = true})}, {.name = "always"});
  norm.set_weights({ones({2}), zeros({2}), full({2}, 1.f), full({2}, 3.f)});
  const std::vector<Tensor> before = norm.get_weights();
  // (x - 1) / sqrt(3 + 0.001), and nothing dropped.
  Grid want = grid_of(batch());
  for (double& value : want.values) value = (value - 1) / std::sqrt(3 + 1e-3);
  const nn::Layer again =
      nn::detail::layer_from_json("Functional", nn::detail::Json::parse(fixed.config()));
  EXPECT_EQ(again.config(), fixed.config());
  again.set_weights(fixed.get_weights());
  for (const nn::Layer& model : {nn::Layer(fixed), again}) {
    expect_near(model(batch(), {.training = true}), want, 1e-6);
    expect_near(function("call", [&](Tensor t) { return model(t, {.training = true}); })(batch()),
                want, 1e-6);
  }
  EXPECT_EQ(floats(norm.get_weights()[2]), floats(before[2]));
  EXPECT_NE(floats(free(batch(), {.training = true})), floats(free(batch())));
  EXPECT_NE(floats(always(batch())), floats(batch()));
  const nn::Node both = nn::Add()({x, x}, {.training = false});
  EXPECT_EQ(both.shape(), (Shape{nn::kAny, 2}));
}

TEST(NodeCalls, a_file_with_arguments_of_another_kind_is_refused) {
  const nn::Node x = nn::Input({.shape = {2}, .name = "x"});
  const nn::Model model({x}, {nn::Dense({.units = 1})(x, {.training = false})});
  std::string config = model.config();
  const std::size_t at = config.find("\"training\":false");
  ASSERT_NE(at, config.npos);
  config.replace(at, 16, "\"training\":7");
  EXPECT_HAS(message_of<ValueError>([&] {
               nn::detail::layer_from_json("Functional", nn::detail::Json::parse(config));
             }),
             "training should be true or false: 7");
}

}  // namespace
}  // namespace tenure::testing
