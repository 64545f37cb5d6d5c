// Recurrent layers at sizes that use threads, whole panels and several chunks of steps, against the
// same layer written step by step in public ops; and what rows cannot show.
#include <cmath>
#include <limits>

#include "recurrent_rows.h"

namespace tenure::testing {
namespace {

using ops::RecurrentAttrs;
using ops::RecurrentKind;

Tensor activated(Activation activation, const Tensor& x) {
  switch (activation) {
    case Activation::linear:
      return x;
    case Activation::tanh:
      return tanh(x);
    case Activation::relu:
      return relu(x);
    case Activation::sigmoid:
      return sigmoid(x);
    case Activation::hard_sigmoid:
      return hard_sigmoid(x);
    default:
      ADD_FAILURE() << "no recurrent op knows it";
      return x;
  }
}

// The layer as Keras writes it: sequence, output, state and cell.
Tensors step_by_step(const RecurrentAttrs& attrs, const Tensors& in) {
  const ops::RecurrentInputs index(attrs);
  const auto input = [&in](int i) { return in[static_cast<std::size_t>(i)]; };
  const Tensor x = input(index.x), recurrent = input(index.recurrent);
  const std::int64_t units = recurrent.dim(0), steps = x.dim(1), batch = x.dim(0);
  const auto gated = [&](const Tensor& value) { return activated(attrs.gate_activation, value); };
  const auto shown = [&](const Tensor& value) { return activated(attrs.activation, value); };
  const bool two = attrs.two_biases();
  Tensor bias, second;
  if (attrs.bias) bias = two ? input(index.bias)[0] : input(index.bias);
  if (attrs.bias && two) second = input(index.bias)[1];
  Tensor h = attrs.state ? input(index.state) : zeros({batch, units}, x.dtype());
  Tensor c = attrs.state && attrs.is_lstm() ? input(index.cell) : zeros({batch, units}, x.dtype());
  Tensor output = zeros({batch, units}, x.dtype());
  Tensors outputs;
  for (std::int64_t s = 0; s < steps; ++s) {
    const std::int64_t t = attrs.backwards ? steps - 1 - s : s;
    Tensor inputs = matmul(squeeze(slice(x, {0, t, 0}, {-1, 1, -1}), {1}), input(index.kernel));
    if (attrs.bias) inputs = inputs + bias;
    Tensor state, cell = c;
    if (attrs.kind == RecurrentKind::simple_rnn) {
      state = shown(inputs + matmul(h, recurrent));
    } else if (attrs.is_lstm()) {
      const Tensors gates = split(inputs + matmul(h, recurrent), 4, 1);
      cell = gated(gates[1]) * c + gated(gates[0]) * shown(gates[2]);
      state = gated(gates[3]) * shown(cell);
    } else {
      const Tensors parts = split(inputs, 3, 1);
      Tensor z, candidate;
      if (attrs.reset_after) {
        Tensor all = matmul(h, recurrent);
        if (attrs.bias) all = all + second;
        const Tensors inner = split(all, 3, 1);
        z = gated(parts[0] + inner[0]);
        candidate = shown(parts[2] + gated(parts[1] + inner[1]) * inner[2]);
      } else {
        const Tensors weights = split(recurrent, 3, 1);
        z = gated(parts[0] + matmul(h, weights[0]));
        const Tensor r = gated(parts[1] + matmul(h, weights[1]));
        candidate = shown(parts[2] + matmul(r * h, weights[2]));
      }
      state = z * h + (1 - z) * candidate;
    }
    if (attrs.mask) {
      const Tensor now = slice(input(index.mask), {0, t}, {-1, 1});
      output = where(now, state, output);
      h = where(now, state, h);
      c = where(now, cell, c);
    } else {
      output = h = state;
      c = cell;
    }
    outputs.push_back(output);
  }
  return {stack(outputs, 1), output, h, c};
}

Tensors results_of(const RecurrentAttrs& attrs, const Tensors& in) {
  RecurrentResult all = run_layer(attrs, in);
  Tensors results{all.output, all.state};
  if (attrs.sequence) results.push_back(all.sequence);
  if (attrs.is_lstm()) results.push_back(all.cell);
  return results;
}

Tensors draw_layer(const RecurrentAttrs& attrs, const Shapes& shapes, DType dtype) {
  Random random(21);
  std::vector<Input> inputs = layer_inputs(attrs);
  const double scale = 1 / std::sqrt(static_cast<double>(shapes[2][0]));
  inputs[1].low = inputs[2].low = -scale;
  inputs[1].high = inputs[2].high = scale;
  Tensors in;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const DType own = inputs[i].dtype.value_or(dtype);
    in.push_back(to_tensor(draw(shapes[i], inputs[i], own, random), own));
  }
  return in;
}

// Results, and the gradients of all inputs that have one, by `run`.
template <class F>
Tensors with_gradients(const Tensors& in, F&& run) {
  GradientTape tape;
  std::vector<Source> sources;
  for (const Tensor& x : in) {
    if (!is_floating(x.dtype())) continue;
    tape.watch(x);
    sources.emplace_back(x);
  }
  Tensors all = run(in);
  Tensor total;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Tensor part = sum(square(all[i]) * (0.5 + static_cast<double>(i)));
    total = total.defined() ? total + part : part;
  }
  for (Tensor& gradient : tape.gradient(total, sources)) all.push_back(std::move(gradient));
  return all;
}

