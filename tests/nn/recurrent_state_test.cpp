// The states of stateful layers: what changes them, what never does, and what they cost.
#include <stdexcept>

#include "nn/layer_state.h"
#include "recurrent_values.h"
#include "support/expect.h"
#include "tenure/nn/recurrent_layers.h"

namespace {

namespace nn = tenure::nn;
using tenure::Shape;
using tenure::Tensor;
using tenure::Variable;
using namespace tenure::testing;

struct Way {
  const char* kind;
  bool fused;
  bool stateful = true;
};

nn::Layer made(const Way& way, const std::string& name = {}) {
  if (way.kind == std::string("lstm")) {
    return nn::LSTM({.units = 5, .stateful = way.stateful, .fused = way.fused, .name = name});
  }
  if (way.kind == std::string("gru")) {
    return nn::GRU({.units = 5, .stateful = way.stateful, .fused = way.fused, .name = name});
  }
  return nn::SimpleRNN({.units = 5, .stateful = way.stateful, .fused = way.fused, .name = name});
}

std::vector<Way> ways() {
  return {{"simple_rnn", true}, {"simple_rnn", false}, {"gru", true},
          {"gru", false},       {"lstm", true},        {"lstm", false}};
}

std::vector<Floats> states_of(const nn::Layer& layer) {
  std::vector<Floats> values;
  for (const Tensor& state : layer.get_states()) values.push_back(floats(state));
  return values;
}

void expect_close(const Floats& found, const Floats& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], wanted[i], 1e-6) << i;
}

TEST(RecurrentState, a_stateful_layer_goes_on_where_it_ended) {
  const Tensor whole = wave_tensor({2, 6, 3}, 0.3, 0.9);
  const std::vector<Tensor> halves = tenure::split(whole, 2, 1);
  for (const Way& way : ways()) {
    const nn::Layer once = made({way.kind, way.fused, false}), twice = made(way);
    once.build({2, 6, 3});
    twice.build({2, 3, 3});
    set_waves(once);
    set_waves(twice);
    const Floats wanted = floats(once(whole));
    twice(halves[0]);
    expect_close(floats(twice(halves[1])), wanted);
    twice.reset_states();
    const auto traced = tenure::function("step", [&](Tensor x) { return twice(x); });
    traced(halves[0]);
    expect_close(floats(traced(halves[1])), wanted);
    EXPECT_EQ(traced.traces().size(), 1u);
  }
}

TEST(RecurrentState, states_have_names_and_count_as_layer_state) {
  const std::size_t before = tenure::memory().layer_state_bytes;
  const nn::Layer lstm = made({"lstm", true}, "memory");
  lstm.build({2, 3, 3});
  const std::vector<Variable> slots = nn::detail::all_states(nn::detail::LayerAccess::base(lstm));
  ASSERT_EQ(slots.size(), 2u);
  EXPECT_EQ(slots[0].name(), "memory/state_0");
  EXPECT_EQ(slots[1].name(), "memory/state_1");
  EXPECT_EQ(tenure::memory().layer_state_bytes - before, 2u * 2 * 5 * sizeof(float));
  EXPECT_EQ(lstm.weights().size(), 3u);
  EXPECT_EQ(lstm.weights()[1].name(), "memory/lstm_cell/recurrent_kernel");
}

TEST(RecurrentState, reset_states_sets_them_to_zeros_or_to_what_is_given) {
  const Tensor x = wave_tensor({2, 3, 3}, 0.3, 0.9), h = wave_tensor({2, 5}, 20, 0.5),
               c = wave_tensor({2, 5}, 21, 0.5);
  const nn::Layer lstm = made({"lstm", true});
  const Floats fresh = floats(lstm(x));
  lstm.reset_states();
  EXPECT_EQ(states_of(lstm), (std::vector<Floats>(2, Floats(10, 0.f))));
  EXPECT_EQ(floats(lstm(x)), fresh);
  lstm.reset_states({h, c});
  EXPECT_EQ(states_of(lstm), (std::vector<Floats>{floats(h), floats(c)}));
  const Floats from_slots = floats(lstm(x));
  lstm.reset_states();
  EXPECT_EQ(floats(lstm({x, h, c})), from_slots);
}

