// Places in a model: layers called on them compute nothing yet.
#include <fmt/format.h>

#include "core/raise.h"
#include "memory/context.h"
#include "nn/config.h"
#include "nn/input_layer.h"
#include "nn/layer_state.h"

namespace tenure::nn {

using detail::LayerAccess;

const Shape& Node::shape() const { return call_->outputs[output_].shape; }
DType Node::dtype() const { return call_->outputs[output_].dtype; }
Layer Node::layer() const { return call_->layer; }

Node Input(InputOptions options, std::source_location site) {
  Spec spec{{options.batch_size}, options.dtype};
  for (const std::int64_t size : options.shape) spec.shape.push_back(size);
  return detail::input_node(std::move(spec), std::move(options.name), site);
}

std::vector<Node> Layer::apply(std::vector<Node> inputs, std::source_location site) const {
  std::vector<Spec> specs;
  specs.reserve(inputs.size());
  for (const Node& input : inputs) specs.push_back({input.shape(), input.dtype()});
  const tenure::detail::UserLine line(site, base_->class_name());
  std::vector<Spec> outputs = detail::output_specs(*base_, specs, site);
  const std::size_t count = outputs.size();
  const auto call = std::make_shared<const detail::NodeCall>(
      detail::NodeCall{*this, std::move(inputs), std::move(outputs), site});
  std::vector<Node> nodes;
  nodes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) nodes.push_back(LayerAccess::node(call, i));
  return nodes;
}

Node Layer::operator()(const Node& input, std::source_location site) const {
  return apply(std::vector<Node>{input}, site).front();
}

Node Layer::operator()(std::vector<Node> inputs, std::source_location site) const {
  return apply(std::move(inputs), site).front();
}

namespace detail {

namespace {

struct InputLayerOptions {
  std::string name = {};
  bool trainable = true;
  Shape input_shape = {};
  Shape batch_input_shape = {};
  DType dtype = DType::float32;
};
void fields(Fields&, InputLayerOptions&) {}

// Gives what it is given: where a model begins.
class InputLayer final : public ConfiguredLayer<InputLayerOptions> {
 public:
  using ConfiguredLayer::ConfiguredLayer;
  const char* class_name() const override { return "InputLayer"; }
  bool passes_mask() const override { return true; }
  Tensor call(const Tensor& x, const Call&) override { return x; }
};

}  // namespace

namespace {

// Sizes may come from a file; with all that vary at their least, they must be a tensor's.
void check_sizes(const Shape& shape) {
  constexpr std::int64_t kMost = std::int64_t{1} << 48;
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) {
    if (size < kAny) raise<ShapeError>("Input: a size is negative: {}", shape);
    if (size == kAny || size == 0) continue;
    if (__builtin_mul_overflow(elements, size, &elements) || elements > kMost) {
      raise<ShapeError>("Input: more elements than a tensor can have: {}", shape);
    }
  }
}

}  // namespace

Node input_node(Spec spec, std::string name, std::source_location site) {
  check_sizes(spec.shape);
  InputLayerOptions options;
  options.name = std::move(name);
  options.batch_input_shape = spec.shape;
  options.dtype = spec.dtype;
  Layer layer(make_base<InputLayer>(site, std::move(options)));
  return LayerAccess::node(std::make_shared<const NodeCall>(NodeCall{layer, {}, {spec}, site}), 0);
}

Layer input_layer(Fields& settings) {
  InputLayerOptions options;
  layer_fields(settings, options);
  return input_node({options.batch_input_shape, options.dtype}, options.name, {}).layer();
}

}  // namespace detail
}  // namespace tenure::nn
