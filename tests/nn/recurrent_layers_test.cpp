#include "tenure/nn/recurrent_layers.h"

#include <nlohmann/json.hpp>

#include "nn/config.h"
#include "recurrent_values.h"
#include "support/expect.h"

namespace {

namespace nn = tenure::nn;
using nn::detail::Json;
using tenure::Shape;
using tenure::Tensor;
using tenure::Variable;
using namespace tenure::testing;

// ---- Cells

struct Decay : nn::CellBase {
  void build(const Shape& input) override { rate = add_weight("rate", {input[-1]}); }
  std::vector<Shape> state_sizes() const override { return {rate.shape()}; }
  nn::CellStep step(const Tensor& x, const std::vector<Tensor>& states,
                    const nn::CellCall&) override {
    Tensor h = states[0] * tenure::sigmoid(rate) + x;
    return {h, {h}};
  }
  Variable rate;
};

TEST(RecurrentLayers, a_cell_of_ones_own_takes_a_dozen_lines) {
  const nn::RNN rnn(nn::make_layer<Decay>(), {.return_sequences = true});
  const Tensor x = tenure::tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {1, 3, 2});
  rnn.build({1, 3, 2});
  rnn.set_weights({tenure::tensor({0.f, 0.f})});  // half of what was
  const Floats wanted{1.f, 2.f, 3.5f, 5.f, 6.75f, 8.5f};
  EXPECT_EQ(floats(rnn(x)), wanted);
  EXPECT_EQ(floats(run_traced(rnn, {x}).outputs[0]), wanted);
  const LayerRun eager = run_layer(rnn, {x}), traced = run_traced(rnn, {x});
  ASSERT_EQ(eager.gradients.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const Floats values = floats(eager.gradients[i]);
    expect_near(traced.gradients[i], {values.begin(), values.end()}, 1e-6, "gradient");
  }
}

// Its output is not its state, and each step takes constants and adds a loss.
struct Scaled : nn::CellBase {
  std::vector<Shape> state_sizes() const override { return {{1}}; }
  Shape output_shape(const Shape& x) const override { return x; }
  nn::CellStep step(const Tensor& x, const std::vector<Tensor>& states,
                    const nn::CellCall& call) override {
    Tensor count = states[0] + 1;
    call.add_loss(tenure::sum(count));
    return {x * call.constants[0] * count, {count}};
  }
};

TEST(RecurrentLayers, constants_are_given_to_every_step_and_losses_of_steps_are_collected) {
  const nn::RNN rnn(nn::make_layer<Scaled>(), {.return_sequences = true, .num_constants = 1});
  const Tensor x = tenure::ones({2, 3, 2}), scale = tenure::tensor({2.f, 3.f});
  const Floats wanted{2, 3, 4, 6, 6, 9, 2, 3, 4, 6, 6, 9};
  std::vector<Tensor> losses;
  EXPECT_EQ(floats(rnn({x, scale}, {.losses = &losses})), wanted);
  double total = 0;
  for (const Tensor& loss : losses) total += loss.item<float>();
  EXPECT_EQ(total, 12);
  const auto traced = tenure::function("losses", [&](Tensor given, Tensor by) {
    std::vector<Tensor> inner;
    std::vector<Tensor> all = rnn.apply({given, by}, {.losses = &inner});
    all.insert(all.end(), inner.begin(), inner.end());
    return all;
  });
  const std::vector<Tensor> made = traced(x, scale);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(floats(made[0]), wanted);
  EXPECT_EQ(made[1].item<float>(), 12);
  // The state stands between the sequence and the constants.
  EXPECT_EQ(floats(rnn({x, tenure::ones({2, 1}), scale}))[0], 4);
  EXPECT_HAS(message_of<tenure::ValueError>([&] { rnn(x); }), "and then 1 constants");
}