TEST(RecurrentState, given_initial_states_replace_the_kept_ones_and_the_new_ones_are_kept) {
  const Tensor x = wave_tensor({2, 3, 3}, 0.3, 0.9), h = wave_tensor({2, 5}, 20, 0.5);
  const nn::SimpleRNN rnn({.units = 5, .return_state = true, .stateful = true});
  rnn(x);
  const std::vector<Tensor> made = rnn.apply({x, h});
  EXPECT_EQ(states_of(rnn)[0], floats(made[1]));
}

TEST(RecurrentState, a_stateful_layer_without_a_batch_size_says_how_to_give_one) {
  const nn::Layer rnn = made({"simple_rnn", true}, "forecast");
  const std::string text =
      message_of<tenure::ValueError>([&] { rnn(nn::Input({.shape = {16, 4}})); });
  EXPECT_HAS(text, "SimpleRNN \"forecast\"");
  EXPECT_HAS(text, "batch_input_shape");
  EXPECT_HAS(text, "batch_size");
  EXPECT_EQ(rnn(nn::Input({.shape = {16, 4}, .batch_size = 3})).shape(), (Shape{3, 5}));
}

TEST(RecurrentState, another_batch_size_is_refused_and_changes_nothing) {
  const nn::Layer rnn = made({"simple_rnn", true}, "forecast");
  rnn(wave_tensor({2, 3, 3}, 0.3, 0.9));
  const auto before = states_of(rnn);
  const std::string text =
      message_of<tenure::ShapeError>([&] { rnn(wave_tensor({7, 3, 3}, 0.3, 0.9)); });
  EXPECT_HAS(text, "SimpleRNN \"forecast\"");
  EXPECT_HAS(text, "batches of 2, was given one of 7");
  EXPECT_HAS(text, ".stateful = false");
  EXPECT_EQ(states_of(rnn), before);
}

TEST(RecurrentState, wrong_values_for_states_are_refused) {
  const nn::Layer plain = made({"lstm", true, false}), stateful = made({"lstm", true});
  const Tensor h = tenure::zeros({2, 5});
  EXPECT_HAS(message_of<tenure::ValueError>([&] { plain.reset_states({h, h}); }), "not stateful");
  EXPECT_HAS(message_of<tenure::ValueError>([&] { stateful.reset_states({h, h}); }),
             "has no states yet");
  stateful.build({2, 3, 3});
  EXPECT_HAS(message_of<tenure::ValueError>([&] { stateful.reset_states({h}); }),
             "has 2 states, was given 1");
  EXPECT_HAS(
      message_of<tenure::ShapeError>([&] { stateful.reset_states({h, tenure::zeros({3, 5})}); }),
      "[3, 5]");
}

TEST(RecurrentState, L19_disposing_outputs_and_states_read_leaves_the_state) {
  const Tensor x = wave_tensor({2, 3, 3}, 0.3, 0.9);
  for (const Way& way : ways()) {
    const nn::Layer calm = made(way), rough = made(way);
    calm.build({2, 3, 3});
    rough.build({2, 3, 3});
    set_waves(calm);
    set_waves(rough);
    for (int i = 0; i < 3; ++i) {
      const Floats wanted = floats(calm(x));
      std::vector<Tensor> made = rough.apply({x});
      EXPECT_EQ(floats(made[0]), wanted);
      for (Tensor& each : made) each.dispose();
      for (Tensor& each : rough.get_states()) each.dispose();
    }
    EXPECT_EQ(states_of(rough), states_of(calm));
  }
}

