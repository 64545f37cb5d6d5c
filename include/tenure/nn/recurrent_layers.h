// Layers that go along a sequence, the cells they are made of, and wrappers around other layers.
//
//   nn::LSTM lstm({.units = 32, .return_sequences = true});
//   Tensor y = lstm(x);                        // [batch, time, features] to [batch, time, 32]
//   std::vector<Tensor> all = lstm.apply({x, h0, c0});   // begins with these states
//   nn::Bidirectional both(nn::GRU({.units = 16}), {.merge_mode = "sum"});
//
// A cell of your own:
//
//   struct Decay : nn::CellBase {
//     void build(const Shape& input) override { rate = add_weight("rate", {input[-1]}); }
//     std::vector<Shape> state_sizes() const override { return {rate.shape()}; }
//     nn::CellStep step(const Tensor& x, const std::vector<Tensor>& states,
//                       const nn::CellCall&) override {
//       Tensor h = states[0] * sigmoid(rate) + x;
//       return {h, {h}};
//     }
//     Variable rate;
//   };
//   nn::RNN rnn(nn::make_layer<Decay>());
//
// A stateful layer goes on where its last call ended, batch after batch, until reset_states(). Its
// states are slots of the layer: nothing that happens to outputs, scopes or calls that fail touches
// them, and no gradient flows through them into the batch before.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "tenure/export.h"
#include "tenure/nn/core_layers.h"
#include "tenure/nn/layer.h"

namespace tenure::nn {

// What a cell draws at random once per sequence; `parts` are those of the cells in it.
struct Drawn {
  std::vector<Tensor> tensors = {};
  std::vector<Drawn> parts = {};
};

// How a cell is called for one step.
struct CellCall : Call {
  Drawn drawn = {};
  std::vector<Tensor> constants = {};  // inputs that are the same at every step
};

struct CellStep {
  Tensor output;
  std::vector<Tensor> states;
};

// One step of a recurrent layer. As a layer of its own it takes {x, states...} and gives
// {output, states...}.
class TENURE_API CellBase : public LayerBase {
 public:
  using LayerBase::LayerBase;

  // Shapes of the states, without the batch; known once the cell is built.
  virtual std::vector<Shape> state_sizes() const = 0;
  // x is [batch, ...], the states as state_sizes says; so are the new ones.
  virtual CellStep step(const Tensor& x, const std::vector<Tensor>& states,
                        const CellCall& call) = 0;

  // The states' shapes for such an x, where they depend on more than its batch size.
  virtual std::vector<Shape> state_shapes(const Shape& x) const;
  virtual Shape output_shape(const Shape& x) const;  // default: the first state's
  // Once per sequence; each step is given it.
  virtual Drawn draw(const Shape& x, const Call& call);

  const char* class_name() const override { return "Cell"; }
  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const Call& call) override;
};

// Weights of cells, in parts: what has more settings has them in between, in Keras's order.
#define TENURE_CELL_INITIALIZERS                     \
  bool use_bias = true;                              \
  Initializer kernel_initializer = "glorot_uniform"; \
  Initializer recurrent_initializer = "orthogonal";  \
  Initializer bias_initializer = "zeros"
#define TENURE_CELL_REGULARIZERS          \
  Regularizer kernel_regularizer = {};    \
  Regularizer recurrent_regularizer = {}; \
  Regularizer bias_regularizer = {}
// Rates of dropout are of training; one mask serves a whole sequence.
#define TENURE_CELL_CONSTRAINTS                    \
  Constraint kernel_constraint = {};               \
  Constraint recurrent_constraint = {};            \
  Constraint bias_constraint = {};                 \
  double dropout = 0;          /* of the inputs */ \
  double recurrent_dropout = 0 /* of the states */
// With a seed the masks come from a sequence of the cell's own. Keras has it in different places.
#define TENURE_CELL_SEED std::optional<std::int64_t> seed = {}

// How a layer goes along its sequences; what Keras lacks comes last.
#define TENURE_SEQUENCE_FIELDS                                                      \
  bool return_sequences = false; /* the output of every step, not the last one's */ \
  bool return_state = false;     /* the states too, after the output */             \
  bool go_backwards = false;     /* the last step comes first, in the output too */ \
  bool stateful = false;         /* begins where the last call ended */             \
  bool unroll = false            /* in a traced function: all steps, not a loop */