TEST(RecurrentLayers, a_mask_holds_an_output_that_is_no_state) {
  const nn::RNN rnn(nn::make_layer<Scaled>(), {.return_sequences = true, .num_constants = 1});
  const nn::Call call{.masks = {tenure::tensor(std::vector<bool>{false, true, false}, {1, 3})}};
  const Tensor x = tenure::ones({1, 3, 2}), scale = tenure::ones({2});
  const Floats wanted{0, 0, 1, 1, 1, 1};
  EXPECT_EQ(floats(rnn({x, scale}, call)), wanted);
  EXPECT_EQ(floats(run_traced(rnn, {x, scale}, call).outputs[0]), wanted);
}

struct Wrong : Scaled {
  nn::CellStep step(const Tensor& x, const std::vector<Tensor>& states,
                    const nn::CellCall&) override {
    return gives_wrong_output ? nn::CellStep{states[0], states} : nn::CellStep{x, {}};
  }
  bool gives_wrong_output = false;
};

TEST(RecurrentLayers, a_cell_that_does_not_do_what_it_says_is_named) {
  const nn::Layer cell = nn::make_layer<Wrong>();
  const nn::RNN rnn(cell);
  const Tensor x = tenure::ones({2, 3, 2});
  EXPECT_HAS(message_of<tenure::ValueError>([&] { rnn(x); }),
             "0 states, and state_sizes tells of 1");
  cell.as<Wrong>()->gives_wrong_output = true;
  EXPECT_HAS(message_of<tenure::ShapeError>([&] { rnn(x); }), "an output of [2, 1]");
}

TEST(RecurrentLayers, a_cell_called_as_a_layer_takes_one_step) {
  const nn::LSTMCell cell({.units = 4});
  const Tensor x = wave_tensor({2, 3}, 0.3, 0.9), h = wave_tensor({2, 4}, 20, 0.5),
               c = wave_tensor({2, 4}, 21, 0.5);
  const std::vector<Tensor> made = cell.apply({x, h, c});
  const nn::LSTM lstm({.units = 4, .return_state = true});
  lstm.build({2, 1, 3});
  lstm.set_weights(cell.get_weights());
  const std::vector<Tensor> wanted = lstm.apply({tenure::expand_dims(x, 1), h, c});
  ASSERT_EQ(made.size(), wanted.size());
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Floats values = floats(wanted[i]);
    expect_near(made[i], {values.begin(), values.end()}, 1e-6, "step");
  }
  EXPECT_HAS(message_of<tenure::ValueError>([&] { cell(x); }), "an input and 2 states");
}

