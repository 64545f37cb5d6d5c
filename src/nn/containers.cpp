#include "nn/containers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/raise.h"
#include "memory/context.h"
#include "memory/text.h"
#include "nn/input_layer.h"

namespace tenure::nn::detail {

std::vector<Flow> call_in_model(const Layer& layer, std::vector<Flow> inputs, const Call& call) {
  LayerBase& base = LayerAccess::base(layer);
  std::vector<Tensor> values, output_masks;
  Call inner{.training = call.training, .losses = call.losses, .output_masks = &output_masks};
  values.reserve(inputs.size());
  inner.masks.reserve(inputs.size());
  for (Flow& input : inputs) {
    values.push_back(std::move(input.value));
    inner.masks.push_back(std::move(input.mask));
  }
  std::vector<Tensor> outputs =
      call_layer(base, values, inner, tenure::detail::context().call.site);
  if (output_masks.empty()) output_masks.push_back(base.compute_mask(values, inner.masks));
  output_masks.resize(outputs.size());
  std::vector<Flow> flows;
  flows.reserve(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    flows.push_back({std::move(outputs[i]), std::move(output_masks[i])});
  }
  return flows;
}

namespace {

// What a model gives, and where it is asked for, the masks.
std::vector<Tensor> give(std::vector<Flow> flows, const Call& call) {
  std::vector<Tensor> values;
  values.reserve(flows.size());
  for (Flow& flow : flows) {
    if (call.output_masks != nullptr) call.output_masks->push_back(std::move(flow.mask));
    values.push_back(std::move(flow.value));
  }
  return values;
}

void check_names(const std::vector<Layer>& layers, const LayerBase& model) {
  std::set<std::string> names;
  for (const Layer& layer : layers) {
    if (!names.insert(layer.name()).second) {
      raise<ValueError>("{}: two layers are called \"{}\": give one another name",
                        layer_text(model), layer.name());
    }
  }
}

}  // namespace

// ---- GraphModel

GraphModel::GraphModel(std::vector<Node> inputs, std::vector<Node> outputs,
                       const ModelOptions& options)
    : Container({.name = options.name}) {
  structure_.inputs = std::move(inputs);
  structure_.outputs = std::move(outputs);
  if (structure_.outputs.empty()) raise<ValueError>("Model: it has no outputs");
  for (const Node& input : structure_.inputs) {
    if (!LayerAccess::call(input)->inputs.empty()) {
      raise<ValueError>("Model: an input of it is an output of {}: begin with Input",
                        layer_text(LayerAccess::base(input.layer())));
    }
    structure_.calls.push_back(LayerAccess::call(input));
  }
  for (const Node& output : structure_.outputs) visit(LayerAccess::call(output));
  make_steps();
}

void GraphModel::visit(const std::shared_ptr<const NodeCall>& call) {
  if (std::ranges::find(structure_.calls, call) != structure_.calls.end()) return;
  if (call->inputs.empty()) {
    raise<ValueError>("Model: an output depends on the input \"{}\", which is none of the model's",
                      call->layer.name());
  }
  for (const Node& input : call->inputs) visit(LayerAccess::call(input));
  structure_.calls.push_back(call);
}

void GraphModel::make_steps() {
  std::map<const NodeCall*, std::size_t> first;  // of a call's outputs among all values
  std::vector<Layer> layers;
  for (const auto& call : structure_.calls) {
    if (std::ranges::find(layers, call->layer) == layers.end()) layers.push_back(call->layer);
    first[call.get()] = values_;
    values_ += call->outputs.size();
  }
  check_names(layers, *this);
  for (const Layer& layer : layers) LayerAccess::add_layer(*this, layer);
  const auto place = [&](const Node& node) {
    return first.at(LayerAccess::call(node).get()) + LayerAccess::output(node);
  };
  for (const Node& output : structure_.outputs) results_.push_back(place(output));
  std::map<std::size_t, std::size_t> last;  // step that reads a value last
  for (const auto& call : structure_.calls) {
    if (call->inputs.empty()) continue;
    Step step{call->layer, {}, first.at(call.get()), call->outputs.size(), {}};
    for (const Node& input : call->inputs) {
      step.inputs.push_back({place(input)});
      last[place(input)] = steps_.size();
    }
    steps_.push_back(std::move(step));
  }
  for (const auto& [value, step] : last) {
    if (std::ranges::find(results_, value) == results_.end()) {
      steps_[step].last_used.push_back(value);
    }
  }
}

void GraphModel::build_all(const std::vector<Shape>&) {}  // the layers were, with their nodes

std::vector<Tensor> GraphModel::call_all(const std::vector<Tensor>& inputs, const Call& call) {
  if (inputs.size() != structure_.inputs.size()) {
    raise<ValueError>("{}: takes {} inputs, was given {}", layer_text(*this),
                      structure_.inputs.size(), inputs.size());
  }
  std::vector<Flow> values(values_);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = spec_of(inputs[i]).shape;
    const Shape& wanted = structure_.inputs[i].shape();
    bool fits = shape.rank() == wanted.rank();
    for (int axis = 0; fits && axis < shape.rank(); ++axis) {
      fits = wanted[axis] == kAny || wanted[axis] == shape[axis];
    }
    if (!fits) {
      raise<ShapeError>("input \"{}\" has shape {} (-1: any size), was given {}",
                        structure_.inputs[i].layer().name(), wanted, shape);
    }
    values[i] = {inputs[i], call.mask(i)};
  }
  for (const Step& step : steps_) {
    std::vector<Flow> arguments;
    arguments.reserve(step.inputs.size());
    for (const Place& input : step.inputs) arguments.push_back(values[input.index]);
    for (const std::size_t done : step.last_used) values[done] = {};
    std::vector<Flow> outputs = call_in_model(step.layer, std::move(arguments), call);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      values[step.first_output + i] = std::move(outputs[i]);
    }
  }
  std::vector<Flow> results;
  results.reserve(results_.size());
  for (const std::size_t result : results_) results.push_back(values[result]);
  return give(std::move(results), call);
}

