// The ways along a sequence (one operation, a loop, a scan) against a reference, with all that
// masks, directions and initial states may be.
#include "tenure/nn/recurrent_layers.h"

#include "recurrent_reference.h"
#include "recurrent_values.h"

namespace {

namespace nn = tenure::nn;
using tenure::Shape;
using tenure::Tensor;
using namespace tenure::testing;

struct Case {
  Kind kind;
  bool backwards, masked, initial, sequences;
  std::string activation = "tanh";

  std::string text() const {
    static constexpr const char* names[] = {"simple_rnn", "gru", "gru_reset_before", "lstm"};
    return std::string(names[static_cast<int>(kind)]) + (backwards ? " backwards" : "") +
           (masked ? " masked" : "") + (initial ? " initial" : "") +
           (sequences ? " sequences" : "") + " " + activation;
  }
};

nn::Layer made(const Case& c, bool fused, bool unroll = false) {
  if (c.kind == Kind::simple_rnn) {
    return nn::SimpleRNN({.units = 5,
                          .activation = c.activation,
                          .return_sequences = c.sequences,
                          .return_state = true,
                          .go_backwards = c.backwards,
                          .unroll = unroll,
                          .fused = fused});
  }
  if (c.kind == Kind::lstm) {
    return nn::LSTM({.units = 5,
                     .activation = c.activation,
                     .return_sequences = c.sequences,
                     .return_state = true,
                     .go_backwards = c.backwards,
                     .unroll = unroll,
                     .fused = fused});
  }
  return nn::GRU({.units = 5,
                  .activation = c.activation,
                  .return_sequences = c.sequences,
                  .return_state = true,
                  .go_backwards = c.backwards,
                  .unroll = unroll,
                  .reset_after = c.kind == Kind::gru,
                  .fused = fused});
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Kind kind : {Kind::simple_rnn, Kind::gru, Kind::gru_reset_before, Kind::lstm}) {
    for (int bits = 0; bits < 16; ++bits) {
      all.push_back({kind, (bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0});
    }
    all.push_back({kind, false, true, true, true, "sigmoid"});
  }
  return all;
}

// The first steps of a row are masked too, in both directions.
const std::vector<bool> kMask{false, true, false, true, true, false, true, false};

struct Expected {
  std::vector<Doubles> outputs, gradients;
};

Expected expected(const Case& c, const nn::Layer& layer) {
  ReferenceOptions o;
  o.kind = c.kind;
  o.go_backwards = c.backwards;
  if (c.masked) o.mask = kMask;
  if (c.activation == "sigmoid") o.activation = o.gate;
  const std::size_t states = c.initial ? (c.kind == Kind::lstm ? 2 : 1) : 0;
  std::vector<Doubles> at{wave(24, 0.3, 0.9)};
  for (std::size_t i = 0; i < states; ++i) {
    at.push_back(wave(10, 20 + static_cast<double>(i), 0.5));
  }
  double seed = 1;
  for (const tenure::Variable& weight : layer.weights()) {
    at.push_back(wave(weight.shape().numel(), seed++, 0.6));
  }
  const auto run = [&](const std::vector<Doubles>& given) {
    const auto first = given.begin() + 1, end = first + static_cast<std::ptrdiff_t>(states);
    ReferenceResult made = reference_rnn(o, {given[0], {first, end}, end[0], end[1], end[2]});
    std::vector<Doubles> outputs{c.sequences ? made.sequence : made.last};
    outputs.insert(outputs.end(), made.states.begin(), made.states.end());
    return outputs;
  };
  const auto loss = [&](const std::vector<Doubles>& given) {
    const std::vector<Doubles> outputs = run(given);
    double total = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Doubles flow =
          wave(static_cast<std::int64_t>(outputs[i].size()), 40 + static_cast<double>(i), 1);
      for (std::size_t j = 0; j < flow.size(); ++j) total += flow[j] * outputs[i][j];
    }
    return total;
  };
  return {run(at), difference_gradients(loss, at)};
}

void expect_run(const LayerRun& run, const Expected& wanted, const std::string& what) {
  ASSERT_EQ(run.outputs.size(), wanted.outputs.size()) << what;
  for (std::size_t i = 0; i < wanted.outputs.size(); ++i) {
    expect_near(run.outputs[i], wanted.outputs[i], 2e-6, what + ", output " + std::to_string(i));
  }
  ASSERT_EQ(run.gradients.size(), wanted.gradients.size()) << what;
  for (std::size_t i = 0; i < wanted.gradients.size(); ++i) {
    expect_near(run.gradients[i], wanted.gradients[i], 1e-5,
                what + ", gradient " + std::to_string(i));
  }
}

