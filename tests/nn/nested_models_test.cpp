// Models of models, and what a Sequential begins with.
#include <functional>
#include <nlohmann/json.hpp>

#include "nn/config.h"
#include "nn/layers/checks.h"
#include "tenure/nn/model.h"
#include "tenure/nn/recurrent_layers.h"
#include "tenure/nn/reshaping_layers.h"

namespace tenure::testing {
namespace {

nn::Sequential two_layers() {
  const nn::Initializer seeded = nn::GlorotUniform({.seed = 3});
  return nn::Sequential(
      {nn::Dense(
           {.units = 3, .activation = "tanh", .kernel_initializer = seeded, .input_shape = {2}}),
       nn::Dense({.units = 2, .kernel_initializer = seeded})});
}
Tensor four_rows() { return numbers({4, 2}).tensor(DType::float32); }

TEST(NestedModels, one_model_in_braces_is_put_into_another) {
  const nn::Sequential inner = two_layers();
  const nn::Sequential outer({inner});
  EXPECT_FALSE(outer == inner);
  ASSERT_EQ(outer.layers().size(), 1u);
  EXPECT_EQ(outer.layers()[0], inner);
  EXPECT_EQ(floats(outer(four_rows())), floats(inner(four_rows())));

  const nn::Sequential named({inner}, {.name = "named"}), moved({two_layers()});
  EXPECT_EQ(named.name(), "named");
  EXPECT_EQ(named.layers().size(), 1u);
  EXPECT_EQ(moved.layers()[0].class_name(), "Sequential");

  const nn::Node x = nn::Input({.shape = {2}});
  const nn::Model functional({x}, {inner(x)});
  const nn::Sequential around({functional}), further({functional, nn::Dense({.units = 1})});
  EXPECT_EQ(around.layers()[0], functional);
  EXPECT_EQ(floats(around(four_rows())), floats(inner(four_rows())));
  EXPECT_EQ(further(four_rows()).shape(), (Shape{4, 1}));

  const nn::Sequential deep({nn::Sequential({nn::Sequential({inner})})});
  EXPECT_EQ(floats(deep(four_rows())), floats(inner(four_rows())));
}

TEST(NestedModels, a_copy_stands_for_the_same_model) {
  const nn::Sequential model = two_layers();
  const nn::Sequential assigned = model, constructed(model);
  EXPECT_EQ(assigned, model);
  EXPECT_EQ(constructed, model);
  nn::Sequential moved = two_layers();
  const nn::Sequential taken(std::move(moved));
  EXPECT_EQ(taken.layers().size(), 2u);
  const std::vector<nn::Sequential> several{model, taken};
  EXPECT_EQ(several[0], model);
}

TEST(NestedModels, a_nested_model_survives_a_config) {
  const nn::Sequential inner = two_layers(), outer({inner}, {.name = "outer"});
  const nn::Layer again =
      nn::detail::layer_from_json("Sequential", nn::detail::Json::parse(outer.config()));
  EXPECT_EQ(again.config(), outer.config());
  again.set_weights(outer.get_weights());
  EXPECT_EQ(floats(again(four_rows())), floats(outer(four_rows())));
}

TEST(NestedModels, a_model_in_a_model_is_trained) {
  const nn::Sequential inner = two_layers(), outer({inner});
  outer.compile({.optimizer = nn::SGD({.learning_rate = 0.1}), .loss = "mse"});
  const Tensor y = four_rows() * 0.5;
  const double first = nn::value_of(outer.train_on_batch(four_rows(), y), "loss");
  for (int i = 0; i < 200; ++i) outer.train_on_batch(four_rows(), y);
  EXPECT_LT(nn::value_of(outer.train_on_batch(four_rows(), y), "loss"), first / 2);
}

TEST(SequentialInput, an_input_may_come_first) {
  const nn::Dense dense({.units = 3});
  const nn::Sequential model({nn::Input({.shape = {2}, .name = "in"}), dense});
  EXPECT_TRUE(dense.is_built());
  EXPECT_EQ(model.layers().size(), 1u);
  EXPECT_EQ(model.input().layer().name(), "in");
  EXPECT_EQ(model.output().shape(), (Shape{nn::kAny, 3}));
  const nn::Layer again =
      nn::detail::layer_from_json("Sequential", nn::detail::Json::parse(model.config()));
  EXPECT_EQ(again.config(), model.config());

  const nn::Node kept = nn::Input({.shape = {2}});
  const nn::Sequential begun({kept, dense, nn::Dense({.units = 1})}), alone({kept});
  const nn::Model longer({kept}, {nn::Activation("tanh")(begun.output())});
  EXPECT_EQ(floats(longer(four_rows())), floats(tanh(begun(four_rows()))));
  nn::Sequential added;
  added.add(nn::Input({.shape = {2}}));
  added.add(nn::Dense({.units = 5}));
  EXPECT_EQ(added.output().shape(), (Shape{nn::kAny, 5}));
}

TEST(SequentialInput, an_input_that_comes_later_and_a_node_that_is_none_are_refused) {
  const nn::Node in = nn::Input({.shape = {2}});
  EXPECT_HAS(message_of<ValueError>([&] {
               nn::Sequential({nn::Dense({.units = 3}), nn::Input({.shape = {3}})}, {.name = "s"});
             }),
             "add: Sequential \"s\" has an input, or layers, already: an Input comes first");
  EXPECT_THROW(nn::Sequential({in, nn::Input({.shape = {2}})}), ValueError);
  const nn::Node given = nn::Dense({.units = 3, .name = "d"})(in);
  const int line = here().line() + 1;
  const std::string text = whole_message_of<ValueError>([&] { nn::Sequential({given}); });
  EXPECT_HAS(text, "Layer: a Node that Dense \"d\" gives is no layer");
  EXPECT_HAS(text, "nested_models_test.cpp:" + std::to_string(line));
  EXPECT_HAS(text, "begin a Sequential with an Input");
}

TEST(SequentialInput, what_does_not_fit_the_declared_input_is_told_with_it) {
  const nn::Sequential declared({nn::Dense({.units = 3, .name = "d", .input_shape = {10}})},
                                {.name = "s"});
  const nn::Sequential begun({nn::Input({.shape = {10}, .name = "in"}), nn::Dense({.units = 3})});
  for (const nn::Sequential& model : {declared, begun}) {
    model.compile({.optimizer = "sgd", .loss = "mse"});
    const std::vector<std::function<void()>> ways{
        [&] { model(ones({4, 7})); }, [&] { model.predict(ones({4, 7})); },
        [&] { model.fit(ones({4, 7}), ones({4, 3}), {.verbose = nn::Verbose::silent}); },
        [&] { model(ones({4, 2, 10})); }};
    for (const auto& way : ways) {
      const std::string text = message_of<ShapeError>(way);
      EXPECT_HAS(text, "is declared [-1, 10] (-1: any size), was given [4, ");
      EXPECT_HAS(text, "Sequential \"" + model.name() + "\"");
    }
    EXPECT_EQ(model.predict(ones({5, 10})).shape(), (Shape{5, 3}));
  }
  EXPECT_HAS(message_of<ShapeError>([&] { declared(ones({4, 7})); }), "input \"d_input\"");
  // Along a dimension that Dense alone would not mind.
  const nn::Sequential steps({nn::Dense({.units = 1, .input_shape = {4, 2}})});
  EXPECT_THROW(steps(ones({3, 5, 2})), ShapeError);
  EXPECT_EQ(steps(ones({3, 4, 2})).shape(), (Shape{3, 4, 1}));
}

TEST(SequentialInput, the_size_of_a_batch_is_not_held_to_what_was_declared) {
  const nn::Sequential model({nn::Dense({.units = 1, .batch_input_shape = {4, 2}})});
  EXPECT_EQ(model(ones({3, 2})).shape(), (Shape{3, 1}));
  const nn::Sequential seen({nn::Dense({.units = 1})});
  seen(ones({4, 2}));
  const nn::Layer again =
      nn::detail::layer_from_json("Sequential", nn::detail::Json::parse(seen.config()));
  EXPECT_EQ(again(ones({7, 2})).shape(), (Shape{7, 1}));
}

}  // namespace
}  // namespace tenure::testing