TEST(RecurrentLayers, states_of_stacked_cells_come_in_the_order_of_the_cells) {
  const nn::RNN rnn({nn::LSTMCell({.units = 4}), nn::GRUCell({.units = 3})},
                    {.return_state = true});
  const std::vector<Tensor> made = rnn.apply({wave_tensor({2, 3, 5}, 0.3, 0.9)});
  ASSERT_EQ(made.size(), 4u);
  EXPECT_EQ(made[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(made[1].shape(), (Shape{2, 4}));
  EXPECT_EQ(made[2].shape(), (Shape{2, 4}));
  EXPECT_EQ(floats(made[3]), floats(made[0]));
  const std::vector<Tensor> from =
      rnn.apply({wave_tensor({2, 3, 5}, 0.3, 0.9), tenure::zeros({2, 4}), tenure::zeros({2, 4}),
                 tenure::zeros({2, 3})});
  EXPECT_EQ(floats(from[0]), floats(made[0]));
}

// ---- Weights

TEST(RecurrentLayers, weights_begin_as_in_keras) {
  const nn::LSTM lstm({.units = 4, .name = "lstm_of_test"});
  lstm.build({nn::kAny, nn::kAny, 3});
  const std::vector<Variable> weights = lstm.weights();
  ASSERT_EQ(weights.size(), 3u);
  EXPECT_EQ(weights[0].shape(), (Shape{3, 16}));
  EXPECT_EQ(weights[1].shape(), (Shape{4, 16}));
  Floats bias(16, 0.f);
  std::fill(bias.begin() + 4, bias.begin() + 8, 1.f);
  EXPECT_EQ(floats(weights[2].read()), bias);
  EXPECT_EQ(weights[0].name(), "lstm_of_test/lstm_cell/kernel");
  // Rows of the recurrent kernel are orthogonal.
  const Tensor r = weights[1].read();
  const Floats products = floats(tenure::matmul(r, tenure::transpose(r)));
  for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(products[i], i % 5 == 0 ? 1 : 0, 1e-5);
  const nn::LSTM plain({.units = 4, .unit_forget_bias = false});
  plain.build({nn::kAny, nn::kAny, 3});
  EXPECT_EQ(floats(plain.weights()[2].read()), Floats(16, 0.f));
}

TEST(RecurrentLayers, gru_has_two_biases_with_reset_after) {
  const nn::GRU after({.units = 4}), before({.units = 4, .reset_after = false});
  after.build({nn::kAny, nn::kAny, 3});
  before.build({nn::kAny, nn::kAny, 3});
  EXPECT_EQ(after.weights()[2].shape(), (Shape{2, 12}));
  EXPECT_EQ(before.weights()[2].shape(), (Shape{12}));
}

TEST(RecurrentLayers, regularizers_and_constraints_belong_to_their_weights) {
  const nn::SimpleRNN rnn({.units = 2,
                           .kernel_regularizer = nn::L1(1),
                           .recurrent_regularizer = nn::L2(1),
                           .recurrent_constraint = nn::NonNeg(),
                           .bias_constraint = nn::UnitNorm()});
  rnn.build({1, 3, 2});
  const auto found = nn::detail::all_weights(nn::detail::LayerAccess::base(rnn));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].weight->regularizer.class_name(), nn::L1(1).class_name());
  EXPECT_EQ(found[1].weight->regularizer.class_name(), nn::L2(1).class_name());
  EXPECT_FALSE(found[2].weight->regularizer.given());
  EXPECT_FALSE(found[0].weight->constraint.given());
  EXPECT_EQ(found[1].weight->constraint.class_name(), nn::NonNeg().class_name());
  EXPECT_EQ(found[2].weight->constraint.class_name(), nn::UnitNorm().class_name());
}

TEST(RecurrentLayers, an_activity_regularizer_sees_the_output) {
  const nn::SimpleRNN rnn({.units = 2, .activity_regularizer = nn::L1(1)});
  std::vector<Tensor> losses;
  const Tensor y = rnn(wave_tensor({2, 3, 3}, 0.3, 0.9), {.losses = &losses});
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_NEAR(losses[0].item<float>(), tenure::sum(tenure::abs(y)).item<float>() / 2, 1e-6);
}

// ---- Dropout

// With these weights a layer's output is its input times its mask, or its state times its mask.
Tensor eye_columns(std::int64_t units, std::int64_t gates, std::int64_t gate, float value = 1) {
  std::vector<Tensor> parts(static_cast<std::size_t>(gates), tenure::zeros({units, units}));
  parts[static_cast<std::size_t>(gate)] = tenure::eye(units) * value;
  return tenure::concat(parts, -1);
}