TEST(RecurrentReference, every_way_along_a_sequence_gives_the_reference) {
  for (const Case& c : cases()) {
    std::vector<Tensor> inputs{wave_tensor({2, 4, 3}, 0.3, 0.9)};
    if (c.initial) inputs.push_back(wave_tensor({2, 5}, 20, 0.5));
    if (c.initial && c.kind == Kind::lstm) inputs.push_back(wave_tensor({2, 5}, 21, 0.5));
    nn::Call call;
    if (c.masked) call.masks = {tenure::tensor(kMask, {2, 4})};
    std::optional<Expected> wanted;
    for (const bool fused : {true, false}) {
      const nn::Layer layer = made(c, fused);
      layer.build({2, 4, 3});
      set_waves(layer);
      if (!wanted) wanted = expected(c, layer);
      const std::string what = c.text() + (fused ? ", one operation" : ", step by step");
      expect_run(run_layer(layer, inputs, call), *wanted, what);
      expect_run(run_traced(layer, inputs, call), *wanted, what + ", traced");
    }
    const nn::Layer unrolled = made(c, false, true);
    unrolled.build({2, 4, 3});
    set_waves(unrolled);
    expect_run(run_traced(unrolled, inputs, call), *wanted, c.text() + ", unrolled");
  }
}

TEST(RecurrentReference, stacked_cells_give_the_same_cell_by_cell_and_step_by_step) {
  const Tensor x = wave_tensor({2, 4, 3}, 0.3, 0.9);
  for (int bits = 0; bits < 16; ++bits) {
    const bool backwards = (bits & 1) != 0, sequences = (bits & 2) != 0;
    const auto run = [&](bool fused, bool traced) {
      const nn::RNN rnn({nn::LSTMCell({.units = 4}), nn::GRUCell({.units = 3}),
                         nn::SimpleRNNCell({.units = 5, .activation = "relu"})},
                        {.return_sequences = sequences,
                         .return_state = true,
                         .go_backwards = backwards,
                         .fused = fused});
      rnn.build({2, 4, 3});
      set_waves(rnn);
      nn::Call call;
      if ((bits & 4) != 0) call.masks = {tenure::tensor(kMask, {2, 4})};
      std::vector<Tensor> inputs{x};
      if ((bits & 8) != 0) {
        for (const std::int64_t units : {4, 4, 3, 5}) {
          inputs.push_back(wave_tensor({2, units}, static_cast<double>(units), 0.5));
        }
      }
      return traced ? run_traced(rnn, inputs, call) : run_layer(rnn, inputs, call);
    };
    const LayerRun wanted = run(false, false);
    for (const LayerRun& made : {run(true, false), run(true, true), run(false, true)}) {
      ASSERT_EQ(made.outputs.size(), 5u);
      for (std::size_t i = 0; i < 5; ++i) {
        const std::vector<float> values = wanted.outputs[i].to_vector<float>();
        expect_near(made.outputs[i], {values.begin(), values.end()}, 2e-6, std::to_string(bits));
      }
      ASSERT_EQ(made.gradients.size(), wanted.gradients.size());
      for (std::size_t i = 0; i < made.gradients.size(); ++i) {
        const std::vector<float> values = wanted.gradients[i].to_vector<float>();
        expect_near(made.gradients[i], {values.begin(), values.end()}, 1e-5, std::to_string(bits));
      }
    }
  }
}

TEST(RecurrentReference, time_major_is_the_same_turned_around) {
  const Tensor x = wave_tensor({2, 4, 3}, 0.3, 0.9), turned = tenure::transpose(x, {1, 0, 2});
  const Tensor mask = tenure::tensor(kMask, {2, 4});
  for (const bool fused : {true, false}) {
    const nn::LSTM plain({.units = 5, .return_sequences = true, .fused = fused});
    const nn::LSTM major(
        {.units = 5, .return_sequences = true, .time_major = true, .fused = fused});
    plain.build({2, 4, 3});
    major.build({4, 2, 3});
    set_waves(plain);
    set_waves(major);
    const Tensor wanted =
        tenure::contiguous(tenure::transpose(plain(x, {.masks = {mask}}), {1, 0, 2}));
    const std::vector<float> floats = wanted.to_vector<float>();
    const std::vector<double> doubles(floats.begin(), floats.end());
    const nn::Call call{.masks = {tenure::transpose(mask)}};
    expect_near(major(turned, call), doubles, 1e-6, "eager");
    expect_near(run_traced(major, {turned}, call).outputs[0], doubles, 1e-6, "traced");
  }
}

TEST(RecurrentReference, zero_output_for_mask_gives_zeros_where_steps_are_skipped) {
  const Tensor x = wave_tensor({2, 4, 3}, 0.3, 0.9), mask = tenure::tensor(kMask, {2, 4});
  for (const bool fused : {true, false}) {
    for (const bool backwards : {false, true}) {
      for (const bool sequences : {false, true}) {
        nn::GRUOptions options{
            .units = 5, .return_sequences = sequences, .go_backwards = backwards, .fused = fused};
        const nn::GRU plain(options);
        options.zero_output_for_mask = true;
        const nn::GRU zeroed(options);
        plain.build({2, 4, 3});
        zeroed.build({2, 4, 3});
        set_waves(plain);
        set_waves(zeroed);
        std::vector<float> wanted = plain(x, {.masks = {mask}}).to_vector<float>();
        const std::size_t steps = sequences ? 4 : 1;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          const std::size_t row = i / (5 * steps), step = i / 5 % steps;
          const std::size_t at = sequences ? (backwards ? 3 - step : step) : (backwards ? 0 : 3);
          if (!kMask[row * 4 + at]) wanted[i] = 0;
        }
        EXPECT_EQ(zeroed(x, {.masks = {mask}}).to_vector<float>(), wanted);
      }
    }
  }
}

}  // namespace
