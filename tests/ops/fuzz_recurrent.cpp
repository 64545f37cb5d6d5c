#include "fuzz.h"
#include "recurrent_rows.h"

namespace tenure::testing {
namespace {

using ops::RecurrentAttrs;
using ops::RecurrentGradAttrs;
using ops::RecurrentKind;

const std::vector<Activation> kActivations{Activation::linear, Activation::tanh, Activation::relu,
                                           Activation::sigmoid, Activation::hard_sigmoid};

RecurrentAttrs drawn_attrs(Dice& dice, RecurrentKind kind) {
  return {.kind = kind,
          .activation = dice.pick(kActivations),
          .gate_activation =
              dice.pick(std::vector<Activation>{Activation::sigmoid, Activation::hard_sigmoid}),
          .reset_after = kind == RecurrentKind::gru && dice.chance(0.5),
          .backwards = dice.chance(0.4),
          .sequence = dice.chance(0.5),
          .bias = dice.chance(0.6),
          .state = dice.chance(0.5),
          .mask = dice.chance(0.4)};
}

// One thing wrong with the shapes of a layer's inputs, and what is said of it.
std::vector<std::string> spoil(Dice& dice, const std::string& op, const RecurrentAttrs& attrs,
                               Shapes& shapes) {
  const ops::RecurrentInputs index(attrs);
  std::vector<std::pair<int, const char*>> parts{{index.kernel, "kernel"}};
  if (attrs.bias) parts.push_back({index.bias, "bias"});
  if (attrs.state) parts.push_back({index.state, "initial state"});
  if (index.cell >= 0) parts.push_back({index.cell, "initial cell"});
  if (attrs.mask) parts.push_back({index.mask, "mask"});
  const auto choice = dice.in(0, static_cast<std::int64_t>(parts.size()) + 2);
  if (choice < static_cast<std::int64_t>(parts.size())) {
    const auto& [i, name] = parts[static_cast<std::size_t>(choice)];
    Shape& shape = shapes[static_cast<std::size_t>(i)];
    const std::string wanted = to_string(shape);
    shape[-1] += 1;
    return {op + ": the " + name + " is " + to_string(shape), "must be " + wanted,
            to_string(shapes[0]), to_string(shapes[2])};
  }
  switch (choice - static_cast<std::int64_t>(parts.size())) {
    case 0:
      shapes[0] = {shapes[0][0], shapes[0][2]};
      return {op + ": x must be [batch, time, features], not " + to_string(shapes[0])};
    case 1:
      shapes[0][1] = 0;
      if (attrs.mask) shapes[static_cast<std::size_t>(index.mask)][1] = 0;
      return {op + ": x has no steps: " + to_string(shapes[0])};
    default:
      shapes[2][0] += 1;
      return {op + ": the recurrent kernel must be [units, ", "not " + to_string(shapes[2])};
  }
}

void draw_inputs(Dice& dice, Trial& trial, const RecurrentAttrs& attrs, const Shapes& shapes,
                 DType dtype) {
  std::vector<Input> inputs = layer_inputs(attrs);
  inputs.resize(shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    trial.inputs.push_back(drawn(dice, shapes[i], dtype, inputs[i]));
  }
}

Fuzz layer_fuzz(RecurrentKind kind) {
  const auto draw = [kind](Dice& dice) {
    const DType dtype = dice.pick(kFloats);
    const RecurrentAttrs attrs = drawn_attrs(dice, kind);
    const bool wide = dice.chance(0.3);
    Shapes shapes = layer_shapes(attrs, dice.chance(0.05) ? 0 : dice.in(1, 9), dice.in(1, 6),
                                 dice.in(0, 6), dice.in(1, wide ? 70 : 9));
    Trial trial;
    if (dice.chance(0.15)) trial.complaint = spoil(dice, name_of(kind), attrs, shapes);
    draw_inputs(dice, trial, attrs, shapes, dtype);
    std::vector<RecurrentValue> values{RecurrentValue::output, RecurrentValue::state};
    if (attrs.sequence) values.push_back(RecurrentValue::sequence);
    if (attrs.is_lstm()) values.push_back(RecurrentValue::cell);
    const RecurrentValue which = dice.pick(values);
    trial.run = [attrs, which](Tensors in) { return run_layer(attrs, std::move(in), which); };
    trial.expect = [attrs, which](const Arrays& in) { return recurrent_value(attrs, in, which); };
    trial.result = dtype;
    trial.tolerance = {.ulps = 4096, .epsilons = 8192};
    return trial;
  };
  return {name_of(kind), {op_named(name_of(kind)).name}, draw};
}

Fuzz gradient_fuzz(RecurrentKind kind) {
  const std::string op = name_of(kind) + "_grad";
  const auto draw = [kind, op](Dice& dice) {
    const DType dtype = dice.pick(kFloats);
    RecurrentGradAttrs attrs{.forward = drawn_attrs(dice, kind)};
    const RecurrentAttrs& layer = attrs.forward;
    attrs.from_sequence = layer.sequence && dice.chance(0.7);
    attrs.from_state = dice.chance(0.4);
    attrs.from_cell = layer.is_lstm() && dice.chance(0.4);
    attrs.from_output = dice.chance(0.5) || !(attrs.from_sequence || attrs.from_state);
    // One gradient is looked at, and the others are computed or not.
    const ops::RecurrentInputs index(layer);
    std::vector<int> all{index.x, index.kernel, index.recurrent};
    if (layer.bias) all.push_back(index.bias);
    if (layer.state) all.push_back(index.state);
    if (index.cell >= 0) all.push_back(index.cell);
    const int wrt = dice.pick(all);
    attrs.of_x = wrt == index.x || dice.chance(0.5);
    attrs.of_kernel = wrt == index.kernel || dice.chance(0.5);
    attrs.of_recurrent = wrt == index.recurrent || dice.chance(0.5);
    attrs.of_bias = layer.bias && (wrt == index.bias || dice.chance(0.5));
    attrs.of_state = layer.state && (wrt == index.state || wrt == index.cell || dice.chance(0.5));
    const ops::RecurrentGradOutputs out(attrs);
    const int result = wrt == index.x           ? out.x
                       : wrt == index.kernel    ? out.kernel
                       : wrt == index.recurrent ? out.recurrent
                       : wrt == index.bias      ? out.bias
                       : wrt == index.state     ? out.state
                                                : out.cell;
    Shapes shapes = layer_shapes(layer, dice.in(1, 3), dice.in(1, 4), dice.in(0, 3), dice.in(1, 4));
    add_result_shapes(attrs, shapes);
    Trial trial;
    const bool spoiled = dice.chance(0.15);
    if (spoiled) {
      shapes.back()[-1] += 1;
      trial.complaint = {op + ": the gradient of the ", "is " + to_string(shapes.back()),
                         to_string(shapes[0])};
    }
    draw_inputs(dice, trial, layer, shapes, dtype);
    trial.run = [attrs, result](const Tensors& in) {
      return run_gradient(attrs, in)[static_cast<std::size_t>(result)];
    };
    trial.expect = [attrs, wrt](const Arrays& in) { return recurrent_gradient(attrs, in, wrt); };
    trial.result = dtype;
    trial.tolerance = {.ulps = 4096, .epsilons = 8192};
    return trial;
  };
  return {op, {op_named(op).name}, draw};
}

}  // namespace

std::vector<Fuzz> recurrent_fuzz() {
  std::vector<Fuzz> rows;
  for (const RecurrentKind kind :
       {RecurrentKind::simple_rnn, RecurrentKind::gru, RecurrentKind::lstm}) {
    rows.push_back(layer_fuzz(kind));
    rows.push_back(gradient_fuzz(kind));
  }
  return rows;
}

}  // namespace tenure::testing