TEST(RecurrentState, L19_a_scope_that_ends_leaves_the_state) {
  const Tensor x = wave_tensor({2, 3, 3}, 0.3, 0.9);
  for (const Way& way : ways()) {
    const nn::Layer calm = made(way), scoped = made(way);
    calm.build({2, 3, 3});
    scoped.build({2, 3, 3});
    set_waves(calm);
    set_waves(scoped);
    for (int i = 0; i < 3; ++i) {
      calm(x);
      tenure::tidy([&] { scoped(x); });
      EXPECT_THROW(tenure::tidy([&] {
                     const Tensor other = tenure::tanh(x);
                     throw std::runtime_error("after the call of another layer");
                   }),
                   std::runtime_error);
    }
    EXPECT_EQ(states_of(scoped), states_of(calm));
  }
}

TEST(RecurrentState, L19_the_first_call_in_a_scope_makes_states_that_outlive_it) {
  const nn::Layer rnn = made({"gru", true});
  const Floats last =
      tenure::tidy([&] { return rnn(wave_tensor({2, 3, 3}, 0.3, 0.9)); }).to_vector<float>();
  EXPECT_EQ(states_of(rnn)[0], last);
}

TEST(RecurrentState, L19_ten_thousand_calls_keep_nothing) {
  const Tensor x = wave_tensor({1, 4, 3}, 0.3, 0.9);
  for (const Way& way : ways()) {
    const nn::Layer rnn = made(way);
    const auto traced = tenure::function("predict", [&](Tensor given) { return rnn(given); });
    rnn(x);
    traced(x);
    const tenure::MemoryInfo before = tenure::memory();
    const int calls = way.fused ? 10'000 : 500;
    for (int i = 0; i < calls; ++i) {
      rnn(x);
      traced(x);
    }
    const tenure::MemoryInfo after = tenure::memory();
    EXPECT_EQ(after.live_bytes, before.live_bytes);
    EXPECT_EQ(after.layer_state_bytes, before.layer_state_bytes);
    EXPECT_EQ(after.saved_bytes, before.saved_bytes);
    EXPECT_EQ(after.tensors, before.tensors);
    EXPECT_EQ(after.storages, before.storages);
    EXPECT_EQ(after.reserved_bytes, before.reserved_bytes);
  }
}

TEST(RecurrentState, L19_training_keeps_no_history_of_past_batches) {
  const Tensor x = wave_tensor({2, 3, 3}, 0.3, 0.9);
  for (const Way& way : ways()) {
    const nn::Layer rnn = made(way);
    const std::vector<Variable> weights = [&] {
      rnn.build({2, 3, 3});
      return rnn.trainable_weights();
    }();
    const auto step = [&] {
      tenure::GradientTape tape;
      tape.gradient(tenure::sum(rnn(x, {.training = true})), {weights[0], weights[1]});
    };
    step();
    const tenure::MemoryInfo before = tenure::memory();
    for (int i = 0; i < 50; ++i) step();
    const tenure::MemoryInfo after = tenure::memory();
    EXPECT_EQ(after.live_bytes, before.live_bytes);
    EXPECT_EQ(after.saved_bytes, 0u);
    EXPECT_EQ(after.storages, before.storages);
  }
}

TEST(RecurrentState, no_gradient_flows_into_the_batch_before) {
  const Tensor first = wave_tensor({2, 3, 3}, 0.3, 0.9), second = wave_tensor({2, 3, 3}, 0.8, 0.9);
  const auto gradients = [&](const nn::Layer& rnn) {
    tenure::GradientTape tape;
    tape.watch(first);
    tape.watch(second);
    rnn(first);
    return tape.gradient(tenure::sum(rnn(second)), {first, second});
  };
  for (const Way& way : ways()) {
    const nn::Layer rnn = made(way);
    const std::vector<Tensor> eager = gradients(rnn);
    EXPECT_FALSE(eager[0].defined());
    EXPECT_TRUE(eager[1].defined());
    const auto traced = tenure::function("two batches", [&](Tensor a, Tensor b) {
      tenure::GradientTape tape;
      tape.watch(a);
      tape.watch(b);
      rnn(a);
      return tape.gradient(tenure::sum(rnn(b)), {a, b},
                           {.output_gradient = {}, .zero_if_unconnected = true});
    });
    rnn.reset_states();
    const std::vector<Tensor> made = traced(first, second);
    EXPECT_EQ(floats(made[0]), Floats(18, 0.f));
    expect_close(floats(made[1]), floats(eager[1]));
  }
}