TEST(RecurrentLayers, dropout_has_one_mask_per_sequence) {
  const nn::SimpleRNN rnn({.units = 40,
                           .activation = "linear",
                           .use_bias = false,
                           .dropout = 0.25,
                           .return_sequences = true});
  rnn.build({2, 3, 40});
  rnn.set_weights({tenure::eye(40), tenure::zeros({40, 40})});
  const Tensor x = tenure::ones({2, 3, 40});
  EXPECT_EQ(floats(rnn(x)), Floats(240, 1.f)) << "only in training";
  const auto check = [](const Floats& y) {
    int dropped = 0;
    for (std::size_t row = 0; row < 2; ++row) {
      for (std::size_t unit = 0; unit < 40; ++unit) {
        const float first = y[row * 120 + unit];
        dropped += first == 0 ? 1 : 0;
        if (first != 0) {
          EXPECT_FLOAT_EQ(first, 4.f / 3);
        }
        EXPECT_EQ(y[row * 120 + 40 + unit], first);
        EXPECT_EQ(y[row * 120 + 80 + unit], first);
      }
    }
    EXPECT_GT(dropped, 2);
    EXPECT_LT(dropped, 50);
  };
  const Floats once = floats(rnn(x, {.training = true})),
               again = floats(rnn(x, {.training = true}));
  check(once);
  check(again);
  EXPECT_NE(once, again);
  const auto traced =
      tenure::function("train", [&](Tensor given) { return rnn(given, {.training = true}); });
  const Floats traced_once = floats(traced(x)), traced_again = floats(traced(x));
  check(traced_once);
  check(traced_again);
  EXPECT_NE(traced_once, traced_again);
}

TEST(RecurrentLayers, recurrent_dropout_has_one_mask_per_sequence) {
  const nn::SimpleRNN rnn({.units = 40,
                           .activation = "linear",
                           .use_bias = false,
                           .recurrent_dropout = 0.5,
                           .return_sequences = true});
  rnn.build({2, 3, 40});
  rnn.set_weights({tenure::zeros({40, 40}), tenure::eye(40)});
  const Floats y =
      floats(rnn({tenure::ones({2, 3, 40}), tenure::ones({2, 40})}, {.training = true}));
  int dropped = 0;
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t unit = 0; unit < 40; ++unit) {
      const float first = y[row * 120 + unit];
      dropped += first == 0 ? 1 : 0;
      if (first != 0) {
        EXPECT_EQ(first, 2);
      }
      EXPECT_EQ(y[row * 120 + 40 + unit], first * first);
      EXPECT_EQ(y[row * 120 + 80 + unit], first * first * first);
    }
  }
  EXPECT_GT(dropped, 10);
  EXPECT_LT(dropped, 70);
}

TEST(RecurrentLayers, gates_share_a_mask_unless_they_are_computed_apart) {
  // h' = o c' with c' = i c: the product of what is left of gates i, c and o.
  const auto kept = [](int implementation) {
    const nn::LSTM lstm({.units = 60,
                         .activation = "linear",
                         .recurrent_activation = "linear",
                         .use_bias = false,
                         .dropout = 0.5,
                         .implementation = implementation});
    lstm.build({1, 1, 60});
    lstm.set_weights({eye_columns(60, 4, 0) + eye_columns(60, 4, 2) + eye_columns(60, 4, 3),
                      tenure::zeros({60, 240})});
    int count = 0;
    for (const float y : floats(lstm(tenure::ones({1, 1, 60}), {.training = true}))) {
      if (y != 0) {
        EXPECT_EQ(y, 8);
      }
      count += y != 0 ? 1 : 0;
    }
    return count;
  };
  tenure::set_seed(3);
  EXPECT_GT(kept(2), 18);  // half of 60 are expected
  EXPECT_LT(kept(1), 18);  // an eighth is
}

