// Attributes of recurrent ops, and where their optional inputs and outputs are: -1 if they are not.
#pragma once

#include "ops/attrs.h"
#include "ops/maths_attrs.h"
#include "tenure/recurrent.h"

namespace tenure::ops {

// Whether recurrent ops know it.
constexpr bool is_recurrent(Activation activation) {
  return activation == Activation::linear || activation == Activation::relu ||
         activation == Activation::sigmoid || activation == Activation::tanh ||
         activation == Activation::hard_sigmoid;
}

enum class RecurrentKind : std::uint8_t { simple_rnn, gru, lstm };

inline std::span<const char* const> choices(RecurrentKind) {
  static constexpr const char* names[] = {"simple_rnn", "gru", "lstm"};
  return names;
}

struct RecurrentAttrs {
  RecurrentKind kind = RecurrentKind::simple_rnn;
  Activation activation = Activation::tanh;
  Activation gate_activation = Activation::sigmoid;
  bool reset_after = false;  // of gru
  bool backwards = false;
  bool sequence = false;  // whether every step's output is a result
  bool bias = false;      // whether these are among the inputs
  bool state = false;     // with the cell, of lstm
  bool mask = false;
  bool training = false;  // whether what the gradient needs of each step is among the results
  TENURE_ATTRS(RecurrentAttrs, kind, activation, gate_activation, reset_after, backwards, sequence,
               bias, state, mask, training)

  bool is_lstm() const { return kind == RecurrentKind::lstm; }
  int gates() const { return kind == RecurrentKind::simple_rnn ? 1 : is_lstm() ? 4 : 3; }
  bool two_biases() const { return kind == RecurrentKind::gru && reset_after; }
  // Values of each unit that a step leaves for the gradient: its gates and, with reset_after, the
  // candidate's recurrent part.
  int kept_gates() const {
    return kind == RecurrentKind::simple_rnn ? 0 : two_biases() ? 4 : gates();
  }
  // An lstm's states follow from its cells and gates, unless steps were skipped.
  bool reads_states() const { return !is_lstm() || mask; }
};

// The inputs of the forward op, which the backward op has too.
struct RecurrentInputs {
  int x = 0, kernel = 1, recurrent = 2, bias = -1, state = -1, cell = -1, mask = -1;
  int count = 3;

  explicit RecurrentInputs(const RecurrentAttrs& attrs) {
    if (attrs.bias) bias = count++;
    if (attrs.state) state = count++;
    if (attrs.state && attrs.is_lstm()) cell = count++;
    if (attrs.mask) mask = count++;
  }
};

struct RecurrentOutputs {
  int sequence = -1, output = -1, state = -1, cell = -1;
  // For the gradient, with time first: states after each step, gates, cells after each step.
  // Without a mask the sequence of outputs serves as states.
  int states = -1, gates = -1, cells = -1;
  int count = 0;

  explicit RecurrentOutputs(const RecurrentAttrs& attrs) {
    if (attrs.sequence) sequence = count++;
    output = count++;
    state = count++;
    if (attrs.is_lstm()) cell = count++;
    if (!attrs.training) return;
    if (attrs.reads_states() && (attrs.mask || !attrs.sequence)) states = count++;
    if (attrs.kept_gates() != 0) gates = count++;
    if (attrs.is_lstm()) cells = count++;
  }
  // Which output the gradient reads states from.
  int saved_states(const RecurrentAttrs& attrs) const {
    if (!attrs.reads_states()) return -1;
    return states >= 0 ? states : sequence;
  }
};

// What a backward op is given beyond the forward op's inputs, and which gradients it computes.
struct RecurrentGradAttrs {
  RecurrentAttrs forward;
  bool from_sequence = false;
  bool from_output = false;
  bool from_state = false;
  bool from_cell = false;
  bool of_x = false;
  bool of_kernel = false;
  bool of_recurrent = false;
  bool of_bias = false;
  bool of_state = false;  // with the cell, of lstm
  bool operator==(const RecurrentGradAttrs&) const = default;
  template <class V>
  void visit(V&& field) const {
    forward.visit(field);
    TENURE_FIELDS(field, *this, from_sequence, from_output, from_state, from_cell, of_x, of_kernel,
                  of_recurrent, of_bias, of_state);
  }
};

struct RecurrentGradInputs {
  int states = -1, gates = -1, cells = -1;
  int d_sequence = -1, d_output = -1, d_state = -1, d_cell = -1;
  int count;

  explicit RecurrentGradInputs(const RecurrentGradAttrs& attrs)
      : count(RecurrentInputs(attrs.forward).count) {
    if (attrs.forward.reads_states()) states = count++;
    if (attrs.forward.kept_gates() != 0) gates = count++;
    if (attrs.forward.is_lstm()) cells = count++;
    if (attrs.from_sequence) d_sequence = count++;
    if (attrs.from_output) d_output = count++;
    if (attrs.from_state) d_state = count++;
    if (attrs.from_cell) d_cell = count++;
  }
};

struct RecurrentGradOutputs {
  int x = -1, kernel = -1, recurrent = -1, bias = -1, state = -1, cell = -1;
  int count = 0;

  explicit RecurrentGradOutputs(const RecurrentGradAttrs& attrs) {
    if (attrs.of_x) x = count++;
    if (attrs.of_kernel) kernel = count++;
    if (attrs.of_recurrent) recurrent = count++;
    if (attrs.of_bias) bias = count++;
    if (attrs.of_state) state = count++;
    if (attrs.of_state && attrs.forward.is_lstm()) cell = count++;
  }
};

}  // namespace tenure::ops
