// What recurrent layers share: a cell, its states, and the way along a sequence.
//
// A layer goes along a sequence in one of three ways, which give the same numbers: as one operation
// where the cell has one (FusedCell), step by step, or in a traced function as a scan whose body is
// a step. A stateful layer's states are slots: they are read before the first step and assigned
// after the last, when nothing can fail any more.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nn/config.h"
#include "nn/layers/noise.h"
#include "nn/precision.h"
#include "tenure/nn/recurrent_layers.h"

namespace tenure::nn::detail {

struct SequenceOptions {
  Regularizer activity_regularizer;
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  bool time_major = false;
  bool zero_output_for_mask = false;
  bool fused = true;
  int num_constants = 0;

  int time_axis() const { return time_major ? 0 : 1; }
  int batch_axis() const { return time_major ? 1 : 0; }
};

template <class O>
SequenceOptions sequence_options(const O& o) {
  SequenceOptions s;
  s.activity_regularizer = o.activity_regularizer;
  s.return_sequences = o.return_sequences;
  s.return_state = o.return_state;
  s.go_backwards = o.go_backwards;
  s.stateful = o.stateful;
  s.unroll = o.unroll;
  s.time_major = o.time_major;
  s.zero_output_for_mask = o.zero_output_for_mask;
  s.fused = o.fused;
  if constexpr (requires { o.num_constants; }) s.num_constants = o.num_constants;
  return s;
}

// What a layer goes along, and what it brings.
struct Sequence {
  Tensor x;
  std::vector<Tensor> states;  // to begin with; empty: zeros
  Tensor mask;                 // bool, with x's first two axes; or empty
  std::vector<Tensor> constants;
};

struct SequenceResult {
  Tensor output;
  std::vector<Tensor> states;
};

// A cell that can take all steps as one operation, unless its activations or dropout are in the
// way.
class FusedCell {
 public:
  virtual ~FusedCell() = default;
  virtual bool is_fused(const Call& call) const = 0;
  virtual SequenceResult take_all_steps(const Sequence& in, const SequenceOptions& options,
                                        const Call& call) = 0;
};

SequenceResult take_steps(CellBase& cell, const Sequence& in, const SequenceOptions& options,
                          const Call& call);

// The shape of one step of such a sequence.
Shape without_time(const Shape& sequence, int time_axis);

class SequenceBase : public LayerBase {
 public:
  using LayerBase::LayerBase;

  void build_all(const std::vector<Shape>& inputs) override;
  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const Call& call) override;
  Tensor compute_mask(const std::vector<Tensor>& inputs, const std::vector<Tensor>& masks) override;
  void reset_states(std::source_location site) override { LayerBase::reset_states(site); }
  void reset_states(const std::vector<Tensor>& values, std::source_location site) override;
  std::vector<Variable> states() const override { return slots_; }

  const SequenceOptions& sequence() const { return sequence_; }
  std::size_t state_count() const { return cell_->state_sizes().size(); }
  // A new layer like this one, going the way it is told.
  virtual Layer copy(const std::string& name, bool go_backwards,
                     std::source_location site) const = 0;

 protected:
  // To be called by the constructor. `own` names a cell that nobody else knows.
  void use(const Layer& cell, SequenceOptions sequence, const char* private_name = nullptr);
  const Layer& cell() const { return *cell_layer_; }
  virtual int input_rank() const { return 3; }  // 0: any from 3 on

 private:
  Sequence taken(const std::vector<Tensor>& inputs, const Call& call) const;
  void check_sequence(const Shape& x) const;
  void check_batch(const Tensor& x) const;
  void add_activity_losses(const std::vector<Tensor>& outputs, const Call& call) const;
  void keep(const std::vector<Tensor>& states);

  SequenceOptions sequence_;
  std::optional<Layer> cell_layer_;
  CellBase* cell_ = nullptr;
  FusedCell* fused_ = nullptr;
  const char* private_name_ = nullptr;
  std::vector<Variable> slots_;
};