TEST(RecurrentLayers, dropout_of_every_kind_has_gradients_in_a_trace) {
  const Tensor x = wave_tensor({2, 4, 3}, 0.3, 0.9);
  const std::vector<nn::Layer> layers{
      nn::SimpleRNN({.units = 5, .dropout = 0.3, .recurrent_dropout = 0.3}),
      nn::GRU({.units = 5, .dropout = 0.3}),
      nn::GRU({.units = 5, .dropout = 0.3, .recurrent_dropout = 0.3}),
      nn::GRU({.units = 5, .recurrent_dropout = 0.3, .reset_after = false}),
      nn::LSTM({.units = 5, .dropout = 0.3, .recurrent_dropout = 0.3}),
      nn::RNN({nn::LSTMCell({.units = 4, .dropout = 0.3}),
               nn::GRUCell({.units = 3, .recurrent_dropout = 0.3})})};
  for (const nn::Layer& layer : layers) {
    layer.build({2, 4, 3});
    set_waves(layer);
    const auto run = [&](bool traced) {
      tenure::set_seed(11);
      return traced ? run_traced(layer, {x}, {.training = true})
                    : run_layer(layer, {x}, {.training = true});
    };
    const LayerRun eager = run(false), same = run(false), traced = run(true);
    EXPECT_EQ(floats(eager.outputs[0]), floats(same.outputs[0]));
    EXPECT_NE(floats(eager.outputs[0]), floats(layer(x)));
    ASSERT_EQ(traced.gradients.size(), eager.gradients.size());
    for (const Tensor& gradient : traced.gradients) {
      EXPECT_GT(tenure::sum(tenure::abs(gradient)).item<float>(), 0.f);
    }
  }
}

// ---- Images

TEST(RecurrentLayers, channels_first_is_the_same_turned_around) {
  nn::ConvLSTM2DOptions options{.filters = 2,
                                .kernel_size = {3, 2},
                                .strides = {2, 1},
                                .return_sequences = true,
                                .return_state = true};
  const nn::ConvLSTM2D last(options);
  options.data_format = "channels_first";
  const nn::ConvLSTM2D first(options);
  const Tensor x = wave_tensor({2, 3, 5, 4, 3}, 0.3, 0.9);
  last.build({2, 3, 5, 4, 3});
  first.build({2, 3, 3, 5, 4});
  set_waves(last);
  set_waves(first);
  const std::vector<Tensor> wanted = last.apply({x});
  const std::vector<Tensor> made =
      first.apply({tenure::contiguous(tenure::transpose(x, {0, 1, 4, 2, 3}))});
  ASSERT_EQ(made.size(), 3u);
  const auto expect_same = [](const Tensor& found, const Tensor& other) {
    const Floats values = floats(tenure::contiguous(other));
    expect_near(found, {values.begin(), values.end()}, 1e-5, "images");
  };
  expect_same(made[0], tenure::transpose(wanted[0], {0, 1, 4, 2, 3}));
  expect_same(made[1], tenure::transpose(wanted[1], {0, 3, 1, 2}));
  expect_same(made[2], tenure::transpose(wanted[2], {0, 3, 1, 2}));
}

TEST(RecurrentLayers, a_stateful_layer_of_images_goes_on_where_it_ended) {
  const nn::ConvLSTM2DOptions options{.filters = 2, .kernel_size = {3}};
  nn::ConvLSTM2DOptions kept = options;
  kept.stateful = true;
  const nn::ConvLSTM2D once(options), twice(kept);
  const Tensor x = wave_tensor({1, 4, 5, 4, 2}, 0.3, 0.9);
  once.build({1, 4, 5, 4, 2});
  twice.build({1, 2, 5, 4, 2});
  set_waves(once);
  set_waves(twice);
  const std::vector<Tensor> halves = tenure::split(x, 2, 1);
  twice(halves[0]);
  const Floats wanted = floats(once(x));
  expect_near(twice(halves[1]), {wanted.begin(), wanted.end()}, 1e-6, "second half");
  EXPECT_EQ(twice.get_states()[0].shape(), (Shape{1, 3, 2, 2}));
}

TEST(RecurrentLayers, dropout_of_images_has_one_mask_per_sequence) {
  const nn::ConvLSTM2D layer({.filters = 2,
                              .kernel_size = {1},
                              .dropout = 0.4,
                              .recurrent_dropout = 0.2,
                              .return_sequences = true});
  const Tensor x = wave_tensor({1, 3, 4, 4, 2}, 0.3, 0.9);
  const Floats plain = floats(layer(x));
  tenure::set_seed(5);
  const Floats eager = floats(layer(x, {.training = true}));
  EXPECT_NE(eager, plain);
  const LayerRun traced = run_traced(layer, {x}, {.training = true});
  EXPECT_EQ(traced.outputs[0].shape(), (Shape{1, 3, 4, 4, 2}));
}

