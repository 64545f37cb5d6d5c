// Calls of recurrent layers as case and fuzz rows make them, from attributes and inputs in order.
#pragma once

#include "case.h"
#include "ops/apply.h"
#include "reference_recurrent.h"

namespace tenure::testing {

inline std::string name_of(ops::RecurrentKind kind) { return ops::choice_name(kind); }

// The public function.
inline RecurrentResult run_layer(const ops::RecurrentAttrs& attrs, Tensors in) {
  const ops::RecurrentInputs index(attrs);
  const auto optional = [&in](int i) -> std::optional<KeptArg> {
    if (i < 0) return {};
    return Arg(std::move(in[static_cast<std::size_t>(i)]));
  };
  const RecurrentOptions options{.bias = optional(index.bias),
                                 .initial_state = optional(index.state),
                                 .initial_cell = optional(index.cell),
                                 .mask = optional(index.mask),
                                 .activation = attrs.activation,
                                 .recurrent_activation = attrs.gate_activation,
                                 .reset_after = attrs.reset_after,
                                 .go_backwards = attrs.backwards,
                                 .return_sequences = attrs.sequence};
  in.resize(3);
  const auto run = attrs.kind == ops::RecurrentKind::simple_rnn ? simple_rnn
                   : attrs.kind == ops::RecurrentKind::gru      ? gru
                                                                : lstm;
  return run(OP_IN(0), OP_IN(1), OP_IN(2), options);
}

inline Tensor run_layer(const ops::RecurrentAttrs& attrs, Tensors in, RecurrentValue which) {
  RecurrentResult all = run_layer(attrs, std::move(in));
  Tensor* const results[] = {&all.sequence, &all.output, &all.state, &all.cell};
  return std::move(*results[static_cast<int>(which)]);
}

// The backward op on what the forward op saves. `in` has the layer's inputs, then the gradients.
inline Tensors run_gradient(ops::RecurrentGradAttrs attrs, const Tensors& in) {
  attrs.forward.training = true;
  const auto count = static_cast<std::ptrdiff_t>(ops::RecurrentInputs(attrs.forward).count);
  Tensors inputs(in.begin(), in.begin() + count);
  const ops::RecurrentOutputs results(attrs.forward);
  Tensors saved(static_cast<std::size_t>(results.count)), given = inputs;
  const std::string name = name_of(attrs.forward.kind);
  const auto site = std::source_location::current();
  ops::apply_into(op_named(name), given, ops::ref(attrs.forward), site, saved);
  for (const int i : {results.saved_states(attrs.forward), results.gates, results.cells}) {
    if (i >= 0) inputs.push_back(saved[static_cast<std::size_t>(i)]);
  }
  inputs.insert(inputs.end(), in.begin() + count, in.end());
  Tensors out(static_cast<std::size_t>(ops::RecurrentGradOutputs(attrs).count));
  ops::apply_into(op_named(name + "_grad"), inputs, ops::ref(attrs), site, out);
  return out;
}

// Shapes of the inputs that the attributes say there are.
inline Shapes layer_shapes(const ops::RecurrentAttrs& attrs, std::int64_t batch, std::int64_t steps,
                           std::int64_t features, std::int64_t units) {
  const std::int64_t columns = attrs.gates() * units;
  Shapes shapes{{batch, steps, features}, {features, columns}, {units, columns}};
  if (attrs.bias) shapes.push_back(attrs.two_biases() ? Shape{2, columns} : Shape{columns});
  if (attrs.state) shapes.push_back({batch, units});
  if (attrs.state && attrs.is_lstm()) shapes.push_back({batch, units});
  if (attrs.mask) shapes.push_back({batch, steps});
  return shapes;
}

inline void add_result_shapes(const ops::RecurrentGradAttrs& attrs, Shapes& shapes) {
  const Shape x = shapes[0];
  const std::int64_t units = shapes[2][0];
  if (attrs.from_sequence) shapes.push_back({x[0], x[1], units});
  for (const bool flows : {attrs.from_output, attrs.from_state, attrs.from_cell}) {
    if (flows) shapes.push_back({x[0], units});
  }
}

// How they are drawn: weights small enough for states to stay of order one.
inline std::vector<Input> layer_inputs(const ops::RecurrentAttrs& attrs) {
  const Input weights{.low = -0.6, .high = 0.6};
  std::vector<Input> inputs{{}, weights, weights};
  if (attrs.bias) inputs.push_back({});
  if (attrs.state) inputs.push_back({});
  if (attrs.state && attrs.is_lstm()) inputs.push_back({});
  if (attrs.mask) inputs.push_back({.dtype = DType::boolean});
  return inputs;
}

}  // namespace tenure::testing