std::vector<RecurrentAttrs> variants() {
  std::vector<RecurrentAttrs> all;
  for (const RecurrentKind kind :
       {RecurrentKind::simple_rnn, RecurrentKind::gru, RecurrentKind::lstm}) {
    for (const bool reset_after : {false, true}) {
      if (reset_after && kind != RecurrentKind::gru) continue;
      all.push_back({.kind = kind, .reset_after = reset_after, .bias = true});
      all.push_back({.kind = kind,
                     .reset_after = reset_after,
                     .backwards = true,
                     .sequence = true,
                     .bias = true,
                     .state = true});
      all.push_back({.kind = kind,
                     .reset_after = reset_after,
                     .sequence = true,
                     .state = true,
                     .mask = true});
    }
  }
  return all;
}

std::string described(const RecurrentAttrs& attrs) { return ops::ref(attrs).print(); }

struct Size {
  std::int64_t batch, steps, features, units;
};
// Several chunks of steps and threads; whole vectors read where they lie; one long sequence.
const std::vector<Size> kSizes{{33, 19, 7, 70}, {2, 2, 5, 64}, {1, 300, 3, 20}};

TEST(Recurrent, agrees_with_the_layer_in_public_ops) {
  for (const RecurrentAttrs& attrs : variants()) {
    for (const Size& size : kSizes) {
      SCOPED_TRACE(described(attrs) + ", units=" + std::to_string(size.units));
      const Shapes shapes = layer_shapes(attrs, size.batch, size.steps, size.features, size.units);
      const Tensors in = draw_layer(attrs, shapes, DType::float64);
      const Tensors got =
          with_gradients(in, [&](const Tensors& x) { return results_of(attrs, x); });
      const Tensors want = with_gradients(in, [&](const Tensors& x) {
        const Tensors all = step_by_step(attrs, x);
        Tensors results{all[1], all[2]};
        if (attrs.sequence) results.push_back(all[0]);
        if (attrs.is_lstm()) results.push_back(all[3]);
        return results;
      });
      ASSERT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_TRUE(
            close(got[i], to_array(want[i]), DType::float64, {.ulps = 1e5, .epsilons = 1e5}))
            << i;
      }
      if (HasFailure()) return;
    }
  }
}