TEST(RecurrentState, a_layer_that_computes_again_for_the_gradient_begins_where_it_began) {
  const Tensor x = wave_tensor({2, 3, 3}, 0.3, 0.9);
  for (const Way& way : ways()) {
    const nn::Layer keeps = made(way), again = made(way);
    keeps.build({2, 3, 3});
    again.build({2, 3, 3});
    set_waves(keeps);
    set_waves(again);
    again.set_recompute(true);
    for (const bool traced : {false, true}) {
      const LayerRun wanted = run_layer(keeps, {x}, {.training = true});
      const LayerRun found = traced ? run_traced(again, {x}, {.training = true})
                                    : run_layer(again, {x}, {.training = true});
      for (std::size_t i = 0; i < wanted.gradients.size(); ++i) {
        expect_close(floats(found.gradients[i]), floats(wanted.gradients[i]));
      }
      expect_close(states_of(again).back(), states_of(keeps).back());
    }
  }
}

// A cell that fails at a step, or gives a state that cannot be kept.
struct Fragile : nn::CellBase {
  std::vector<Shape> state_sizes() const override { return {{3}, {3}}; }
  nn::CellStep step(const Tensor& x, const std::vector<Tensor>& states,
                    const nn::CellCall&) override {
    if (fails_at == 0) throw std::runtime_error("fragile");
    if (fails_at > 0) --fails_at;
    Tensor h = states[0] + x;
    return {h, {h, gives_integers ? tenure::cast(h, tenure::DType::int32) : states[1] + 1}};
  }
  int fails_at = -1;
  bool gives_integers = false;
};

TEST(RecurrentState, L19_a_call_that_fails_leaves_the_state) {
  const Tensor x = wave_tensor({2, 4, 3}, 0.3, 0.9);
  const nn::Layer cell = nn::make_layer<Fragile>();
  const nn::RNN rnn(cell, {.stateful = true});
  rnn(x);
  const auto before = states_of(rnn);
  cell.as<Fragile>()->fails_at = 2;
  EXPECT_THROW(rnn(x), std::runtime_error);
  EXPECT_EQ(states_of(rnn), before);
  cell.as<Fragile>()->fails_at = -1;
  cell.as<Fragile>()->gives_integers = true;
  EXPECT_THROW(rnn(x), tenure::DtypeError);
  EXPECT_EQ(states_of(rnn), before) << "the first state was kept, the second could not be";
  cell.as<Fragile>()->gives_integers = false;
  rnn(x);
  EXPECT_EQ(states_of(rnn)[1], Floats(6, 8.f));
}

TEST(RecurrentState, L19_a_trace_that_fails_leaves_the_state) {
  const Tensor x = wave_tensor({2, 4, 3}, 0.3, 0.9);
  for (const Way& way : ways()) {
    const nn::Layer rnn = made(way);
    rnn(x);
    const auto before = states_of(rnn);
    const auto fails = tenure::function("fails", [&](Tensor given) {
      const Tensor y = rnn(given);
      if (y.defined()) throw std::runtime_error("after the layer");
      return y;
    });
    EXPECT_THROW(fails(x), std::runtime_error);
    EXPECT_EQ(states_of(rnn), before);
  }
}

struct Budget {
  explicit Budget(std::size_t more) {
    tenure::trim_pool();
    tenure::set_memory_budget(tenure::memory().reserved_bytes + more);
  }
  ~Budget() { tenure::set_memory_budget(0); }
};

