#include "nn/layers/recurrent.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/raise.h"
#include "memory/user_site.h"
#include "nn/layers/common.h"
#include "nn/precision.h"
#include "tensor/assign.h"
#include "tenure/control.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/views.h"

namespace tenure::nn {

namespace detail {

// ---- What all of them do

void SequenceBase::use(const Layer& cell, SequenceOptions sequence, const char* private_name) {
  cell_ = cell.as<CellBase>();
  if (cell_ == nullptr) {
    raise<ValueError>("{}: takes a cell, was given the layer {}", class_name(),
                      layer_text(LayerAccess::base(cell)));
  }
  cell_layer_ = track(cell);
  fused_ = dynamic_cast<FusedCell*>(cell_);
  sequence_ = std::move(sequence);
  private_name_ = private_name;
}

namespace {

// The recurrent layer, in what gave the input, that gives the last step only; or null.
const SequenceBase* last_step_in(const LayerBase& giver) {
  const auto* sequence = dynamic_cast<const SequenceBase*>(&giver);
  if (sequence != nullptr) return sequence->sequence().return_sequences ? nullptr : sequence;
  const std::vector<Layer>& layers = LayerAccess::state(giver).layers;
  return layers.empty() ? nullptr : last_step_in(LayerAccess::base(layers.back()));
}

}  // namespace

// An error of a sequence without features shows how they are added; where another recurrent layer
// gave it, that it gives one step.
void SequenceBase::check_sequence(const Shape& x) const {
  const int rank = input_rank();
  if (rank != 0 ? x.rank() == rank : x.rank() >= 3) return;
  const char* steps = sequence_.time_major ? "[time, batch" : "[batch, time";
  ShapeError error(describe("takes {}, {}], was given {}", steps,
                            rank == 5 ? "height, width, channels" : "features", x));
  const LayerBase* giver = NodeGiver::current();
  const SequenceBase* last_step = giver == nullptr ? nullptr : last_step_in(*giver);
  if (last_step != nullptr && x.rank() + 1 == std::max(rank, 3)) {
    error.advise(fmt::format(
        "{} gives its last step only: with .return_sequences = true it gives all of them.",
        layer_text(*last_step)));
  } else if (x.rank() == 2 && rank != 5) {
    error.advise(fmt::format(
        "where a step is one number, say so: expand_dims(x, -1), or "
        "nn::Reshape({{.target_shape = {{-1, 1}}}}) before it; where a row is one step: "
        "expand_dims(x, {}).",
        sequence_.time_axis()));
  }
  throw ShapeError(std::move(error));
}

void SequenceBase::build_all(const std::vector<Shape>& inputs) {
  check_has_input(*this, inputs.size());
  const Shape& x = inputs[0];
  check_sequence(x);
  if (sequence_.stateful && x[sequence_.batch_axis()] == kAny) {
    raise<ValueError>(
        "{}: a stateful layer needs the batch size, and its input is {}: give the first layer a "
        "batch_input_shape, or Input a batch_size",
        layer_text(*this), x);
  }
  LayerState& cell = LayerAccess::state(*cell_);
  if (private_name_ != nullptr) {
    cell.options.name = fmt::format("{}/{}", name(), private_name_);
    complete(*cell_);
  }
  const Shape step = without_time(x, sequence_.time_axis());
  std::vector<Spec> specs{{step, layer_options().dtype}};
  const auto constants = static_cast<std::size_t>(sequence_.num_constants);
  for (std::size_t i = inputs.size() - std::min(constants, inputs.size() - 1); i < inputs.size();
       ++i) {
    specs.push_back({inputs[i], layer_options().dtype});
  }
  ensure_built(*cell_, specs, cell.label->site);
  if (!sequence_.stateful) return;
  slots_.clear();
  for (const Shape& shape : cell_->state_shapes(step)) {
    for (const std::int64_t size : shape) {
      if (size == kAny) {
        raise<ValueError>("{}: a stateful layer needs the sizes of its input, which is {}",
                          layer_text(*this), x);
      }
    }
    slots_.push_back(
        add_state(fmt::format("state_{}", slots_.size()), shape, layer_options().dtype));
  }
}

Sequence SequenceBase::taken(const std::vector<Tensor>& inputs, const Call& call) const {
  const std::size_t states = state_count();
  const auto constants = static_cast<std::size_t>(sequence_.num_constants);
  if (inputs.size() != 1 + constants && inputs.size() != 1 + states + constants) {
    raise<ValueError>("{}: takes one sequence, or one and {} initial states{}, was given {} inputs",
                      layer_text(*this), states,
                      constants != 0 ? fmt::format(", and then {} constants", constants) : "",
                      inputs.size());
  }
  check_sequence(inputs[0].shape());
  const auto end = inputs.end() - static_cast<std::ptrdiff_t>(constants);
  Sequence in{inputs[0], {inputs.begin() + 1, end}, call.mask(), {end, inputs.end()}};
  const DType dtype = computed_in(layer_options().dtype);
  if (in.x.dtype() != dtype) in.x = cast(in.x, dtype);
  for (Tensor& state : in.states) state = floating_as(state, dtype);
  if (in.mask.defined()) {
    if (in.mask.rank() != 2) {
      raise<ShapeError>("takes a mask of rank 2, was given {}", in.mask.shape());
    }
    if (in.mask.dtype() != DType::boolean) in.mask = cast(in.mask, DType::boolean);
  }
  return in;
}

void SequenceBase::check_batch(const Tensor& x) const {
  const std::int64_t batch = x.dim(sequence_.batch_axis()), state_batch = slots_[0].shape()[0];
  if (batch == state_batch) return;
  raise<ShapeError>(
      "is stateful and was built for batches of {}, was given one of {}: give it {} sequences at a "
      "time, or make it with .stateful = false",
      state_batch, batch, state_batch);
}

void SequenceBase::add_activity_losses(const std::vector<Tensor>& outputs, const Call& call) const {
  const int batch_axis = sequence_.return_sequences ? sequence_.batch_axis() : 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    add_activity_loss(call, sequence_.activity_regularizer, outputs[i], i == 0 ? batch_axis : 0);
  }
}

void SequenceBase::keep(const std::vector<Tensor>& states) {
  std::vector<Tensor> kept;
  for (std::size_t i = 0; i < states.size(); ++i) {
    kept.push_back(floating_as(states[i], slots_[i].dtype()));
  }
  tenure::detail::assign_all(slots_, kept, tenure::detail::user_site({}));
}

namespace {

// Zeros where the mask is false at the step that an output is about.
Tensor zeroed(const Tensor& output, const Tensor& mask, const SequenceOptions& options) {
  const int time = options.time_axis();
  Tensor told = mask;
  if (options.return_sequences) {
    if (options.go_backwards) told = reverse(told, {time});
  } else {
    std::vector<Tensor> steps = unstack(told, time);
    told = options.go_backwards ? steps.front() : steps.back();
  }
  while (told.rank() < output.rank()) told = expand_dims(std::move(told), -1);
  return where(told, output, zeros_like(output));
}

}  // namespace

std::vector<Tensor> SequenceBase::call_all(const std::vector<Tensor>& inputs, const Call& call) {
  Sequence in = taken(inputs, call);
  if (sequence_.stateful) {
    check_batch(in.x);
    if (in.states.empty()) {
      for (const Variable& slot : slots_)
        in.states.push_back(floating_as(slot.read(), in.x.dtype()));
    }
  }
  const bool fused = fused_ != nullptr && sequence_.fused && fused_->is_fused(call) &&
                     in.x.rank() == 3 && in.constants.empty();
  SequenceResult result =
      fused ? fused_->take_all_steps(in, sequence_, call) : take_steps(*cell_, in, sequence_, call);
  if (sequence_.zero_output_for_mask && in.mask.defined()) {
    result.output = zeroed(result.output, in.mask, sequence_);
  }
  if (sequence_.stateful) keep(result.states);
  std::vector<Tensor> outputs{std::move(result.output)};
  if (sequence_.return_state) {
    outputs.insert(outputs.end(), result.states.begin(), result.states.end());
  }
  add_activity_losses(outputs, call);
  return outputs;
}

Tensor SequenceBase::compute_mask(const std::vector<Tensor>&, const std::vector<Tensor>& masks) {
  return sequence_.return_sequences && !masks.empty() ? masks.front() : Tensor();
}

void SequenceBase::reset_states(const std::vector<Tensor>& values, std::source_location site) {
  if (!sequence_.stateful) {
    raise<ValueError>("reset_states: {} is not stateful: it has no states to set",
                      layer_text(*this));
  }
  if (slots_.empty()) {
    raise<ValueError>("reset_states: {} has no states yet: build it, or call it once",
                      layer_text(*this));
  }
  LayerBase::reset_states(values, site);
}

// ---- The layers

namespace {

template <class Self, class O>
class SequenceLayer : public ConfiguredLayer<O, SequenceBase> {
 public:
  Layer copy(const std::string& name, bool go_backwards, std::source_location site) const override {
    O options = this->options_;
    options.name = name;
    options.go_backwards = go_backwards;
    return Layer(make_base<Self>(site, std::move(options), site));
  }