TEST(Recurrent, results_and_gradients_have_the_same_bits_on_any_number_of_threads) {
  const int before = num_threads();
  for (const RecurrentAttrs& attrs : variants()) {
    SCOPED_TRACE(described(attrs));
    const Tensors in = draw_layer(attrs, layer_shapes(attrs, 37, 23, 40, 70), DType::float32);
    const auto bits_on = [&](int threads) {
      set_num_threads(threads);
      std::vector<std::vector<std::byte>> bits;
      for (const Tensor& each :
           with_gradients(in, [&](const Tensors& x) { return results_of(attrs, x); })) {
        bits.push_back(bits_of(each));
      }
      return bits;
    };
    const auto alone = bits_on(1);
    EXPECT_EQ(bits_on(2), alone);
    EXPECT_EQ(bits_on(5), alone);
  }
  set_num_threads(before);
}

TEST(Recurrent, a_tape_changes_no_bit_of_the_results) {
  for (const RecurrentAttrs& attrs : variants()) {
    SCOPED_TRACE(described(attrs));
    const Tensors in = draw_layer(attrs, layer_shapes(attrs, 5, 4, 3, 18), DType::float32);
    const Tensors alone = results_of(attrs, in);
    GradientTape tape;
    tape.watch(in[0]);
    const Tensors taped = results_of(attrs, in);
    for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(bits_of(taped[i]), bits_of(alone[i]));
  }
}

// The function was traced without a tape, so its layer kept nothing.
TEST(Recurrent, a_traced_call_has_the_gradient_of_an_eager_one) {
  for (const RecurrentAttrs& attrs : variants()) {
    SCOPED_TRACE(described(attrs));
    const Tensors in = draw_layer(attrs, layer_shapes(attrs, 3, 4, 5, 6), DType::float64);
    const Tensors eager =
        with_gradients(in, [&](const Tensors& x) { return results_of(attrs, x); });
    Function layer = function("layer", [&](Tensors x) { return results_of(attrs, x); });
    layer(in);
    const Tensors traced = with_gradients(in, [&](const Tensors& x) { return layer(x); });
    ASSERT_EQ(traced.size(), eager.size());
    for (std::size_t i = 0; i < eager.size(); ++i) {
      EXPECT_TRUE(
          close(traced[i], to_array(eager[i]), DType::float64, {.ulps = 64, .epsilons = 64}));
    }
  }
}

TEST(Recurrent, without_a_tape_only_what_was_asked_for_is_allocated) {
  const RecurrentAttrs attrs{.kind = RecurrentKind::lstm, .bias = true};
  const Tensors in = draw_layer(attrs, layer_shapes(attrs, 2, 50, 3, 8), DType::float32);
  const std::size_t before = memory().live_bytes;
  const RecurrentResult result = run_layer(attrs, in);
  EXPECT_FALSE(result.sequence.defined());
  EXPECT_EQ(memory().live_bytes - before, 3 * result.output.nbytes());
}

TEST(Recurrent, states_go_on_where_a_sequence_was_cut) {
  for (const RecurrentAttrs& plain : variants()) {
    if (plain.backwards || plain.mask) continue;
    SCOPED_TRACE(described(plain));
    RecurrentAttrs attrs = plain;
    const Tensors whole = draw_layer(attrs, layer_shapes(attrs, 2, 7, 3, 18), DType::float32);
    const RecurrentResult once = run_layer(attrs, whole);
    Tensors in = whole;
    in[0] = slice(whole[0], {0, 0, 0}, {-1, 3, -1});
    const RecurrentResult first = run_layer(attrs, in);
    in[0] = slice(whole[0], {0, 3, 0}, {-1, 4, -1});
    attrs.state = true;
    in.push_back(first.state);
    if (attrs.is_lstm()) in.push_back(first.cell);
    EXPECT_EQ(bits_of(run_layer(attrs, in).output), bits_of(once.output));
  }
}

