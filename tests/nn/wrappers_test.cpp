#include <nlohmann/json.hpp>

#include "nn/config.h"
#include "recurrent_values.h"
#include "support/expect.h"
#include "tenure/nn/recurrent_layers.h"

namespace {

namespace nn = tenure::nn;
using nn::detail::Json;
using tenure::Shape;
using tenure::Tensor;
using namespace tenure::testing;

TEST(Wrappers, bidirectional_makes_copies_that_go_both_ways) {
  const nn::GRU gru({.units = 3, .name = "gru_of_test"});
  const nn::Bidirectional both(gru);
  EXPECT_EQ(both(wave_tensor({2, 4, 3}, 0.3, 0.9)).shape(), (Shape{2, 6}));
  EXPECT_FALSE(gru.is_built());
  const std::vector<nn::Layer> layers = both.layers();
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].name(), "forward_gru_of_test");
  EXPECT_EQ(layers[1].name(), "backward_gru_of_test");
  EXPECT_EQ(both.weights().size(), 6u);
  EXPECT_EQ(both.weights()[0].name(), "forward_gru_of_test/gru_cell/kernel");
}

TEST(Wrappers, bidirectional_copies_functions_of_ones_own) {
  const nn::Bidirectional both(
      nn::SimpleRNN({.units = 3, .activation = [](Tensor x) { return tenure::sin(x); }}));
  EXPECT_EQ(both(wave_tensor({2, 4, 3}, 0.3, 0.9)).shape(), (Shape{2, 6}));
}

TEST(Wrappers, a_given_backward_layer_is_used_as_it_is) {
  const nn::GRU there({.units = 3});
  const nn::LSTM back({.units = 2, .go_backwards = true});
  const nn::Bidirectional both(there, {.backward_layer = back});
  const Tensor x = wave_tensor({2, 4, 3}, 0.3, 0.9);
  const Tensor wanted = tenure::concat({there(x), back(x)}, -1);
  EXPECT_EQ(floats(both(x)), floats(wanted));
  const Json config = Json::parse(both.config());
  EXPECT_EQ(config["backward_layer"]["class_name"], "LSTM");
  const nn::Layer again = nn::detail::layer_from_json("Bidirectional", config);
  again.build({2, 4, 3});
  again.set_weights(both.get_weights());
  EXPECT_EQ(floats(again(x)), floats(wanted));
}

TEST(Wrappers, bidirectional_refuses_what_does_not_fit) {
  const auto refused = [](auto make) { return message_of<tenure::ValueError>(make); };
  EXPECT_HAS(refused([] { nn::Bidirectional(nn::Dense({.units = 2, .name = "d"})); }),
             "takes a recurrent layer, was given Dense \"d\"");
  EXPECT_HAS(refused([] { nn::Bidirectional(nn::GRU({.units = 2}), {.merge_mode = "max"}); }),
             "\"max\"");
  EXPECT_HAS(refused([] {
               nn::Bidirectional(nn::GRU({.units = 2}), {.backward_layer = nn::GRU({.units = 2})});
             }),
             "one must go each way");
  EXPECT_HAS(refused([] {
               nn::Bidirectional(nn::GRU({.units = 2, .return_sequences = true}),
                                 {.backward_layer = nn::GRU({.units = 2, .go_backwards = true})});
             }),
             "return_sequences is true in the layer and false in the backward_layer");
  const nn::Bidirectional both(nn::LSTM({.units = 2}));
  const Tensor x = wave_tensor({2, 4, 3}, 0.3, 0.9), h = tenure::zeros({2, 2});
  EXPECT_HAS(refused([&] { both({x, h, h}); }), "4 initial states, 2 for each way");
}