 private:
  friend Self;
  explicit SequenceLayer(O options) : ConfiguredLayer<O, SequenceBase>(std::move(options)) {}
};

class SimpleRNNLayer final : public SequenceLayer<SimpleRNNLayer, SimpleRNNOptions> {
 public:
  SimpleRNNLayer(SimpleRNNOptions options, std::source_location site)
      : SequenceLayer(std::move(options)) {
    check_cell("SimpleRNN", options_);
    use(SimpleRNNCell(cell_settings<SimpleRNNCellOptions>(options_, "simple_rnn_cell"), site),
        sequence_options(options_), "simple_rnn_cell");
  }
  const char* class_name() const override { return "SimpleRNN"; }
};

class GRULayer final : public SequenceLayer<GRULayer, GRUOptions> {
 public:
  GRULayer(GRUOptions options, std::source_location site) : SequenceLayer(std::move(options)) {
    check_cell("GRU", options_);
    use(GRUCell(cell_settings<GRUCellOptions>(options_, "gru_cell"), site),
        sequence_options(options_), "gru_cell");
  }
  const char* class_name() const override { return "GRU"; }
};

class LSTMLayer final : public SequenceLayer<LSTMLayer, LSTMOptions> {
 public:
  LSTMLayer(LSTMOptions options, std::source_location site) : SequenceLayer(std::move(options)) {
    check_cell("LSTM", options_);
    use(LSTMCell(cell_settings<LSTMCellOptions>(options_, "lstm_cell"), site),
        sequence_options(options_), "lstm_cell");
  }
  const char* class_name() const override { return "LSTM"; }
};

class ConvLSTM2DLayer final : public SequenceLayer<ConvLSTM2DLayer, ConvLSTM2DOptions> {
 public:
  ConvLSTM2DLayer(ConvLSTM2DOptions options, std::source_location site)
      : SequenceLayer(std::move(options)) {
    check_cell("ConvLSTM2D", options_);
    use(ConvLSTM2DCell(cell_settings<ConvLSTM2DCellOptions>(options_, "conv_lstm_cell"), site),
        sequence_options(options_), "conv_lstm_cell");
  }
  const char* class_name() const override { return "ConvLSTM2D"; }

