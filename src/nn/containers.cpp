#include "nn/containers.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "core/listed.h"
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

[[noreturn]] void raise_same_name(const LayerBase& model, const std::string& name) {
  raise<ValueError>("{}: two layers are called \"{}\": give one another name", layer_text(model),
                    name);
}

// From an axis on; `missing`: without so many of the first.
bool fits(const Shape& shape, const Shape& declared, int from, int missing = 0) {
  if (shape.rank() + missing != declared.rank()) return false;
  for (int axis = from; axis < declared.rank(); ++axis) {
    if (declared[axis] != kAny && declared[axis] != shape[axis - missing]) return false;
  }
  return true;
}

}  // namespace

void check_input(const Node& declared, const Tensor& input, int from) {
  const Shape shape = spec_of(input).shape;
  if (fits(shape, declared.shape(), from)) return;
  const bool of_data = LayerAccess::call(declared)->of_data;
  const char* remedy = of_data ? "its sizes are those of the first data that it was given: give it "
                                 "such examples, or make a new model."
                               : "give it examples of that shape, or declare the model for these.";
  if (fits(shape, declared.shape(), 1, 1)) remedy = kOneExample;
  throw ShapeError(describe("input \"{}\" {} {} (-1: any size), was given {}",
                            declared.layer().name(), of_data ? "was built for" : "is declared",
                            declared.shape(), shape)
                       .told({}, remedy));
}

// ---- GraphModel

GraphModel::GraphModel(std::vector<Node> inputs, std::vector<Node> outputs,
                       const ModelOptions& options)
    : Container({.name = options.name, .trainable = options.trainable}) {
  complete(*this);  // what is refused is so under its name
  structure_.inputs = std::move(inputs);
  structure_.outputs = std::move(outputs);
  if (structure_.outputs.empty()) raise<ValueError>("Model: it has no outputs");
  std::unordered_set<const NodeCall*> calls;
  for (const Node& input : structure_.inputs) {
    if (!LayerAccess::call(input)->inputs.empty()) {
      raise<ValueError>("Model: an input of it is an output of {}: begin with Input",
                        layer_text(LayerAccess::base(input.layer())));
    }
    if (!calls.insert(LayerAccess::call(input).get()).second) {
      raise<ValueError>("Model: input \"{}\" is given twice: give each once", input.layer().name());
    }
    structure_.calls.push_back(LayerAccess::call(input));
  }
  add_calls();
  make_steps();
}

// Those that the outputs need, each after what it needs, in the order of its arguments. On a stack
// of our own: a chain of calls may be longer than the thread's is deep.
void GraphModel::add_calls() {
  struct Visit {
    std::shared_ptr<const NodeCall> call;
    std::size_t next = 0;  // of its inputs
  };
  std::vector<Visit> stack;
  std::unordered_set<const NodeCall*> seen;
  for (const auto& call : structure_.calls) seen.insert(call.get());
  const auto enter = [&](const Node& node) {
    const std::shared_ptr<const NodeCall>& call = LayerAccess::call(node);
    if (!seen.insert(call.get()).second) return;
    if (call->inputs.empty()) {
      raise<ValueError>(
          "Model: an output depends on the input \"{}\", which is none of the model's",
          call->layer.name());
    }
    stack.push_back({call});
  };
  for (const Node& output : structure_.outputs) {
    enter(output);
    while (!stack.empty()) {
      Visit& last = stack.back();
      if (last.next < last.call->inputs.size()) {
        enter(last.call->inputs[last.next++]);
        continue;
      }
      structure_.calls.push_back(std::move(last.call));
      stack.pop_back();
    }
  }
}

