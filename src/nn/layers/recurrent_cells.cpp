// Cells whose products are with matrices, and cells made of cells.
#include <fmt/format.h>

#include <algorithm>

#include "core/raise.h"
#include "nn/layers/common.h"
#include "nn/layers/recurrent.h"
#include "ops/recurrent_attrs.h"
#include "tenure/activation.h"
#include "tenure/create.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/recurrent.h"
#include "tenure/views.h"

namespace tenure::nn {

// ---- What every cell has

std::vector<Shape> CellBase::state_shapes(const Shape& x) const {
  std::vector<Shape> shapes;
  for (const Shape& size : state_sizes()) {
    Shape shape{x[0]};
    for (const std::int64_t each : size) shape.push_back(each);
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

Shape CellBase::output_shape(const Shape& x) const {
  const std::vector<Shape> shapes = state_shapes(x);
  if (shapes.empty()) {
    raise<ValueError>("{}: a cell without states must override output_shape",
                      detail::layer_text(*this));
  }
  return shapes.front();
}

Drawn CellBase::draw(const Shape&, const Call&) { return {}; }

std::vector<Tensor> CellBase::call_all(const std::vector<Tensor>& inputs, const Call& call) {
  const std::size_t states = state_sizes().size();
  if (inputs.size() < 1 + states) {
    raise<ValueError>("{}: takes an input and {} states, was given {} tensors",
                      detail::layer_text(*this), states, inputs.size());
  }
  const auto end = inputs.begin() + static_cast<std::ptrdiff_t>(1 + states);
  CellCall how;
  static_cast<Call&>(how) = call;
  how.drawn = draw(inputs[0].shape(), call);
  how.constants.assign(end, inputs.end());
  CellStep stepped = step(inputs[0], {inputs.begin() + 1, end}, how);
  std::vector<Tensor> outputs{std::move(stepped.output)};
  outputs.insert(outputs.end(), stepped.states.begin(), stepped.states.end());
  return outputs;
}

namespace detail {

void check_cell_sizes(const char* what, std::int64_t units, double dropout,
                      double recurrent_dropout) {
  if (units < 1) raise<ValueError>("{}: units must be positive: {}", what, units);
  check_part(what, "dropout", dropout);
  check_part(what, "recurrent_dropout", recurrent_dropout);
}

Initializer lstm_bias(const Initializer& initializer, std::int64_t units, bool unit_forget_bias) {
  if (!unit_forget_bias) return initializer;
  return [initializer, units](const Shape&, DType dtype) {
    return concat(
        {initializer({units}, dtype), ones({units}, dtype), initializer({2 * units}, dtype)});
  };
}

namespace {

std::optional<tenure::Activation> fused_activation(const ActivationFn& activation) {
  // The operations' hard_sigmoid is that of Keras 2.
  if (activation.name() == "hard_sigmoid") return std::nullopt;
  const bool is_old = activation.name() == "hard_sigmoid_keras2";
  const std::string name = is_old ? "hard_sigmoid" : activation.name();
  const auto names = choices(tenure::Activation());
  const auto at = std::ranges::find(names, name);
  const auto fused = static_cast<tenure::Activation>(at - names.begin());
  if (at == names.end() || !ops::is_recurrent(fused)) return std::nullopt;
  return fused;
}

using FusedOp = RecurrentResult (*)(Arg x, Arg kernel, Arg recurrent_kernel,
                                    const RecurrentOptions& options);

// Cells with a kernel, a recurrent kernel and a bias, in which the gates stand side by side.
template <class O>
class GateCell : public ConfiguredLayer<O, CellBase>, public FusedCell {
 public:
  GateCell(O options, const char* name, int gates, FusedOp op)
      : ConfiguredLayer<O, CellBase>(std::move(options)),
        gates_(gates),
        op_(op),
        noise_(options_.seed) {
    check_cell(name, options_);
    const auto activation = fused_activation(options_.activation);
    auto gate = std::optional(tenure::Activation::sigmoid);
    if constexpr (requires { options_.recurrent_activation; }) {
      gate = fused_activation(options_.recurrent_activation);
    }
    if (activation && gate) activations_ = {*activation, *gate};
    if constexpr (requires { options_.implementation; }) {
      if (options_.implementation < 0 || options_.implementation > 2) {
        raise<ValueError>("{}: implementation must be 1 or 2: {}", name, options_.implementation);
      }
      // As Keras has it: dropped states differ from gate to gate. Old files say 0 for 1.
      masks_ = options_.implementation != 2 || options_.recurrent_dropout > 0 ? gates : 1;
    }
  }

  void build(const Shape& input) override {
    if (input.rank() != 2) raise<ShapeError>("takes steps of rank 2, was given {}", input);
    noise_.build(*this);
    const std::int64_t columns = gates_ * options_.units;
    kernel_ =
        this->add_weight("kernel", {input[-1], columns}, TENURE_WEIGHT_OPTIONS(options_, kernel));
    recurrent_ = this->add_weight("recurrent_kernel", {options_.units, columns},
                                  TENURE_WEIGHT_OPTIONS(options_, recurrent));
    if (!options_.use_bias) return;
    WeightOptions bias = TENURE_WEIGHT_OPTIONS(options_, bias);
    bias.initializer = bias_initializer();
    bias_ = this->add_weight("bias", bias_shape(), std::move(bias));
  }

  std::vector<Shape> state_sizes() const override { return {{options_.units}}; }

  // Masks of the inputs, and masks of the states: one, or one per gate, or none.
  Drawn draw(const Shape& x, const Call& call) override {
    if (!drops(options_, call)) return {};
    return dropout_masks(options_, noise_, x, {x[0], options_.units}, masks_);
  }

  bool is_fused(const Call& call) const override { return activations_ && !drops(options_, call); }
  SequenceResult take_all_steps(const Sequence& in, const SequenceOptions& options,
                                const Call&) override {
    RecurrentOptions how;
    how.activation = activations_->first;
    how.recurrent_activation = activations_->second;
    how.go_backwards = options.go_backwards;
    how.return_sequences = options.return_sequences;
    if constexpr (requires { options_.reset_after; }) how.reset_after = options_.reset_after;
    if (options_.use_bias) how.bias = bias_;
    if (!in.states.empty()) how.initial_state = in.states[0];
    if (in.states.size() > 1) how.initial_cell = in.states[1];
    const auto turned = [&](const Tensor& x) {
      if (!options.time_major) return x;
      return x.rank() == 2 ? transpose(x) : transpose(x, {1, 0, 2});
    };
    if (in.mask.defined()) how.mask = turned(in.mask);
    RecurrentResult all_steps = op_(turned(in.x), kernel_, recurrent_, how);
    SequenceResult result;
    result.output =
        options.return_sequences ? turned(all_steps.sequence) : std::move(all_steps.output);
    result.states.push_back(std::move(all_steps.state));
    if (all_steps.cell.defined()) result.states.push_back(std::move(all_steps.cell));
    return result;
  }

 protected:
  using ConfiguredLayer<O, CellBase>::options_;

  virtual Shape bias_shape() const { return {gates_ * options_.units}; }
  virtual Initializer bias_initializer() const { return options_.bias_initializer; }

  static const std::vector<Tensor>& masks_of(const CellCall& call, std::size_t part) {
    static const std::vector<Tensor> none;
    return call.drawn.parts.empty() ? none : call.drawn.parts[part].tensors;
  }
  // x times the first `gates` gates of a weight, side by side.
  Tensor product(const Tensor& x, const std::vector<Tensor>& masks, const Tensor& weight,
                 int gates) const {
    if (masks.size() <= 1) {
      return matmul(masks.empty() ? x : x * masks[0],
                    gates == gates_ ? weight : columns(weight, 0, gates));
    }
    std::vector<Tensor> each;
    each.reserve(static_cast<std::size_t>(gates));
    for (int g = 0; g < gates; ++g) {
      each.push_back(matmul(x * masks[static_cast<std::size_t>(g)], columns(weight, g, 1)));
    }
    return concat(std::move(each), -1);
  }
  Tensor product(const Tensor& x, const std::vector<Tensor>& masks, const Tensor& weight) const {
    return product(x, masks, weight, gates_);
  }
  Tensor columns(const Tensor& weight, int gate, int gates) const {
    return slice(weight, {0, gate * options_.units}, {-1, gates * options_.units});
  }

  const int gates_;
  const FusedOp op_;
  int masks_ = 1;
  Noise noise_;
  std::optional<std::pair<tenure::Activation, tenure::Activation>> activations_;
  Variable kernel_, recurrent_, bias_;
};

class SimpleRNNCellLayer final : public GateCell<SimpleRNNCellOptions> {
 public:
  explicit SimpleRNNCellLayer(SimpleRNNCellOptions options)
      : GateCell(std::move(options), "SimpleRNNCell", 1, simple_rnn) {}
  const char* class_name() const override { return "SimpleRNNCell"; }

  CellStep step(const Tensor& x, const std::vector<Tensor>& states, const CellCall& call) override {
    Tensor h = product(x, masks_of(call, 0), kernel_.read());
    if (options_.use_bias) h = std::move(h) + bias_;
    h = std::move(h) + product(states[0], masks_of(call, 1), recurrent_.read());
    h = options_.activation(std::move(h));
    return {h, {h}};
  }
};

class GRUCellLayer final : public GateCell<GRUCellOptions> {
 public:
  explicit GRUCellLayer(GRUCellOptions options) : GateCell(std::move(options), "GRUCell", 3, gru) {}
  const char* class_name() const override { return "GRUCell"; }

  CellStep step(const Tensor& x, const std::vector<Tensor>& states, const CellCall& call) override {
    const Tensor& h = states[0];
    const std::vector<Tensor>& masks = masks_of(call, 1);
    const Tensor recurrent = recurrent_.read();
    Tensor bias, inputs = product(x, masks_of(call, 0), kernel_.read());
    if (options_.use_bias) {
      bias = bias_.read();
      inputs = std::move(inputs) + (options_.reset_after ? bias[0] : bias);
    }
    const std::vector<Tensor> from_input = split(inputs, 3, -1);
    Tensor z, candidate;
    if (options_.reset_after) {
      Tensor inner = product(h, masks, recurrent);
      if (options_.use_bias) inner = std::move(inner) + bias[1];
      const std::vector<Tensor> gates = split(inner, 3, -1);
      z = options_.recurrent_activation(from_input[0] + gates[0]);
      candidate =
          from_input[2] + options_.recurrent_activation(from_input[1] + gates[1]) * gates[2];
    } else {
      const std::vector<Tensor> gates = split(product(h, masks, recurrent, 2), 2, -1);
      z = options_.recurrent_activation(from_input[0] + gates[0]);
      Tensor reset = options_.recurrent_activation(from_input[1] + gates[1]) * h;
      if (!masks.empty()) reset = std::move(reset) * masks.back();
      candidate = from_input[2] + matmul(reset, columns(recurrent, 2, 1));
    }
    Tensor next = z * h + (1 - z) * options_.activation(std::move(candidate));
    return {next, {next}};
  }

 private:
  Shape bias_shape() const override {
    const std::int64_t columns = 3 * options_.units;
    return options_.reset_after ? Shape{2, columns} : Shape{columns};
  }
};

class LSTMCellLayer final : public GateCell<LSTMCellOptions> {
 public:
  explicit LSTMCellLayer(LSTMCellOptions options)
      : GateCell(std::move(options), "LSTMCell", 4, lstm) {}
  const char* class_name() const override { return "LSTMCell"; }
  std::vector<Shape> state_sizes() const override { return {{options_.units}, {options_.units}}; }

  CellStep step(const Tensor& x, const std::vector<Tensor>& states, const CellCall& call) override {
    Tensor all = product(x, masks_of(call, 0), kernel_.read()) +
                 product(states[0], masks_of(call, 1), recurrent_.read());
    if (options_.use_bias) all = std::move(all) + bias_;
    const std::vector<Tensor> gates = split(std::move(all), 4, -1);
    const ActivationFn& gate = options_.recurrent_activation;
    Tensor cell = gate(gates[1]) * states[1] + gate(gates[0]) * options_.activation(gates[2]);
    Tensor h = gate(gates[3]) * options_.activation(cell);
    return {h, {h, std::move(cell)}};
  }

 private:
  Initializer bias_initializer() const override {
    return lstm_bias(options_.bias_initializer, options_.units, options_.unit_forget_bias);
  }
};

struct StackedSettings : StackedRNNCellsOptions {
  std::vector<Layer> cells = {};
};
void fields(Fields& visit, StackedSettings& o) { TENURE_FIELDS(visit, o, cells); }

class StackedCells final : public ConfiguredLayer<StackedSettings, CellBase>, public FusedCell {
 public:
  explicit StackedCells(StackedSettings settings) : ConfiguredLayer(std::move(settings)) {
    if (options_.cells.empty()) raise<ValueError>("StackedRNNCells: there are no cells");
    for (const Layer& cell : options_.cells) {
      if (cell.as<CellBase>() == nullptr) {
        raise<ValueError>("StackedRNNCells: takes cells, was given the layer {}",
                          layer_text(LayerAccess::base(cell)));
      }
      track(cell);
      cells_.push_back(cell.as<CellBase>());
      fused_.push_back(dynamic_cast<FusedCell*>(cells_.back()));
    }
  }
  const char* class_name() const override { return "StackedRNNCells"; }

  void build_all(const std::vector<Shape>& inputs) override {
    check_has_input(*this, inputs.size());
    std::vector<Spec> specs;
    specs.reserve(inputs.size());
    for (const Shape& input : inputs) specs.push_back({input, options_.dtype});
    for (CellBase* cell : cells_) {
      ensure_built(*cell, specs, LayerAccess::state(*cell).label->site);
      specs[0].shape = cell->output_shape(specs[0].shape);
    }
  }

  std::vector<Shape> state_sizes() const override {
    std::vector<Shape> sizes;
    for (const CellBase* cell : cells_) {
      for (Shape& size : cell->state_sizes()) sizes.push_back(std::move(size));
    }
    return sizes;
  }
  std::vector<Shape> state_shapes(const Shape& x) const override {
    std::vector<Shape> shapes;
    Shape at = x;
    for (const CellBase* cell : cells_) {
      for (Shape& shape : cell->state_shapes(at)) shapes.push_back(std::move(shape));
      at = cell->output_shape(at);
    }
    return shapes;
  }
  Shape output_shape(const Shape& x) const override {
    Shape at = x;
    for (const CellBase* cell : cells_) at = cell->output_shape(at);
    return at;
  }
  Drawn draw(const Shape& x, const Call& call) override {
    Drawn drawn;
    Shape at = x;
    for (CellBase* cell : cells_) {
      drawn.parts.push_back(cell->draw(at, call));
      at = cell->output_shape(at);
    }
    return drawn;
  }

  CellStep step(const Tensor& x, const std::vector<Tensor>& states, const CellCall& call) override {
    CellStep all{x, {}};
    CellCall how = call;
    auto next = states.begin();
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const auto end = next + static_cast<std::ptrdiff_t>(cells_[i]->state_sizes().size());
      how.drawn = call.drawn.parts.empty() ? Drawn{} : call.drawn.parts[i];
      CellStep of_cell = cells_[i]->step(all.output, {next, end}, how);
      next = end;
      all.output = std::move(of_cell.output);
      all.states.insert(all.states.end(), of_cell.states.begin(), of_cell.states.end());
    }
    return all;
  }

  bool is_fused(const Call& call) const override {
    return std::ranges::all_of(
        fused_, [&](const FusedCell* cell) { return cell != nullptr && cell->is_fused(call); });
  }
  // Cell by cell instead of step by step: a step that is skipped is skipped by all of them.
  SequenceResult take_all_steps(const Sequence& in, const SequenceOptions& options,
                                const Call& call) override {
    Sequence at = in;
    SequenceOptions how = options;
    SequenceResult all;
    auto next = in.states.begin();
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      how.return_sequences = i + 1 < cells_.size() || options.return_sequences;
      if (!in.states.empty()) {
        const auto end = next + static_cast<std::ptrdiff_t>(cells_[i]->state_sizes().size());
        at.states.assign(next, end);
        next = end;
      }
      SequenceResult of_cell = fused_[i]->take_all_steps(at, how, call);
      all.states.insert(all.states.end(), of_cell.states.begin(), of_cell.states.end());
      at.x = std::move(of_cell.output);
      if (i == 0 && options.go_backwards) {  // what the first gives is in the order of its steps
        how.go_backwards = false;
        if (at.mask.defined()) at.mask = reverse(at.mask, {options.time_axis()});
      }
    }
    all.output = std::move(at.x);
    return all;
  }

 private:
  std::vector<CellBase*> cells_;
  std::vector<FusedCell*> fused_;  // the same, or null where a cell is none
};

}  // namespace

Layer stacked_cells(Fields& settings) {
  StackedSettings o;
  layer_fields(settings, o);
  return StackedRNNCells(o.cells, o);
}

}  // namespace detail

TENURE_DEFINE_LAYER(SimpleRNNCell, SimpleRNNCellOptions, SimpleRNNCellLayer)
TENURE_DEFINE_LAYER(GRUCell, GRUCellOptions, GRUCellLayer)
TENURE_DEFINE_LAYER(LSTMCell, LSTMCellOptions, LSTMCellLayer)
StackedRNNCells::StackedRNNCells(std::vector<Layer> cells, StackedRNNCellsOptions options,
                                 std::source_location site)
    : Layer(detail::make_base<detail::StackedCells>(
          site, detail::StackedSettings{std::move(options), std::move(cells)})) {}

}  // namespace tenure::nn