TEST(RecurrentState, L19_running_out_of_memory_leaves_the_state) {
  const Tensor x = wave_tensor({64, 32, 48}, 0.3, 0.9);
  for (const bool fused : {true, false}) {
    const nn::LSTM lstm({.units = 96, .return_sequences = true, .stateful = true, .fused = fused});
    const auto traced = tenure::function("predict", [&](Tensor given) { return lstm(given); });
    const Floats fresh = floats(traced(x));
    lstm.reset_states();
    lstm(x);
    const auto before = states_of(lstm);
    {
      const Budget budget(64 << 10);
      EXPECT_THROW(lstm(x), tenure::OutOfMemoryError);
      EXPECT_THROW(traced(x), tenure::OutOfMemoryError);
    }
    EXPECT_EQ(states_of(lstm), before);
    lstm.reset_states();
    expect_close(floats(traced(x)), fresh);
    EXPECT_EQ(states_of(lstm).size(), 2u);
  }
}

TEST(RecurrentState, L19_only_disposing_the_layer_ends_the_state) {
  const nn::Layer rnn = made({"gru", true});
  rnn(wave_tensor({2, 3, 3}, 0.3, 0.9));
  const Tensor kept = rnn.get_states()[0];
  EXPECT_EQ(rnn.dispose().variables, 3);
  EXPECT_FALSE(kept.is_disposed());
  EXPECT_THROW(rnn.get_states(), tenure::DisposedError);
  EXPECT_THROW(rnn(wave_tensor({2, 3, 3}, 0.3, 0.9)), tenure::DisposedError);
}

TEST(RecurrentState, in_a_trace_a_stateful_layer_is_one_operation) {
  const Tensor x = wave_tensor({1, 16, 4}, 0.3, 0.9);
  for (const char* kind : {"simple_rnn", "gru", "lstm"}) {
    const nn::Layer rnn = made({kind, true});
    const auto traced = tenure::function("predict", [&](Tensor given) { return rnn(given); });
    traced(x);
    EXPECT_EQ(traced.traces()[0].nodes, 1u) << traced.dump();
    EXPECT_EQ(traced.traces()[0].steps, 1u) << traced.dump({.optimised = true});
  }
}

TEST(RecurrentState, a_bidirectional_layer_has_the_states_of_both_ways) {
  const nn::Bidirectional both(nn::LSTM({.units = 5, .stateful = true}), {.name = "both"});
  const Tensor x = wave_tensor({2, 3, 3}, 0.3, 0.9);
  const Floats fresh = floats(both(x));
  ASSERT_EQ(both.get_states().size(), 4u);
  EXPECT_NE(floats(both(x)), fresh);
  both.reset_states();
  EXPECT_EQ(floats(both(x)), fresh);
  const std::vector<Tensor> kept = both.get_states();
  both(x);
  both.reset_states(kept);
  const Floats wanted = floats(both(x));
  both.reset_states(kept);
  EXPECT_EQ(floats(both(x)), wanted);
}

TEST(RecurrentState, L19_a_step_that_fails_leaves_the_state_and_the_averages) {
  for (const bool eager : {false, true}) {
    const nn::Sequential model(
        {nn::SimpleRNN({.units = 2, .stateful = true, .batch_input_shape = {2, 3, 2}}),
         nn::BatchNormalization(), nn::Dense({.units = 1})});
    model.compile({.optimizer = "sgd", .loss = "mse", .eager = eager});
    const Tensor x = wave_tensor({2, 3, 2}, 0.3, 0.9), wrong = tenure::ones({2, 7});
    model.train_on_batch(x, tenure::ones({2, 1}));
    const auto all = [&] {
      std::vector<Floats> values = states_of(model);
      for (const Tensor& weight : model.get_weights()) values.push_back(floats(weight));
      return values;
    };
    const auto before = all();
    EXPECT_THROW(model.train_on_batch(x, wrong), tenure::ShapeError);
    EXPECT_EQ(all(), before);
    EXPECT_THROW(model.test_on_batch(x, wrong), tenure::ShapeError);
    EXPECT_EQ(all(), before);
  }
}

}  // namespace