void GraphModel::make_steps() {
  std::unordered_map<const NodeCall*, std::size_t> first;  // of a call's outputs among all values
  std::unordered_map<std::string, const LayerBase*> names;
  for (const auto& call : structure_.calls) {
    const LayerBase* layer = &LayerAccess::base(call->layer);
    if (names.try_emplace(layer->name(), layer).first->second != layer) {
      raise_same_name(*this, layer->name());
    }
    first[call.get()] = values_;
    values_ += call->outputs.size();
  }
  for (const auto& call : structure_.calls) LayerAccess::add_layer(*this, call->layer);
  const auto place = [&](const Node& node) {
    return first.at(LayerAccess::call(node).get()) + LayerAccess::output(node);
  };
  for (const Node& output : structure_.outputs) results_.push_back(place(output));
  std::map<std::size_t, std::size_t> last;  // step that reads a value last
  for (const auto& call : structure_.calls) {
    if (call->inputs.empty()) continue;
    Step step{call->layer, {}, first.at(call.get()), call->outputs.size(), {}, call->training};
    for (const Node& input : call->inputs) {
      step.inputs.push_back({place(input)});
      last[place(input)] = steps_.size();
    }
    steps_.push_back(std::move(step));
  }
  for (const std::size_t result : results_) last.erase(result);
  for (const auto& [value, step] : last) steps_[step].last_used.push_back(value);
}

void GraphModel::build_all(const std::vector<Shape>&) {}  // the layers were, with their nodes

