// The cell of ConvLSTM2D.
#include <array>

#include "core/raise.h"
#include "nn/layers/common.h"
#include "nn/layers/recurrent.h"
#include "tenure/conv.h"
#include "tenure/math.h"
#include "tenure/views.h"

namespace tenure::nn {

namespace detail {

void check_convolution(const char* what, const Shape& kernel_size, const Shape& strides,
                       const Shape& dilation_rate, const std::string& padding,
                       const std::string& data_format) {
  const std::array<std::pair<const char*, const Shape*>, 3> sizes{
      {{"kernel_size", &kernel_size}, {"strides", &strides}, {"dilation_rate", &dilation_rate}}};
  for (const auto& [name, size] : sizes) {
    bool fits = size->rank() == 1 || size->rank() == 2;
    for (const std::int64_t each : *size) fits = fits && each >= 1;
    if (!fits) {
      raise<ValueError>("{}: {} must be one or two positive numbers: {}", what, name, *size);
    }
  }
  if (padding != "valid" && padding != "same") {
    raise<ValueError>("{}: padding must be valid or same: \"{}\"", what, padding);
  }
  if (data_format != "channels_last" && data_format != "channels_first") {
    raise<ValueError>("{}: data_format must be channels_last or channels_first: \"{}\"", what,
                      data_format);
  }
}

namespace {

Shape both(const Shape& size) { return size.rank() == 1 ? Shape{size[0], size[0]} : size; }

class ConvLSTM2DCellLayer final : public ConfiguredLayer<ConvLSTM2DCellOptions, CellBase> {
 public:
  explicit ConvLSTM2DCellLayer(ConvLSTM2DCellOptions options)
      : ConfiguredLayer(std::move(options)),
        kernel_size_(
            both(options_.kernel_size.rank() == 0 ? Shape{0} : Shape(options_.kernel_size))),
        channels_first_(options_.data_format == "channels_first"),
        channel_axis_(channels_first_ ? 1 : 3),
        noise_(options_.seed) {
    check_cell("ConvLSTM2DCell", options_);
    input_.strides = both(options_.strides);
    input_.dilations = both(options_.dilation_rate);
    input_.padding = options_.padding == "same" ? Padding::same : Padding::valid;
    input_.channels_first = channels_first_;
    state_.padding = Padding::same;
    state_.channels_first = channels_first_;
  }
  const char* class_name() const override { return "ConvLSTM2DCell"; }

  void build(const Shape& input) override {
    if (input.rank() != 4) raise<ShapeError>("takes steps of rank 4, was given {}", input);
    const std::int64_t filters = options_.filters, columns = 4 * filters;
    built_for_ = input;
    noise_.build(*this);
    kernel_ =
        add_weight("kernel", {kernel_size_[0], kernel_size_[1], input[channel_axis_], columns},
                   TENURE_WEIGHT_OPTIONS(options_, kernel));
    recurrent_ =
        add_weight("recurrent_kernel", {kernel_size_[0], kernel_size_[1], filters, columns},
                   TENURE_WEIGHT_OPTIONS(options_, recurrent));
    if (!options_.use_bias) return;
    WeightOptions bias = TENURE_WEIGHT_OPTIONS(options_, bias);
    bias.initializer = lstm_bias(options_.bias_initializer, filters, options_.unit_forget_bias);
    bias_ = add_weight("bias", {columns}, std::move(bias));
  }

  std::vector<Shape> state_sizes() const override {
    const Shape state = output_shape(built_for_);
    const Shape size{state[1], state[2], state[3]};
    return {size, size};
  }
  std::vector<Shape> state_shapes(const Shape& x) const override {
    const Shape state = output_shape(x);
    return {state, state};
  }
  Shape output_shape(const Shape& x) const override {
    Shape shape = x;
    shape[channel_axis_] = options_.filters;
    for (int i = 0; i < 2; ++i) {
      std::int64_t& size = shape[channels_first_ ? 2 + i : 1 + i];
      if (size == kAny) continue;
      const std::int64_t window = (kernel_size_[i] - 1) * input_.dilations[i] + 1;
      const std::int64_t stride = input_.strides[i];
      if (options_.padding == "same") {
        size = (size + stride - 1) / stride;
      } else if (size < window) {
        raise<ShapeError>("a window of {} does not fit into an image of {}", window, x);
      } else {
        size = (size - window) / stride + 1;
      }
    }
    return shape;
  }

  // Masks of the inputs, and masks of the states: one per gate, or none.
  Drawn draw(const Shape& x, const Call& call) override {
    if (!drops(options_, call)) return {};
    return dropout_masks(options_, noise_, x, output_shape(x), 4);
  }

  CellStep step(const Tensor& x, const std::vector<Tensor>& states, const CellCall& call) override {
    Tensor all = convolution(x, call, 0, kernel_.read(), input_);
    if (options_.use_bias) {
      all = std::move(all) + (channels_first_ ? reshape(bias_, {-1, 1, 1}) : bias_.read());
    }
    all = std::move(all) + convolution(states[0], call, 1, recurrent_.read(), state_);
    const std::vector<Tensor> gates = split(std::move(all), 4, channel_axis_);
    const ActivationFn& gate = options_.recurrent_activation;
    Tensor cell = gate(gates[1]) * states[1] + gate(gates[0]) * options_.activation(gates[2]);
    Tensor h = gate(gates[3]) * options_.activation(cell);
    return {h, {h, std::move(cell)}};
  }

 private:
  // All four gates side by side.
  Tensor convolution(const Tensor& x, const CellCall& call, std::size_t part, const Tensor& filter,
                     const ConvOptions& how) const {
    if (call.drawn.parts.empty() || call.drawn.parts[part].tensors.empty()) {
      return conv2d(x, filter, how);
    }
    const std::vector<Tensor> filters = split(filter, 4, -1);
    std::vector<Tensor> gates;
    gates.reserve(4);
    for (std::size_t g = 0; g < 4; ++g) {
      gates.push_back(conv2d(x * call.drawn.parts[part].tensors[g], filters[g], how));
    }
    return concat(std::move(gates), channel_axis_);
  }

  const Shape kernel_size_;
  const bool channels_first_;
  const int channel_axis_;  // of a step
  ConvOptions input_, state_;
  Shape built_for_;
  Noise noise_;
  Variable kernel_, recurrent_, bias_;
};

}  // namespace
}  // namespace detail

TENURE_DEFINE_LAYER(ConvLSTM2DCell, ConvLSTM2DCellOptions, ConvLSTM2DCellLayer)

}  // namespace tenure::nn