TEST(Recurrent, what_is_masked_does_not_count) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const RecurrentKind kind :
       {RecurrentKind::simple_rnn, RecurrentKind::gru, RecurrentKind::lstm}) {
    const RecurrentAttrs attrs{.kind = kind, .sequence = true, .state = true, .mask = true};
    Tensors in = draw_layer(attrs, layer_shapes(attrs, 2, 3, 1, 2), DType::float32);
    in[0] = tensor({nan, 1.f, nan, nan, nan, nan}, {2, 3, 1});
    in.back() = tensor({false, true, false, false, false, false}, {2, 3});
    const RecurrentResult result = run_layer(attrs, in);
    const std::vector<float> sequence = result.sequence.to_vector<float>();
    const std::vector<float> output = result.output.to_vector<float>();
    const std::vector<float> state = result.state.to_vector<float>();
    const std::vector<float> initial = in[3].to_vector<float>();
    for (std::size_t u = 0; u < 2; ++u) {
      // Nothing before the first step that counts; then its output, again and again.
      EXPECT_EQ(sequence[u], 0);
      EXPECT_TRUE(std::isfinite(sequence[2 + u]));
      EXPECT_EQ(sequence[4 + u], sequence[2 + u]);
      EXPECT_EQ(output[u], sequence[2 + u]);
      EXPECT_EQ(state[u], sequence[2 + u]);
      // A sample without any: no output, and the state it came with.
      for (std::size_t t = 3; t < 6; ++t) EXPECT_EQ(sequence[2 * t + u], 0);
      EXPECT_EQ(output[2 + u], 0);
      EXPECT_EQ(state[2 + u], initial[2 + u]);
    }
  }
}

TEST(Recurrent, one_of_an_lstms_states_may_be_given_alone) {
  const RecurrentAttrs attrs{.kind = RecurrentKind::lstm, .state = true};
  const Tensors in = draw_layer(attrs, layer_shapes(attrs, 2, 3, 4, 5), DType::float32);
  const Tensor none = zeros({2, 5});
  const auto bits = [&](const RecurrentOptions& options) {
    return bits_of(lstm(in[0], in[1], in[2], options).cell);
  };
  EXPECT_EQ(bits({.initial_state = in[3]}), bits({.initial_state = in[3], .initial_cell = none}));
  EXPECT_EQ(bits({.initial_cell = in[4]}), bits({.initial_state = none, .initial_cell = in[4]}));
}

TEST(Recurrent, wrong_arguments_are_named) {
  const Tensor x = ones({2, 3, 4}), kernel = ones({4, 5}), recurrent = ones({5, 5});
  EXPECT_HAS(message_of<ValueError>(
                 [&] { simple_rnn(x, kernel, recurrent, {.initial_cell = ones({2, 5})}); }),
             "simple_rnn: an initial cell was given, and only an lstm has cells");
  EXPECT_HAS(
      message_of<DtypeError>([&] { simple_rnn(x, kernel, recurrent, {.mask = ones({2, 3})}); }),
      "simple_rnn: the mask must be bool, not float32");
  EXPECT_EQ(message_of<ShapeError>([&] { lstm(x, kernel, recurrent); }),
            "lstm: the recurrent kernel must be [units, 4 * units], not [5, 5]");
  EXPECT_EQ(message_of<ShapeError>([&] { simple_rnn(x, kernel, ones({0, 0})); }),
            "simple_rnn: the recurrent kernel must be [units, units], not [0, 0]");
  EXPECT_EQ(
      message_of<ShapeError>([&] { gru(x, ones({4, 15}), ones({5, 15}), {.bias = ones({15})}); }),
      "gru: the bias is [15], but must be [2, 15] for x of [2, 3, 4] and a recurrent kernel "
      "of [5, 15]");
  EXPECT_EQ(message_of<ValueError>(
                [&] { simple_rnn(x, kernel, recurrent, {.activation = Activation::elu}); }),
            "simple_rnn: its kernels do not know the activation elu");
}

}  // namespace
}  // namespace tenure::testing