// ---- Shapes, masks, errors

TEST(RecurrentLayers, a_node_knows_the_shapes_of_outputs_and_states) {
  const nn::Node x = nn::Input({.shape = {nn::kAny, 3}});
  EXPECT_EQ(nn::GRU({.units = 4})(x).shape(), (Shape{nn::kAny, 4}));
  const std::vector<nn::Node> all =
      nn::LSTM({.units = 4, .return_sequences = true, .return_state = true}).apply({x});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].shape(), (Shape{nn::kAny, nn::kAny, 4}));
  EXPECT_EQ(all[2].shape(), (Shape{nn::kAny, 4}));
  EXPECT_EQ(nn::SimpleRNN({.units = 4, .fused = false})({x, nn::Input({.shape = {4}})}).shape(),
            (Shape{nn::kAny, 4}));
}

TEST(RecurrentLayers, one_trace_serves_batches_of_any_size) {
  const std::vector<nn::Layer> layers{
      nn::LSTM({.units = 4, .return_sequences = true}),
      nn::RNN({nn::GRUCell({.units = 4}), nn::SimpleRNNCell({.units = 2})}),
      nn::Bidirectional(nn::GRU({.units = 4, .return_sequences = true})),
      nn::TimeDistributed(nn::Dense({.units = 4}))};
  for (const nn::Layer& layer : layers) {
    auto traced = tenure::function("predict", [&](Tensor x) { return layer(x); });
    traced.input({tenure::dyn, 5, 3});
    for (const std::int64_t batch : {2, 3, 7}) {
      const Tensor x = wave_tensor({batch, 5, 3}, 0.3, 0.9);
      const Floats wanted = floats(layer(x));
      expect_near(traced(x), {wanted.begin(), wanted.end()}, 1e-6, "batch");
    }
    for (const tenure::TraceInfo& trace : traced.traces()) {
      EXPECT_TRUE(trace.shared) << layer.class_name();
    }
  }
}

TEST(RecurrentLayers, batches_of_no_sequences_give_none) {
  const Tensor x = tenure::zeros({0, 4, 3}), mask = tenure::zeros({0, 4}, tenure::DType::boolean);
  for (const bool fused : {true, false}) {
    const nn::LSTM lstm({.units = 5, .return_sequences = true, .fused = fused});
    EXPECT_EQ(lstm(x).shape(), (Shape{0, 4, 5}));
    EXPECT_EQ(lstm(x, {.masks = {mask}}).shape(), (Shape{0, 4, 5}));
  }
  EXPECT_EQ(nn::TimeDistributed(nn::Dense({.units = 2}))(x).shape(), (Shape{0, 4, 2}));
}

TEST(RecurrentLayers, a_mask_goes_on_with_a_sequence_and_ends_with_a_last_output) {
  const Tensor mask = tenure::tensor(std::vector<bool>{true, false}, {1, 2});
  const Tensor x = tenure::ones({1, 2, 3});
  EXPECT_TRUE(nn::GRU({.units = 2, .return_sequences = true}).compute_mask({x}, {mask}).defined());
  EXPECT_FALSE(nn::GRU({.units = 2}).compute_mask({x}, {mask}).defined());
}

TEST(RecurrentLayers, a_mask_of_numbers_counts_as_true_where_it_is_not_zero) {
  const nn::GRU gru({.units = 2});
  const Tensor x = wave_tensor({1, 3, 3}, 0.3, 0.9);
  const Tensor numbers = tenure::tensor({1.f, 0.f, 1.f}, {1, 3});
  EXPECT_EQ(floats(gru(x, {.masks = {numbers}})),
            floats(gru(x, {.masks = {tenure::cast(numbers, tenure::DType::boolean)}})));
  EXPECT_HAS(message_of<tenure::ShapeError>([&] { gru(x, {.masks = {tenure::ones({3})}}); }),
             "a mask of rank 2");
}