#define TENURE_SEQUENCE_EXTRAS                                                            \
  bool zero_output_for_mask = false; /* where a step is skipped, not the output before */ \
  bool time_major = false;           /* inputs and outputs are [time, batch, ...] */      \
  bool fused = true                  /* all steps as one operation, where there is one */

struct SimpleRNNCellOptions {
  std::int64_t units = 0;
  ActivationFn activation = "tanh";
  TENURE_CELL_INITIALIZERS;
  TENURE_CELL_REGULARIZERS;
  TENURE_CELL_CONSTRAINTS;
  TENURE_CELL_SEED;
  TENURE_LAYER_FIELDS;
};
// h' = activation(x kernel + h recurrent_kernel + bias)
class TENURE_API SimpleRNNCell : public Layer {
 public:
  explicit SimpleRNNCell(SimpleRNNCellOptions options,
                         std::source_location site = std::source_location::current());
};

struct SimpleRNNOptions {
  std::int64_t units = 0;
  ActivationFn activation = "tanh";
  TENURE_CELL_INITIALIZERS;
  TENURE_CELL_REGULARIZERS;
  Regularizer activity_regularizer = {};
  TENURE_CELL_CONSTRAINTS;
  TENURE_SEQUENCE_FIELDS;
  TENURE_CELL_SEED;
  TENURE_SEQUENCE_EXTRAS;
  TENURE_LAYER_FIELDS;
};
class TENURE_API SimpleRNN : public Layer {
 public:
  explicit SimpleRNN(SimpleRNNOptions options,
                     std::source_location site = std::source_location::current());
};

struct GRUCellOptions {
  std::int64_t units = 0;
  ActivationFn activation = "tanh";
  ActivationFn recurrent_activation = "sigmoid";  // of the gates
  TENURE_CELL_INITIALIZERS;
  TENURE_CELL_REGULARIZERS;
  TENURE_CELL_CONSTRAINTS;
  bool reset_after = true;  // the reset gate applies after the product with the state
  TENURE_CELL_SEED;
  int implementation = 2;  // 1: each gate has a dropout mask of its own
  TENURE_LAYER_FIELDS;
};
// Gates in the order z, r, h; h' = z h + (1 - z) candidate.
class TENURE_API GRUCell : public Layer {
 public:
  explicit GRUCell(GRUCellOptions options,
                   std::source_location site = std::source_location::current());
};

struct GRUOptions {
  std::int64_t units = 0;
  ActivationFn activation = "tanh";
  ActivationFn recurrent_activation = "sigmoid";
  TENURE_CELL_INITIALIZERS;
  TENURE_CELL_REGULARIZERS;
  Regularizer activity_regularizer = {};
  TENURE_CELL_CONSTRAINTS;
  TENURE_CELL_SEED;
  TENURE_SEQUENCE_FIELDS;
  bool reset_after = true;
  TENURE_SEQUENCE_EXTRAS;
  int implementation = 2;
  TENURE_LAYER_FIELDS;
};
class TENURE_API GRU : public Layer {
 public:
  explicit GRU(GRUOptions options, std::source_location site = std::source_location::current());
};

struct LSTMCellOptions {
  std::int64_t units = 0;
  ActivationFn activation = "tanh";
  ActivationFn recurrent_activation = "sigmoid";
  TENURE_CELL_INITIALIZERS;
  bool unit_forget_bias = true;  // the forget gate's bias begins at 1
  TENURE_CELL_REGULARIZERS;
  TENURE_CELL_CONSTRAINTS;
  TENURE_CELL_SEED;
  int implementation = 2;
  TENURE_LAYER_FIELDS;
};
// Gates in the order i, f, c, o; cell' = f cell + i activation(c), h' = o activation(cell').
// Its states are h and the cell.
class TENURE_API LSTMCell : public Layer {
 public:
  explicit LSTMCell(LSTMCellOptions options,
                    std::source_location site = std::source_location::current());
};

struct LSTMOptions {
  std::int64_t units = 0;
  ActivationFn activation = "tanh";
  ActivationFn recurrent_activation = "sigmoid";
  TENURE_CELL_INITIALIZERS;
  bool unit_forget_bias = true;
  TENURE_CELL_REGULARIZERS;
  Regularizer activity_regularizer = {};
  TENURE_CELL_CONSTRAINTS;
  TENURE_CELL_SEED;
  TENURE_SEQUENCE_FIELDS;
  TENURE_SEQUENCE_EXTRAS;
  int implementation = 2;
  TENURE_LAYER_FIELDS;
};
class TENURE_API LSTM : public Layer {
 public:
  explicit LSTM(LSTMOptions options, std::source_location site = std::source_location::current());
};

