// Places in a model: layers called on them compute nothing yet.
#include <fmt/format.h>

#include <algorithm>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/text.h"
#include "nn/config.h"
#include "nn/input_layer.h"
#include "nn/model_state.h"

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

std::vector<Node> Layer::apply(std::vector<Node> inputs, NodeOptions options,
                               std::source_location site) const {
  detail::Specs given;
  for (const Node& input : inputs) {
    given.values.push_back({input.shape(), input.dtype()});
    const auto& masks = LayerAccess::call(input)->masks;
    const std::size_t output = LayerAccess::output(input);
    given.masks.push_back(output < masks.size() ? masks[output] : std::nullopt);
  }
  const tenure::detail::UserLine line(site, base_->class_name());
  const detail::NodeGiver giver(inputs);
  detail::Specs outputs = detail::outputs_for(*base_, given, site);
  const std::size_t count = outputs.values.size();
  const auto call = detail::noted({*this, std::move(inputs), std::move(outputs.values), site,
                                   options.training, false, std::move(outputs.masks)});
  std::vector<Node> nodes;
  nodes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) nodes.push_back(LayerAccess::node(call, i));
  return nodes;
}

Node Layer::operator()(const Node& input, NodeOptions options, std::source_location site) const {
  return apply(std::vector<Node>{input}, options, site).front();
}

Node Layer::operator()(std::vector<Node> inputs, NodeOptions options,
                       std::source_location site) const {
  return apply(std::move(inputs), options, site).front();
}

Layer::Layer(const Node& input, std::source_location site) : Layer(input.layer()) {
  const detail::NodeCall& call = *LayerAccess::call(input);
  if (call.inputs.empty()) return;
  throw ValueError(describe("Layer: a Node that {} gives is no layer",
                            detail::layer_text(LayerAccess::base(call.layer)))
                       .told({line_of("born", *LayerAccess::state(call.layer).label.get()),
                              tenure::detail::used_line(site, "Layer")},
                             "begin a Sequential with an Input, or make a Model({inputs}, "
                             "{outputs}) of Nodes."));
}