 protected:
  int input_rank() const override { return 5; }
};

}  // namespace

namespace {

struct RNNSettings : RNNOptions {
  std::optional<Layer> cell = {};
};
void fields(Fields& visit, RNNSettings& o) {
  sequence_fields(visit, o);
  if (visit.reads() || o.num_constants != 0) TENURE_FIELDS(visit, o, num_constants);
  visit.need({"cell"});
  TENURE_FIELDS(visit, o, cell);
}

class RNNLayer final : public ConfiguredLayer<RNNSettings, SequenceBase> {
 public:
  explicit RNNLayer(RNNSettings settings) : ConfiguredLayer(std::move(settings)) {
    if (options_.num_constants < 0) {
      raise<ValueError>("RNN: num_constants is negative: {}", options_.num_constants);
    }
    use(*options_.cell, sequence_options(options_));
  }
  const char* class_name() const override { return "RNN"; }

  Layer copy(const std::string& name, bool go_backwards, std::source_location site) const override {
    RNNSettings settings = options_;
    settings.name = name;
    settings.go_backwards = go_backwards;
    settings.cell = copy_of(cell());
    return Layer(make_base<RNNLayer>(site, std::move(settings)));
  }

 protected:
  int input_rank() const override { return 0; }
};

Layer rnn(Fields& settings) {
  RNNSettings o;
  layer_fields(settings, o);
  return RNN(*o.cell, o);
}

}  // namespace

std::span<const LayerRow> recurrent_layers() {
  static constexpr LayerRow rows[] = {
      {"SimpleRNNCell", make_layer<SimpleRNNCell, SimpleRNNCellOptions>},
      {"GRUCell", make_layer<GRUCell, GRUCellOptions>},
      {"LSTMCell", make_layer<LSTMCell, LSTMCellOptions>},
      {"ConvLSTM2DCell", make_layer<ConvLSTM2DCell, ConvLSTM2DCellOptions>},
      {"StackedRNNCells", stacked_cells},
      {"SimpleRNN", make_layer<SimpleRNN, SimpleRNNOptions>},
      {"GRU", make_layer<GRU, GRUOptions>},
      {"LSTM", make_layer<LSTM, LSTMOptions>},
      {"ConvLSTM2D", make_layer<ConvLSTM2D, ConvLSTM2DOptions>},
      {"RNN", rnn},
  };
  return rows;
}

}  // namespace detail

SimpleRNN::SimpleRNN(SimpleRNNOptions options, std::source_location site)
    : Layer(detail::make_base<detail::SimpleRNNLayer>(site, std::move(options), site)) {}
GRU::GRU(GRUOptions options, std::source_location site)
    : Layer(detail::make_base<detail::GRULayer>(site, std::move(options), site)) {}
LSTM::LSTM(LSTMOptions options, std::source_location site)
    : Layer(detail::make_base<detail::LSTMLayer>(site, std::move(options), site)) {}
ConvLSTM2D::ConvLSTM2D(ConvLSTM2DOptions options, std::source_location site)
    : Layer(detail::make_base<detail::ConvLSTM2DLayer>(site, std::move(options), site)) {}
RNN::RNN(Layer cell, RNNOptions options, std::source_location site)
    : Layer(detail::make_base<detail::RNNLayer>(
          site, detail::RNNSettings{std::move(options), std::move(cell)})) {}
RNN::RNN(std::vector<Layer> cells, RNNOptions options, std::source_location site)
    : RNN(StackedRNNCells(std::move(cells), {}, site), std::move(options), site) {}

}  // namespace tenure::nn
