// Recurrent layers: each kind with every option in some row, each of their results, and their
// gradients as ops of their own.
#include "recurrent_rows.h"

namespace tenure::testing {
namespace {

using ops::RecurrentAttrs;
using ops::RecurrentGradAttrs;
using ops::RecurrentKind;

constexpr auto kSimple = RecurrentKind::simple_rnn;
constexpr auto kGru = RecurrentKind::gru;
constexpr auto kLstm = RecurrentKind::lstm;

void add(std::vector<Case>& cases, const char* name, const RecurrentAttrs& attrs,
         RecurrentValue which) {
  const std::string op = name_of(attrs.kind);
  cases.push_back(
      {.name = op + name,
       .ops = {op_named(op).name},
       .run = [attrs, which](Tensors in, DType) { return run_layer(attrs, std::move(in), which); },
       .inputs = layer_inputs(attrs),
       .shapes = {layer_shapes(attrs, 2, 3, 4, 5), layer_shapes(attrs, 0, 2, 3, 2)},
       .value_shapes = {layer_shapes(attrs, 7, 5, 9, 37)},
       .reference = [attrs, which](const Arrays& in) { return recurrent_value(attrs, in, which); },
       .tolerance = {.ulps = 16, .epsilons = 64},
       .value_tolerance = {.ulps = 64, .epsilons = 512}});
}

// One row for each gradient that the attributes ask for.
void add_gradients(std::vector<Case>& cases, const char* name, const RecurrentGradAttrs& attrs) {
  const std::string op = name_of(attrs.forward.kind) + "_grad";
  const ops::RecurrentInputs index(attrs.forward);
  const std::vector<std::pair<bool, int>> wanted{{attrs.of_x, index.x},
                                                 {attrs.of_kernel, index.kernel},
                                                 {attrs.of_recurrent, index.recurrent},
                                                 {attrs.of_bias, index.bias},
                                                 {attrs.of_state, index.state}};
  std::size_t result = 0;
  for (const auto& [is_wanted, wrt] : wanted) {
    if (!is_wanted) continue;
    std::vector<Input> inputs = layer_inputs(attrs.forward);
    Shapes shapes = layer_shapes(attrs.forward, 2, 3, 2, 3);
    add_result_shapes(attrs, shapes);
    inputs.resize(shapes.size());
    cases.push_back(
        {.name = op + name + "_" + std::to_string(wrt),
         .ops = {op_named(op).name},
         .run = [attrs, result](Tensors in, DType) { return run_gradient(attrs, in)[result]; },
         .inputs = std::move(inputs),
         .shapes = {shapes},
         .reference = [attrs,
                       wrt = wrt](const Arrays& in) { return recurrent_gradient(attrs, in, wrt); },
         .tolerance = {.ulps = 64, .epsilons = 512},
         .several_calls = true,
         .error_name = ""});
    ++result;
  }
}

}  // namespace

std::vector<Case> recurrent_cases() {
  std::vector<Case> cases;
  add(cases, "", {.kind = kSimple, .bias = true, .state = true}, RecurrentValue::output);
  add(cases, "_plain", {.kind = kSimple, .activation = Activation::sigmoid}, RecurrentValue::state);
  add(cases, "_sequence", {.kind = kSimple, .backwards = true, .sequence = true, .bias = true},
      RecurrentValue::sequence);
  add(cases, "_masked",
      {.kind = kSimple, .sequence = true, .bias = true, .state = true, .mask = true},
      RecurrentValue::sequence);
  add(cases, "_masked_output", {.kind = kSimple, .backwards = true, .state = true, .mask = true},
      RecurrentValue::output);

  add(cases, "", {.kind = kGru, .reset_after = true, .bias = true, .state = true},
      RecurrentValue::output);
  add(cases, "_plain", {.kind = kGru, .reset_after = true}, RecurrentValue::state);
  add(cases, "_sequence",
      {.kind = kGru, .reset_after = true, .backwards = true, .sequence = true, .bias = true},
      RecurrentValue::sequence);
  add(cases, "_masked",
      {.kind = kGru, .reset_after = true, .sequence = true, .state = true, .mask = true},
      RecurrentValue::sequence);
  add(cases, "_reset_before", {.kind = kGru, .bias = true, .state = true}, RecurrentValue::output);
  add(cases, "_reset_before_sequence",
      {.kind = kGru,
       .gate_activation = Activation::hard_sigmoid,
       .backwards = true,
       .sequence = true},
      RecurrentValue::sequence);
  add(cases, "_reset_before_masked",
      {.kind = kGru, .sequence = true, .bias = true, .state = true, .mask = true},
      RecurrentValue::state);

  add(cases, "", {.kind = kLstm, .bias = true, .state = true}, RecurrentValue::output);
  add(cases, "_cell", {.kind = kLstm, .bias = true, .state = true}, RecurrentValue::cell);
  add(cases, "_plain", {.kind = kLstm}, RecurrentValue::state);
  add(cases, "_sequence", {.kind = kLstm, .backwards = true, .sequence = true, .bias = true},
      RecurrentValue::sequence);
  add(cases, "_masked",
      {.kind = kLstm, .sequence = true, .bias = true, .state = true, .mask = true},
      RecurrentValue::sequence);
  add(cases, "_masked_cell", {.kind = kLstm, .backwards = true, .state = true, .mask = true},
      RecurrentValue::cell);

  RecurrentGradAttrs all{.forward = {.kind = kSimple, .bias = true, .state = true},
                         .from_output = true,
                         .of_x = true,
                         .of_kernel = true,
                         .of_recurrent = true,
                         .of_bias = true,
                         .of_state = true};
  add_gradients(cases, "", all);
  all.forward.kind = kGru;
  add_gradients(cases, "_reset_before", all);
  all.forward.reset_after = true;
  add_gradients(cases, "", all);
  all.forward.kind = kLstm;
  all.forward.reset_after = false;
  all.from_cell = true;
  add_gradients(cases, "", all);
  return cases;
}

}  // namespace tenure::testing
