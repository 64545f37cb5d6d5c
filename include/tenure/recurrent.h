// Recurrent layers as single operations: all steps of a sequence, forward and backward.
//
//   tenure::RecurrentResult r = tenure::lstm(x, kernel, recurrent_kernel, {.bias = bias});
//   tenure::Tensor last = r.output;                  // [batch, units]
//   auto next = tenure::lstm(more, kernel, recurrent_kernel,
//                            {.bias = bias, .initial_state = r.state, .initial_cell = r.cell});
//
// x is [batch, time, features]. Weights are laid out as Keras has them: the kernel is
// [features, gates * units], the recurrent kernel [units, gates * units], the bias [gates * units].
#pragma once

#include <cstdint>
#include <optional>

#include "tenure/activation.h"
#include "tenure/export.h"
#include "tenure/tensor.h"

namespace tenure {

struct RecurrentOptions {
  std::optional<KeptArg> bias = {};           // default: 0
  std::optional<KeptArg> initial_state = {};  // [batch, units]; default: 0
  std::optional<KeptArg> initial_cell = {};   // of lstm, the same
  // [batch, time], bool. Where it is false a step is skipped: states stay as they are, and the
  // output is the one before, or 0 if there is none.
  std::optional<KeptArg> mask = {};
  Activation activation = Activation::tanh;
  Activation recurrent_activation = Activation::sigmoid;  // of gates
  bool reset_after = true;    // of gru: whether the reset gate applies after the product
  bool go_backwards = false;  // the last step comes first, in the sequence of outputs too
  bool return_sequences = false;
};

struct RecurrentResult {
  Tensor sequence;  // [batch, time, units]: the output of every step; empty unless asked for
  Tensor output;    // [batch, units]: that of the last step
  Tensor state;     // [batch, units]: for the sequence that follows this one
  Tensor cell;      // the same, of lstm
};

// h' = activation(x kernel + h recurrent_kernel + bias)
TENURE_API RecurrentResult simple_rnn(Arg x, Arg kernel, Arg recurrent_kernel,
                                      const RecurrentOptions& options = {});

// Gates in the order z, r, h; h' = z h + (1 - z) candidate, where the candidate is
//   activation(x kernel_h + bias_h + r (h recurrent_h + recurrent_bias_h)) with reset_after,
//   activation(x kernel_h + bias_h + (r h) recurrent_h) without.
// With reset_after the bias is [2, 3 * units]: the inputs' and the recurrent one.
TENURE_API RecurrentResult gru(Arg x, Arg kernel, Arg recurrent_kernel,
                               const RecurrentOptions& options = {});

// Gates in the order i, f, c, o; cell' = f cell + i activation(c), h' = o activation(cell')
TENURE_API RecurrentResult lstm(Arg x, Arg kernel, Arg recurrent_kernel,
                                const RecurrentOptions& options = {});

}  // namespace tenure