// ---- SequentialModel

SequentialModel::SequentialModel(std::vector<Layer> layers, const ModelOptions& options,
                                 std::source_location site)
    : Container({.name = options.name}) {
  for (const Layer& layer : layers) add(layer, site);
}

std::vector<Layer> SequentialModel::chain() const {
  const std::lock_guard lock(mutex_);
  return chain_;
}

const Structure* SequentialModel::structure() const {
  const std::lock_guard lock(mutex_);
  return structure_.get();
}

void SequentialModel::begin(const Node& input) {
  structure_ = std::make_shared<Structure>();
  structure_->sequential = true;
  structure_->inputs = structure_->outputs = {input};
  structure_->calls = {LayerAccess::call(input)};
}

// The next layer's node, where the inputs are known.
void SequentialModel::extend(const Layer& layer, std::source_location site) {
  const Node node = layer(structure_->outputs.front(), site);
  structure_->calls.push_back(LayerAccess::call(node));
  structure_->outputs = {node};
}

void SequentialModel::add(const Layer& layer, std::source_location site) {
  if (contains(LayerAccess::base(layer), *this)) {
    throw ValueError(describe("add: {} is part of {}: a model cannot contain itself",
                              layer_text(*this), layer_text(LayerAccess::base(layer)))
                         .told({line_of("born", *LayerAccess::state(layer).label.get()),
                                tenure::detail::used_line(site, "add")},
                               "add another layer, or a model of its own."));
  }
  const std::lock_guard lock(mutex_);
  std::vector<Layer> all = chain_;
  all.push_back(layer);
  check_names(all, *this);
  if (chain_.empty() && structure_ == nullptr) {
    const LayerOptions& options = LayerAccess::base(layer).layer_options();
    Shape shape = options.batch_input_shape;
    if (shape.rank() == 0 && options.input_shape.rank() > 0) {
      shape.push_back(kAny);
      for (const std::int64_t size : options.input_shape) shape.push_back(size);
    }
    const auto* inner = dynamic_cast<const Container*>(&LayerAccess::base(layer));
    if (inner != nullptr && inner->structure() != nullptr) {
      shape = inner->structure()->inputs.front().shape();
    }
    if (shape.rank() > 0) {
      const DType dtype = layer.class_name() == "InputLayer" ? options.dtype : DType::float32;
      const Node input =
          layer.class_name() == "InputLayer"
              ? LayerAccess::node(
                    std::make_shared<const NodeCall>(NodeCall{layer, {}, {{shape, dtype}}, site}),
                    0)
              : input_node({shape, dtype}, layer.name() + "_input", site);
      begin(input);
      if (layer.class_name() == "InputLayer") {  // where the model begins, not one of its layers
        LayerAccess::state(*this).built = true;
        return;
      }
      try {
        extend(layer, site);
      } catch (...) {
        structure_.reset();
        throw;
      }
    }
  } else if (structure_ != nullptr) {
    extend(layer, site);
  }
  chain_.push_back(layer);
  LayerAccess::add_layer(*this, layer);
  if (structure_ != nullptr) LayerAccess::state(*this).built = true;
}

void SequentialModel::pop() {
  const std::lock_guard lock(mutex_);
  if (chain_.empty()) raise<ValueError>("{}: pop: there are no layers", layer_text(*this));
  const Layer last = chain_.back();
  chain_.pop_back();
  LayerState& state = LayerAccess::state(*this);
  std::erase(state.layers, last);
  LayerAccess::state(last).owners.fetch_sub(1);
  if (structure_ == nullptr) return;
  if (chain_.empty()) {  // the next layer says anew what the input is
    structure_.reset();
    state.built = false;
    return;
  }
  structure_->calls.pop_back();
  structure_->outputs = {LayerAccess::node(structure_->calls.back(), 0)};
}

void SequentialModel::build_all(const std::vector<Shape>& inputs) {
  const std::lock_guard lock(mutex_);
  if (structure_ != nullptr || chain_.empty()) return;
  if (inputs.size() != 1) {
    raise<ValueError>("{}: takes one input, was given {}", layer_text(*this), inputs.size());
  }
  const std::source_location site = LayerAccess::state(*this).label->site;
  begin(input_node({inputs.front(), DType::float32}, chain_.front().name() + "_input", site));
  try {
    for (const Layer& layer : chain_) extend(layer, site);
  } catch (...) {
    structure_.reset();
    throw;
  }
}

std::vector<Tensor> SequentialModel::call_all(const std::vector<Tensor>& inputs, const Call& call) {
  if (inputs.size() != 1) {
    raise<ValueError>("{}: takes one input, was given {}", layer_text(*this), inputs.size());
  }
  std::vector<Flow> flows{{inputs.front(), call.mask()}};
  for (const Layer& layer : chain()) {
    flows = call_in_model(layer, std::move(flows), call);
  }
  return give(std::move(flows), call);
}

const Structure* structure_of(const ModelBase& base) {
  const auto* container = dynamic_cast<const Container*>(&base);
  return container != nullptr ? container->structure() : nullptr;
}

}  // namespace tenure::nn::detail