TEST(RecurrentLayers, inputs_take_the_dtype_of_the_weights) {
  const nn::SimpleRNN rnn({.units = 2});
  const Tensor x = tenure::tensor({1, 2, 3, 4, 5, 6}, {1, 2, 3});
  EXPECT_EQ(floats(rnn(x)), floats(rnn(tenure::cast(x, tenure::DType::float32))));
}

TEST(RecurrentLayers, wrong_options_are_refused) {
  const auto refused = [](auto make) { return message_of<tenure::ValueError>(make); };
  EXPECT_HAS(refused([] { nn::SimpleRNN({.units = 0}); }), "SimpleRNN: units must be positive: 0");
  EXPECT_HAS(refused([] { nn::GRUCell({.units = -2}); }), "GRUCell: units must be positive: -2");
  EXPECT_HAS(refused([] { nn::LSTM({.units = 2, .dropout = 1}); }),
             "LSTM: dropout must be at least 0 and below 1: 1");
  EXPECT_HAS(refused([] { nn::GRU({.units = 2, .recurrent_dropout = -0.1}); }), "-0.1");
  EXPECT_HAS(refused([] { nn::GRU({.units = 2, .implementation = 3}); }), "implementation");
  EXPECT_HAS(refused([] { nn::ConvLSTM2D({.filters = 2}); }), "kernel_size");
  EXPECT_HAS(
      refused([] { nn::ConvLSTM2D({.filters = 2, .kernel_size = {3}, .padding = "causal"}); }),
      "causal");
  EXPECT_HAS(
      refused([] { nn::ConvLSTM2D({.filters = 2, .kernel_size = {3}, .data_format = "nhwc"}); }),
      "nhwc");
  EXPECT_HAS(refused([] { nn::RNN(nn::Dense({.units = 2, .name = "d"})); }), "Dense \"d\"");
  EXPECT_HAS(refused([] { nn::StackedRNNCells({}); }), "no cells");
  EXPECT_HAS(refused([] { nn::StackedRNNCells({nn::Dense({.units = 2, .name = "d"})}); }),
             "Dense \"d\"");
}

TEST(RecurrentLayers, wrong_inputs_are_refused) {
  const nn::LSTM lstm({.units = 4, .name = "m"}), slow({.units = 4, .fused = false, .name = "s"});
  const Tensor x = wave_tensor({2, 3, 5}, 0.3, 0.9), h = tenure::zeros({2, 4});
  EXPECT_HAS(message_of<tenure::ShapeError>([&] { lstm(tenure::ones({2, 3})); }),
             "LSTM \"m\": takes [batch, time, features], was given [2, 3]");
  for (const nn::Layer& layer : {nn::Layer(lstm), nn::Layer(slow)}) {
    layer(x);
    EXPECT_THROW(layer(wave_tensor({2, 3, 6}, 0.3, 0.9)), tenure::ShapeError);
    EXPECT_HAS(message_of<tenure::ValueError>([&] { layer({x, h}); }),
               "one and 2 initial states, was given 2 inputs");
    EXPECT_HAS(message_of<tenure::ShapeError>([&] { layer({x, h, tenure::zeros({1, 4})}); }),
               "[1, 4]");
    EXPECT_THROW(layer(tenure::zeros({2, 0, 5})), tenure::ShapeError);
  }
  EXPECT_HAS(message_of<tenure::ShapeError>([&] {
               nn::ConvLSTM2D({.filters = 2, .kernel_size = {3}})(tenure::ones({1, 2, 2, 5, 1}));
             }),
             "does not fit");
}