// Settings of cells, and of the layers made of them, in Keras's order.
template <class O>
void cell_fields(Fields& visit, O& o) {
  if constexpr (requires { o.units; }) TENURE_FIELDS(visit, o, units);
  if constexpr (requires { o.filters; }) {
    TENURE_FIELDS(visit, o, filters, kernel_size, strides, padding, data_format, dilation_rate);
  }
  TENURE_FIELDS(visit, o, activation);
  if constexpr (requires { o.recurrent_activation; }) {
    TENURE_FIELDS(visit, o, recurrent_activation);
  }
  TENURE_FIELDS(visit, o, use_bias, kernel_initializer, recurrent_initializer, bias_initializer);
  if constexpr (requires { o.unit_forget_bias; }) TENURE_FIELDS(visit, o, unit_forget_bias);
  TENURE_FIELDS(visit, o, kernel_regularizer, recurrent_regularizer, bias_regularizer,
                kernel_constraint, recurrent_constraint, bias_constraint, dropout,
                recurrent_dropout, seed);
  if constexpr (requires { o.implementation; }) TENURE_FIELDS(visit, o, implementation);
  if constexpr (requires { o.reset_after; }) TENURE_FIELDS(visit, o, reset_after);
}

template <class O>
void sequence_fields(Fields& visit, O& o) {
  TENURE_FIELDS(visit, o, activity_regularizer, return_sequences, return_state, go_backwards,
                stateful, unroll);
  // Written only where they say something: not every version of Keras knows them.
  if (visit.reads() || o.time_major) TENURE_FIELDS(visit, o, time_major);
  if (visit.reads() || o.zero_output_for_mask) TENURE_FIELDS(visit, o, zero_output_for_mask);
}

template <class O>
concept CellSettings = requires(O& o) { o.recurrent_initializer; };

template <CellSettings O>
void fields(Fields& visit, O& o) {
  cell_fields(visit, o);
  if constexpr (requires { o.return_sequences; }) sequence_fields(visit, o);
}

// The settings of a layer's cell.
template <class C, class O>
C cell_settings(O o, const char* name) {
  C c;
  FieldCopy copy;
  cell_fields(copy, o);
  cell_fields(copy, c);
  c.name = name;
  c.dtype = o.dtype;
  return c;
}

void check_cell_sizes(const char* what, std::int64_t units, double dropout,
                      double recurrent_dropout);
void check_convolution(const char* what, const Shape& kernel_size, const Shape& strides,
                       const Shape& dilation_rate, const std::string& padding,
                       const std::string& data_format);

Layer stacked_cells(Fields& settings);  // a row's

// Refuses settings that make no sense; `what` is the layer's class.
template <CellSettings O>
void check_cell(const char* what, const O& o) {
  if constexpr (requires { o.units; }) {
    check_cell_sizes(what, o.units, o.dropout, o.recurrent_dropout);
  } else {
    check_cell_sizes(what, o.filters, o.dropout, o.recurrent_dropout);
    check_convolution(what, o.kernel_size, o.strides, o.dilation_rate, o.padding, o.data_format);
  }
}

template <CellSettings O>
bool drops(const O& o, const Call& call) {
  return call.training && (o.dropout > 0 || o.recurrent_dropout > 0);
}
// Masks of the inputs, and masks of the states, `count` of each; none where nothing is dropped.
template <CellSettings O>
Drawn dropout_masks(const O& o, Noise& noise, const Shape& x, const Shape& state, int count) {
  Drawn drawn{.tensors = {}, .parts = {Drawn{}, Drawn{}}};
  const auto add = [&](Drawn& part, const Shape& shape, double rate) {
    if (rate > 0) part.tensors.push_back(noise.mask(shape, rate, computed_in(o.dtype)));
  };
  for (int i = 0; i < count; ++i) {
    add(drawn.parts[0], x, o.dropout);
    add(drawn.parts[1], state, o.recurrent_dropout);
  }
  return drawn;
}
// The bias of gates i, f, c, o; with ones for f where asked.
Initializer lstm_bias(const Initializer& initializer, std::int64_t units, bool unit_forget_bias);

}  // namespace tenure::nn::detail