struct StackedRNNCellsOptions {
  TENURE_LAYER_FIELDS;
};
// Cells one after the other, as one cell; the states of the first come first.
class TENURE_API StackedRNNCells : public Layer {
 public:
  explicit StackedRNNCells(std::vector<Layer> cells, StackedRNNCellsOptions options = {},
                           std::source_location site = std::source_location::current());
};

struct RNNOptions {
  TENURE_SEQUENCE_FIELDS;
  TENURE_SEQUENCE_EXTRAS;
  Regularizer activity_regularizer = {};
  // How many of the inputs, the last ones, are given to every step: {x, states..., constants...}.
  int num_constants = 0;
  TENURE_LAYER_FIELDS;
};
// Any cell, or several, one after the other, along a sequence.
class TENURE_API RNN : public Layer {
 public:
  explicit RNN(Layer cell, RNNOptions options = {},
               std::source_location site = std::source_location::current());
  explicit RNN(std::vector<Layer> cells, RNNOptions options = {},
               std::source_location site = std::source_location::current());
};

// Sizes are one for both axes, or one for each.
#define TENURE_CONV_CELL_FIELDS                \
  std::int64_t filters = 0;                    \
  Sizes kernel_size = {};                      \
  Sizes strides = 1;                           \
  std::string padding = "valid"; /* or same */ \
  std::string data_format = "channels_last";   \
  Sizes dilation_rate = 1

struct ConvLSTM2DCellOptions {
  TENURE_CONV_CELL_FIELDS;
  ActivationFn activation = "tanh";
  ActivationFn recurrent_activation = "sigmoid";
  TENURE_CELL_INITIALIZERS;
  bool unit_forget_bias = true;
  TENURE_CELL_REGULARIZERS;
  TENURE_CELL_CONSTRAINTS;
  TENURE_CELL_SEED;
  TENURE_LAYER_FIELDS;
};
// An LSTMCell of images: convolutions in place of products.
class TENURE_API ConvLSTM2DCell : public Layer {
 public:
  explicit ConvLSTM2DCell(ConvLSTM2DCellOptions options,
                          std::source_location site = std::source_location::current());
};

struct ConvLSTM2DOptions {
  TENURE_CONV_CELL_FIELDS;
  ActivationFn activation = "tanh";
  ActivationFn recurrent_activation = "sigmoid";
  TENURE_CELL_INITIALIZERS;
  bool unit_forget_bias = true;
  TENURE_CELL_REGULARIZERS;
  Regularizer activity_regularizer = {};
  TENURE_CELL_CONSTRAINTS;
  TENURE_CELL_SEED;
  TENURE_SEQUENCE_FIELDS;
  TENURE_SEQUENCE_EXTRAS;
  TENURE_LAYER_FIELDS;
};
// Takes [batch, time, height, width, channels].
class TENURE_API ConvLSTM2D : public Layer {
 public:
  explicit ConvLSTM2D(ConvLSTM2DOptions options,
                      std::source_location site = std::source_location::current());
};

struct BidirectionalOptions {
  std::string merge_mode = "concat";  // or "sum", "mul", "ave"; "none": two outputs
  // For the way back; default: a copy of the layer that goes the other way. Where it is given, both
  // layers are used as they are.
  std::optional<Layer> backward_layer = {};
  TENURE_LAYER_FIELDS;
};
// Copies of a recurrent layer go both ways. Takes {x, forward states..., backward states...}, gives
// the output, or both for "none", then the states, in that order too, where the layer returns them.
class TENURE_API Bidirectional : public Layer {
 public:
  explicit Bidirectional(Layer layer, BidirectionalOptions options = {},
                         std::source_location site = std::source_location::current());
};

struct TimeDistributedOptions {
  TENURE_LAYER_FIELDS;
};
// A layer applied to every step: [batch, time, ...] as [batch * time, ...].
class TENURE_API TimeDistributed : public Layer {
 public:
  explicit TimeDistributed(Layer layer, TimeDistributedOptions options = {},
                           std::source_location site = std::source_location::current());
};

}  // namespace tenure::nn