std::vector<Tensor> GraphModel::call_all(const std::vector<Tensor>& inputs, const Call& call) {
  if (inputs.size() != structure_.inputs.size()) {
    const std::string names = tenure::detail::listed(structure_.inputs, [](const Node& input) {
      return fmt::format("\"{}\" {}", input.layer().name(), input.shape());
    });
    throw ValueError(describe("{}: takes {} input{}, was given {}", layer_text(*this),
                              structure_.inputs.size(), structure_.inputs.size() == 1 ? "" : "s",
                              inputs.size())
                         .told({line_of("born", *LayerAccess::state(*this).label.get())},
                               fmt::format("give a tensor for each of: {}.", names)));
  }
  std::vector<Flow> values(values_);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_input(structure_.inputs[i], inputs[i], 0);
    values[i] = {floating_as(inputs[i], structure_.inputs[i].dtype()), call.mask(i)};
  }
  for (const Step& step : steps_) {
    std::vector<Flow> arguments;
    arguments.reserve(step.inputs.size());
    for (const Place& input : step.inputs) arguments.push_back(values[input.index]);
    for (const std::size_t done : step.last_used) values[done] = {};
    const Call how{.training = step.training.value_or(call.training), .losses = call.losses};
    std::vector<Flow> outputs = call_in_model(step.layer, std::move(arguments), how);
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

namespace {
std::atomic<std::uint64_t> g_changes{0};
}

std::uint64_t changes_of_layers() { return g_changes.load(std::memory_order_acquire); }

void SequentialModel::note_change() {
  LayerAccess::state(*this).changed = g_changes.fetch_add(1, std::memory_order_acq_rel) + 1;
}

SequentialModel::SequentialModel(std::vector<Layer> layers, const ModelOptions& options,
                                 std::source_location site)
    : Container({.name = options.name, .trainable = options.trainable}) {
  complete(*this);
  for (const Layer& layer : layers) add(layer, site);
}

std::vector<Layer> SequentialModel::chain() const {
  const std::lock_guard lock(mutex_);
  return chain_;
}

std::optional<Node> SequentialModel::declared_input() const {
  const std::lock_guard lock(mutex_);
  if (!is_declared_) return std::nullopt;
  return structure_->inputs.front();
}

const Structure* SequentialModel::structure() const {
  const std::lock_guard lock(mutex_);
  return structure_.get();
}

void SequentialModel::begin(const Node& input) {
  auto structure = std::make_shared<Structure>();  // nobody sees a part of it
  structure->sequential = true;
  structure->inputs = structure->outputs = {input};
  structure->calls = {LayerAccess::call(input)};
  structure_ = std::move(structure);
}

// The next layer's node, where the inputs are known.
void SequentialModel::extend(const Layer& layer, std::source_location site) {
  std::vector<Node> outputs{layer(structure_->outputs.front(), {}, site)};
  structure_->calls.push_back(LayerAccess::call(outputs.front()));
  structure_->outputs = std::move(outputs);
}

// The inputs, where the first layer says what they are.
void SequentialModel::begin_with(const Layer& first, std::source_location site) {
  const LayerOptions& options = LayerAccess::base(first).layer_options();
  if (first.class_name() == "InputLayer") {
    begin(input_node(first, {options.batch_input_shape, options.dtype.weight_dtype()}, site));
    LayerAccess::state(*this).built = true;
    is_declared_ = true;
    return;
  }
  Shape shape = options.batch_input_shape;
  if (shape.rank() == 0 && options.input_shape.rank() > 0) {
    shape.push_back(kAny);
    for (const std::int64_t size : options.input_shape) shape.push_back(size);
  }
  const Structure* inner = structure_of(LayerAccess::base(first));
  DType dtype = DType::float32;
  if (inner != nullptr) {
    shape = inner->inputs.front().shape();
    dtype = inner->inputs.front().dtype();
  }
  if (shape.rank() == 0) return;
  begin(input_node({shape, dtype}, first.name() + "_input", site));
  try {
    extend(first, site);
  } catch (...) {
    structure_.reset();
    throw;
  }
  is_declared_ = true;
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
  if (LayerAccess::state(*this).members.contains(&LayerAccess::base(layer))) {
    throw ValueError(describe("add: {} is in {} already", layer_text(LayerAccess::base(layer)),
                              layer_text(*this))
                         .told({line_of("born", *LayerAccess::state(layer).label.get()),
                                tenure::detail::used_line(site, "add")},
                               "a Sequential has each layer once: to share one, make a "
                               "Model({inputs}, {outputs}) and call the layer in both places."));
  }
  if (names_.contains(layer.name())) raise_same_name(*this, layer.name());
  const bool is_input = layer.class_name() == "InputLayer";
  if (is_input && (structure_ != nullptr || !chain_.empty())) {
    raise<ValueError>("add: {} has an input, or layers, already: an Input comes first",
                      layer_text(*this));
  }
  if (structure_ != nullptr) {
    extend(layer, site);
  } else if (chain_.empty()) {
    begin_with(layer, site);
    if (is_input) return;  // where the model begins, not one of its layers
  }
  chain_.push_back(layer);
  names_.insert(layer.name());
  LayerAccess::add_layer(*this, layer);
  if (structure_ != nullptr) LayerAccess::state(*this).built = true;
  note_change();
}

void SequentialModel::pop() {
  const std::lock_guard lock(mutex_);
  if (chain_.empty()) raise<ValueError>("{}: pop: there are no layers", layer_text(*this));
  const Layer last = chain_.back();
  chain_.pop_back();
  names_.erase(last.name());
  LayerState& state = LayerAccess::state(*this);
  std::erase(state.layers, last);
  state.members.erase(&LayerAccess::base(last));
  LayerAccess::state(last).owners.fetch_sub(1);
  note_change();
  if (structure_ == nullptr) return;
  if (chain_.empty()) {  // the next layer says anew what the input is
    structure_.reset();
    is_declared_ = false;
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
  const auto build_for = [&](const Shape& shape) {
    const Spec spec{shape, DType::float32};
    build_along(input_node(spec, chain_.front().name() + "_input", site, true), site);
  };
  build_for(inputs.front());
  // The layers may have needed the number of examples; where no state is kept for each, the model
  // takes any.
  Shape any = inputs.front();
  if (any.rank() == 0 || any[0] == kAny || keeps_rows(*this, any[0])) return;
  any[0] = kAny;
  const std::shared_ptr<Structure> exact = structure_;
  try {
    build_for(any);
  } catch (const Error&) {  // a layer of the user's takes that number only
    structure_ = exact;
  }
}

void SequentialModel::build_along(const Node& input, std::source_location site) {
  begin(input);
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
  if (const std::optional<Node> declared = declared_input()) {
    check_input(*declared, inputs.front(), 1);  // of any number of examples, as in Keras
  }
  std::vector<Flow> flows{{inputs.front(), call.mask()}};
  for (const Layer& layer : chain()) {
    flows = call_in_model(layer, std::move(flows), call);
  }
  return give(std::move(flows), call);
}

const Structure* structure_of(const LayerBase& base) {
  const auto* container = dynamic_cast<const Container*>(&base);
  return container != nullptr ? container->structure() : nullptr;
}

}  // namespace tenure::nn::detail