namespace detail {

namespace {
thread_local const LayerBase* t_giver = nullptr;
}

NodeGiver::NodeGiver(const std::vector<Node>& inputs)
    : outer_(std::exchange(
          t_giver,
          inputs.empty() ? nullptr : &LayerAccess::base(LayerAccess::call(inputs[0])->layer))) {}
NodeGiver::~NodeGiver() { t_giver = outer_; }
const LayerBase* NodeGiver::current() { return t_giver; }

std::shared_ptr<const NodeCall> noted(NodeCall call) {
  LayerState& state = LayerAccess::state(call.layer);
  auto shared = std::make_shared<const NodeCall>(std::move(call));
  const std::lock_guard lock(state.building);
  if (state.calls.size() >= state.calls_to_sift) {
    std::erase_if(state.calls, [](const auto& each) { return each.expired(); });
    state.calls_to_sift = std::max(state.calls_to_sift, 2 * state.calls.size());
  }
  state.calls.push_back(shared);
  return shared;
}

// The calls whose nodes nobody else holds end one after the other, not within each other.
NodeCall::~NodeCall() {
  thread_local std::vector<Node>* t_ending = nullptr;
  if (t_ending != nullptr) {
    try {
      t_ending->insert(t_ending->end(), inputs.begin(), inputs.end());
    } catch (...) {  // without memory, within this one
    }
    return;
  }
  std::vector<Node> ending = std::move(inputs);
  t_ending = &ending;
  while (!ending.empty()) {
    const Node last = std::move(ending.back());
    ending.pop_back();
  }
  t_ending = nullptr;
}

namespace {

std::vector<Node> nodes_of(const std::shared_ptr<const NodeCall>& call) {
  std::vector<Node> nodes;
  nodes.reserve(call->outputs.size());
  for (std::size_t i = 0; i < call->outputs.size(); ++i) {
    nodes.push_back(LayerAccess::node(call, i));
  }
  return nodes;
}

bool same(const std::vector<Node>& a, const std::vector<Node>& b) {
  return std::ranges::equal(a, b, [](const Node& one, const Node& other) {
    return LayerAccess::call(one) == LayerAccess::call(other) &&
           LayerAccess::output(one) == LayerAccess::output(other);
  });
}

[[noreturn]] void raise_places(const char* what, const LayerBase& base, const std::string& has,
                               std::source_location site, const char* todo) {
  throw ValueError(describe("{}: {} {}", what, layer_text(base), has)
                       .told({line_of("born", *LayerAccess::state(base).label.get()),
                              tenure::detail::used_line(site, what)},
                             todo));
}

// What all calls on Nodes agree on.
template <class Places>
std::vector<Node> agreed(const char* what, const LayerBase& base, Places&& places,
                         std::source_location site) {
  LayerState& state = LayerAccess::state(base);
  const std::lock_guard lock(state.building);
  std::optional<std::vector<Node>> agreed;
  for (const auto& each : state.calls) {
    const std::shared_ptr<const NodeCall> call = each.lock();
    if (call == nullptr) continue;
    std::vector<Node> nodes = places(call);
    if (agreed && !same(*agreed, nodes)) {
      raise_places(what, base, "was called on Nodes in several places", site,
                   "keep the Node that a call gives, and use that.");
    }
    agreed = std::move(nodes);
  }
  return agreed.value_or(std::vector<Node>());
}

Node only(const char* what, const LayerBase& base, const std::vector<Node>& nodes,
          std::source_location site) {
  if (nodes.empty()) {
    raise_places(what, base, "is in no model yet whose sizes are known", site,
                 "call the layer on a Node, or begin its Sequential with an Input, or build it.");
  }
  if (nodes.size() > 1) {
    raise_places(what, base, fmt::format("has {} of them", nodes.size()), site,
                 "inputs() and outputs() give them all.");
  }
  return nodes.front();
}

}  // namespace

namespace {

struct InputLayerOptions {
  std::string name = {};
  bool trainable = true;
  Shape input_shape = {};
  Shape batch_input_shape = {};
  DTypePolicy dtype = {};
};
void fields(Fields&, InputLayerOptions&) {}

// Gives what it is given: where a model begins.
class InputLayer final : public ConfiguredLayer<InputLayerOptions> {
 public:
  using ConfiguredLayer::ConfiguredLayer;
  const char* class_name() const override { return "InputLayer"; }
  bool passes_mask() const override { return true; }
  bool casts_inputs() const override { return false; }  // the model does
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

Node input_node(Spec spec, std::string name, std::source_location site, bool of_data) {
  check_sizes(spec.shape);
  InputLayerOptions options;
  options.name = std::move(name);
  options.batch_input_shape = spec.shape;
  options.dtype = spec.dtype;
  Layer layer(make_base<InputLayer>(site, std::move(options)));
  return LayerAccess::node(noted({layer, {}, {spec}, site, {}, of_data}), 0);
}

Node input_node(const Layer& layer, const Spec& spec, std::source_location site) {
  LayerState& state = LayerAccess::state(layer);
  const std::lock_guard lock(state.building);
  for (const auto& each : state.calls) {
    const std::shared_ptr<const NodeCall> call = each.lock();
    if (call != nullptr && call->inputs.empty()) return LayerAccess::node(call, 0);
  }
  return LayerAccess::node(noted({layer, {}, {spec}, site}), 0);
}

Layer input_layer(Fields& settings) {
  InputLayerOptions options;
  layer_fields(settings, options);
  return input_node({options.batch_input_shape, options.dtype}, options.name, {}).layer();
}

}  // namespace detail

namespace {

std::vector<Node> inputs_of(const char* what, const LayerBase& base, std::source_location site) {
  detail::check_alive(base, site, what);
  if (const detail::Structure* structure = detail::structure_of(base)) return structure->inputs;
  return detail::agreed(what, base, [](const auto& call) { return call->inputs; }, site);
}

std::vector<Node> outputs_of(const char* what, const LayerBase& base, std::source_location site) {
  detail::check_alive(base, site, what);
  if (const detail::Structure* structure = detail::structure_of(base)) return structure->outputs;
  return detail::agreed(what, base, detail::nodes_of, site);
}

}  // namespace

std::vector<Node> Layer::inputs(std::source_location site) const {
  return inputs_of("inputs", *base_, site);
}

std::vector<Node> Layer::outputs(std::source_location site) const {
  return outputs_of("outputs", *base_, site);
}

Node Layer::input(std::source_location site) const {
  return detail::only("input", *base_, inputs_of("input", *base_, site), site);
}

Node Layer::output(std::source_location site) const {
  return detail::only("output", *base_, outputs_of("output", *base_, site), site);
}

}  // namespace tenure::nn
