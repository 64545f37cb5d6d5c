// Gates of recurrent layers, and what is dropped before them.
#include <nlohmann/json.hpp>

#include "recurrent_values.h"
#include "support/expect.h"
#include "tenure/nn/recurrent_layers.h"

namespace {

namespace nn = tenure::nn;
using nlohmann::json;
using tenure::Shape;
using tenure::Tensor;
using namespace tenure::testing;

TEST(RecurrentGates,
     dropout_with_a_seed_goes_on_from_call_to_call_and_is_the_same_from_run_to_run) {
  const auto made = [] {
    return std::vector<nn::Layer>{
        nn::SimpleRNN({.units = 4, .dropout = 0.5, .seed = 3}),
        nn::GRU({.units = 4, .dropout = 0.5, .recurrent_dropout = 0.5, .seed = 3}),
        nn::LSTM({.units = 4, .recurrent_dropout = 0.5, .seed = 3}),
        nn::ConvLSTM2D({.filters = 2, .kernel_size = {1}, .dropout = 0.5, .seed = 3})};
  };
  const std::vector<nn::Layer> one = made(), other = made();
  for (std::size_t i = 0; i < one.size(); ++i) {
    SCOPED_TRACE(one[i].class_name());
    const Tensor x = tenure::ones(i == 3 ? Shape{2, 5, 2, 2, 3} : Shape{2, 5, 3});
    one[i](x);
    other[i](x);
    other[i].set_weights(one[i].get_weights());
    const nn::Call training{.training = true};
    const tenure::Function traced =
        tenure::function("f", [&](Tensor t) { return other[i](t, training); });
    Floats before;
    for (int call = 0; call < 3; ++call) {
      const Floats y = floats(one[i](x, training));
      EXPECT_NE(y, before);
      before = y;
      const Floats again = floats(call == 1 ? traced(x) : other[i](x, training));
      for (std::size_t k = 0; k < y.size(); ++k) ASSERT_NEAR(again[k], y[k], 1e-5);
    }
    EXPECT_TRUE(one[i].get_states().empty());
  }
}

TEST(RecurrentGates, gates_of_images_are_sigmoids) {
  const json config = json::parse(nn::ConvLSTM2D({.filters = 2, .kernel_size = {3}}).config());
  EXPECT_EQ(config["recurrent_activation"], "sigmoid");
}

// hard_sigmoid is no activation of the operation; Keras 2's is.
TEST(RecurrentGates, hard_gates_are_the_same_by_steps_and_as_one_operation) {
  const Tensor x = wave_tensor({2, 4, 3}, 0.3, 0.9);
  for (const char* name : {"hard_sigmoid", "hard_sigmoid_keras2"}) {
    nn::LSTMOptions options{.units = 3, .recurrent_activation = name};
    const nn::LSTM fused(options);
    options.fused = false;
    const nn::LSTM stepped(options);
    const Floats y = floats(fused(x));
    stepped(x);
    stepped.set_weights(fused.get_weights());
    const Floats again = floats(stepped(x));
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(again[i], y[i], 1e-6);
  }
}

}  // namespace