TEST(RecurrentLayers, all_settings_survive_a_config) {
  const nn::GRU gru({.units = 4,
                     .activation = "relu",
                     .recurrent_activation = "hard_sigmoid",
                     .kernel_regularizer = nn::L2(0.5),
                     .activity_regularizer = nn::L1(0.125),
                     .recurrent_constraint = nn::MaxNorm(3),
                     .dropout = 0.25,
                     .return_sequences = true,
                     .return_state = true,
                     .go_backwards = true,
                     .stateful = true,
                     .unroll = true,
                     .reset_after = false,
                     .zero_output_for_mask = true,
                     .time_major = true,
                     .implementation = 1,
                     .name = "all",
                     .batch_input_shape = {3, 2, 5}});
  const Json config = Json::parse(gru.config());
  EXPECT_EQ(config["recurrent_activation"], "hard_sigmoid");
  EXPECT_EQ(config["reset_after"], false);
  EXPECT_EQ(config["stateful"], true);
  EXPECT_EQ(config["time_major"], true);
  EXPECT_EQ(config["batch_input_shape"], Json({3, 2, 5}));
  EXPECT_EQ(Json::parse(nn::detail::layer_from_json("GRU", config).config()), config);
  EXPECT_HAS(
      message_of<tenure::ValueError>([] { nn::detail::layer_from_json("RNN", Json::object()); }),
      "has no cell");
}

TEST(RecurrentLayers, no_inputs_are_refused) {
  const std::vector<nn::Layer> layers{nn::LSTM({.units = 2}),
                                      nn::GRU({.units = 2}),
                                      nn::SimpleRNN({.units = 2}),
                                      nn::ConvLSTM2D({.filters = 2, .kernel_size = {3}}),
                                      nn::RNN(nn::make_layer<Decay>()),
                                      nn::Bidirectional(nn::GRU({.units = 2})),
                                      nn::TimeDistributed(nn::Dense({.units = 2})),
                                      nn::StackedRNNCells({nn::GRUCell({.units = 2})})};
  const std::string wanted = "takes one input or more, was given 0";
  for (const nn::Layer& layer : layers) {
    EXPECT_HAS(message_of<tenure::ValueError>([&] { layer(std::vector<Tensor>{}); }), wanted);
    EXPECT_HAS(message_of<tenure::ValueError>([&] { layer(std::vector<nn::Node>{}); }), wanted);
    EXPECT_HAS(message_of<tenure::ValueError>([&] { layer.output_spec({}); }), wanted);
  }
}

// Gives a state that is not what state_sizes says.
struct Lying : nn::CellBase {
  std::vector<Shape> state_sizes() const override { return {{2}}; }
  nn::CellStep step(const Tensor& x, const std::vector<Tensor>&, const nn::CellCall&) override {
    return {x, {state}};
  }
  Tensor state = tenure::ones({7});
};

TEST(RecurrentLayers, a_state_of_another_shape_is_refused_in_eager_and_in_traced_code) {
  const nn::Layer cell = nn::make_layer<Lying>();
  const nn::RNN rnn(cell, {.stateful = true, .batch_input_shape = {2, 3, 2}});
  const Tensor x = tenure::ones({2, 3, 2});
  const auto traced = tenure::function("traced", [&](Tensor given) { return rnn(given); });
  const std::string wanted = "a step gives state 0 of [7], and state_sizes tells of [2, 2]";
  EXPECT_HAS(message_of<tenure::ShapeError>([&] { rnn(x); }), wanted);
  EXPECT_HAS(message_of<tenure::ShapeError>([&] { traced(x); }), wanted);
  cell.as<Lying>()->state = {};
  const std::string empty = "a step gives an empty handle for state 0";
  EXPECT_HAS(message_of<tenure::ValueError>([&] { rnn(x); }), empty);
  EXPECT_HAS(message_of<tenure::ValueError>([&] { traced(x); }), empty);
}

}  // namespace