TEST(Wrappers, a_mask_goes_on_with_sequences_that_go_both_ways) {
  const Tensor mask = tenure::tensor(std::vector<bool>{true, false}, {1, 2});
  const Tensor x = tenure::ones({1, 2, 3});
  const nn::Bidirectional whole(nn::GRU({.units = 2, .return_sequences = true}));
  EXPECT_TRUE(whole.compute_mask({x}, {mask}).defined());
  EXPECT_FALSE(nn::Bidirectional(nn::GRU({.units = 2})).compute_mask({x}, {mask}).defined());
}

TEST(Wrappers, bidirectional_nodes_know_their_shapes) {
  const nn::Node x = nn::Input({.shape = {nn::kAny, 3}});
  EXPECT_EQ(nn::Bidirectional(nn::GRU({.units = 4, .return_sequences = true}))(x).shape(),
            (Shape{nn::kAny, nn::kAny, 8}));
}

TEST(Wrappers, a_disposed_wrapper_frees_the_weights_in_it) {
  const nn::Bidirectional both(nn::LSTM({.units = 2}));
  both.build({2, 4, 3});
  EXPECT_EQ(both.dispose().variables, 6);
}

// Takes two inputs and gives their sum and difference.
struct Both : nn::LayerBase {
  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const nn::Call&) override {
    return {inputs[0] + inputs[1], inputs[0] - inputs[1]};
  }
};

TEST(Wrappers, time_distributed_takes_layers_of_several_tensors) {
  const nn::TimeDistributed every(nn::make_layer<Both>());
  const Tensor a = wave_tensor({2, 3, 4}, 0.3, 0.9), b = wave_tensor({2, 3, 4}, 1.3, 0.9);
  const std::vector<Tensor> made = every.apply({a, b});
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0].shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(floats(made[0]), floats(a + b));
  EXPECT_EQ(floats(made[1]), floats(a - b));
}

TEST(Wrappers, time_distributed_recurrent_layers_see_a_mask_of_their_own_steps) {
  const nn::GRU gru({.units = 2});
  const nn::TimeDistributed every(gru);
  const Tensor x = wave_tensor({2, 2, 3, 4}, 0.3, 0.9);
  const Tensor mask = tenure::tensor(
      std::vector<bool>{true, false, true, true, true, false, false, false, true, true, true, true},
      {2, 2, 3});
  const Tensor y = every(x, {.masks = {mask}});
  EXPECT_EQ(y.shape(), (Shape{2, 2, 2}));
  const Tensor flat =
      gru(tenure::reshape(x, {4, 3, 4}), {.masks = {tenure::reshape(mask, {4, 3})}});
  EXPECT_EQ(floats(y), floats(flat));
  // What follows sees which steps there were.
  EXPECT_EQ(every.compute_mask({x}, {mask}).shape(), (Shape{2, 2}));
  const Tensor steps = tenure::tensor(std::vector<bool>{true, false, true, true}, {2, 2});
  EXPECT_EQ(every.compute_mask({x}, {steps}).to_vector<bool>(), steps.to_vector<bool>());
}

TEST(Wrappers, time_distributed_nodes_know_their_shapes) {
  const nn::Node x = nn::Input({.shape = {nn::kAny, 5, 3}});
  EXPECT_EQ(nn::TimeDistributed(nn::GRU({.units = 4}))(x).shape(), (Shape{nn::kAny, nn::kAny, 4}));
}

TEST(Wrappers, time_distributed_refuses_inputs_without_steps) {
  const nn::TimeDistributed every(nn::Dense({.units = 2}), {.name = "every"});
  EXPECT_HAS(message_of<tenure::ShapeError>([&] { every(tenure::ones({2, 3})); }),
             "TimeDistributed \"every\": takes inputs of rank 3 or more, was given [2, 3]");
}

TEST(Wrappers, a_wrapper_without_a_layer_in_its_config_is_refused) {
  for (const char* name : {"Bidirectional", "TimeDistributed"}) {
    EXPECT_HAS(
        message_of<tenure::ValueError>([&] { nn::detail::layer_from_json(name, Json::object()); }),
        "has no layer");
  }
}

}  // namespace
