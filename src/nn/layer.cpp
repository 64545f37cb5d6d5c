#include "tenure/nn/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <unordered_set>

#include "core/raise.h"
#include "graph/trace.h"
#include "memory/context.h"
#include "memory/fork.h"
#include "memory/text.h"
#include "memory/user_site.h"
#include "memory/warn.h"
#include "nn/eager_scope.h"
#include "nn/layer_state.h"
#include "nn/loading.h"
#include "ops/recorder.h"
#include "tensor/access.h"
#include "tensor/assign.h"
#include "tensor/rollback.h"
#include "tensor/variable_state.h"
#include "tenure/control.h"
#include "tenure/create.h"

namespace tenure::nn {

namespace detail {

using tenure::detail::CallScope;
using tenure::detail::context;
using tenure::detail::Label;
using tenure::detail::LabelRef;

std::string snake_case(const std::string& name) {
  static const std::regex word("(.)([A-Z][a-z]+)"), border("([a-z])([A-Z])");
  std::string text = std::regex_replace(name, word, "$1_$2");
  text = std::regex_replace(text, border, "$1_$2");
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

namespace {

// dense, dense_1, dense_2, ...
std::string next_name(const std::string& class_name) {
  static tenure::detail::ProcessMutex mutex;
  static std::map<std::string, int> used;
  const std::string stem = snake_case(class_name);
  const std::lock_guard lock(mutex);
  const int number = used[stem]++;
  return number == 0 ? stem : fmt::format("{}_{}", stem, number);
}

void tell_layer(Error& error, const LayerBase& base, const std::vector<Tensor>& inputs) {
  error.within(layer_text(base));
  if (std::ranges::find(error.lines(), "born", &ErrorLine::label) != error.lines().end()) return;
  tenure::detail::edit(error, [](tenure::detail::ErrorRecord& record) {
    std::erase_if(record.lines,
                  [](const ErrorLine& line) { return line.label.starts_with("input"); });
  });
  const LayerState& state = LayerAccess::state(base);
  error.add(line_of("born", *state.label.get()));
  constexpr std::size_t kMost = 4;
  if (!state.weights.empty() && state.weights.size() <= kMost) {
    std::string weights;
    for (const Weight& weight : state.weights) {
      weights += fmt::format("{}{} {}", weights.empty() ? "" : ", ", weight.variable.name(),
                             weight.variable.shape());
    }
    error.add({"weights", weights});
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const tenure::detail::Header* header = tenure::detail::Access::header(inputs[i]);
    if (header != nullptr) error.add(line_of(fmt::format("input {}", i), *header));
  }
}

// Runs `fn`, and says in its errors about shapes and dtypes which layer they are about: where it
// was made, its weights, and what it was given. What an operation in it told of its own inputs
// gives way to that; where a layer within it has told, this one only names itself.
template <class F>
auto naming(const LayerBase& base, const std::vector<Tensor>& inputs, F&& fn) {
  return telling<ShapeError, DtypeError>([&](Error& error) { tell_layer(error, base, inputs); },
                                         fn);
}

}  // namespace

void complete(LayerBase& base, std::source_location site) {
  LayerState& state = LayerAccess::state(base);
  const std::lock_guard lock(state.building);
  if (state.options.name.empty()) state.options.name = next_name(base.class_name());
  if (!state.label || state.label->text != state.options.name) {
    if (site.line() == 0) site = state.options.site;
    site = state.label ? state.label->site : tenure::detail::user_site(site);
    state.label = LabelRef::make(base.class_name(), state.options.name, site);
  }
}

std::string layer_text(const LayerBase& base) {
  return fmt::format("{} \"{}\"", base.class_name(), base.name());
}

Spec spec_of(const Tensor& tensor) {
  // Not through shape(): sizes that are free may not be told to the user, and build is.
  const Layout& layout = tenure::detail::checked(tensor, "layer").layout;
  return {layout.shape, layout.dtype};
}

void raise_layer_disposed(const LayerBase& base, std::source_location used, const char* op) {
  const LayerState& state = LayerAccess::state(base);
  const std::lock_guard lock(state.dying);
  Story story;
  story.name = base.name();
  story.birth.op = base.class_name();
  story.birth.site = state.label->site;
  if (state.death) {
    const Label* by = state.death->by.get();
    story.death = Death{by != nullptr ? Cause::owner_disposed : Cause::disposed, state.death->site,
                        by != nullptr ? fmt::format("{} disposed", label_text(*by)) : ""};
  }
  tenure::detail::raise_ended(
      op, layer_text(base), std::move(story), used,
      "use it before it is disposed, or make a new one: its weights are gone.");
}

void check_alive(const LayerBase& base, std::source_location used, const char* op) {
  if (LayerAccess::state(base).disposed.load(std::memory_order_acquire)) {
    raise_layer_disposed(base, used, op);
  }
}

void ensure_built(LayerBase& base, const std::vector<Spec>& inputs, std::source_location site,
                  const std::vector<Tensor>& given) {
  LayerState& state = LayerAccess::state(base);
  if (state.built.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(state.building);
  if (state.built.load(std::memory_order_relaxed)) return;
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (const Spec& input : inputs) shapes.push_back(input.shape);
  const std::size_t weights = state.weights.size(), slots = state.slots.size();
  const EagerScope eager;
  const CallScope scope("build", site);
  try {
    naming(base, given, [&] { base.build_all(shapes); });
  } catch (...) {
    state.weights.resize(weights);
    state.slots.resize(slots);
    throw;
  }
  state.built.store(true, std::memory_order_release);
}

namespace {

std::vector<Tensor> call_once(LayerBase& base, const std::vector<Tensor>& inputs,
                              const Call& call) {
  return naming(base, inputs, [&] { return base.call_all(inputs, call); });
}

void check_has_output(const LayerBase& base, std::size_t outputs) {
  if (outputs == 0) raise<ValueError>("{}: its call gave no output", layer_text(base));
}

// Keeps the inputs for the gradient, not what is computed from them.
std::vector<Tensor> call_recomputed(LayerBase& base, const std::vector<Tensor>& inputs,
                                    const Call& call, std::source_location site) {
  LayerState& state = LayerAccess::state(base);
  {
    const std::lock_guard lock(state.building);
    if (!state.recomputed) {
      LayerBase* layer = &base;  // the function is the layer's own
      state.recomputed = checkpoint(
          base.name(),
          [layer](std::vector<Tensor> given, std::vector<std::optional<Tensor>> given_masks) {
            std::vector<Tensor> losses, masks;
            for (const auto& mask : given_masks) masks.push_back(mask.value_or(Tensor()));
            std::vector<Tensor> made = call_once(
                *layer, given, {.training = true, .masks = std::move(masks), .losses = &losses});
            LayerAccess::state(*layer).recomputed_outputs = made.size();
            made.insert(made.end(), losses.begin(), losses.end());
            return made;
          },
          {}, site);
    }
  }
  std::vector<std::optional<Tensor>> masks;
  masks.reserve(call.masks.size());
  for (const Tensor& mask : call.masks) {
    masks.push_back(mask.defined() ? std::optional(mask) : std::nullopt);
  }
  std::vector<Tensor> made = (*state.recomputed)(inputs, masks, site);
  const std::size_t outputs = state.recomputed_outputs;
  for (std::size_t i = outputs; i < made.size(); ++i) call.add_loss(made[i]);
  made.resize(outputs);
  return made;
}

}  // namespace

Tensor first_of(const LayerBase& base, std::vector<Tensor> outputs) {
  check_has_output(base, outputs.size());
  return std::move(outputs.front());
}

std::vector<Tensor> call_layer(LayerBase& base, const std::vector<Tensor>& inputs, const Call& call,
                               std::source_location site) {
  check_alive(base, site);
  LayerState& state = LayerAccess::state(base);
  if (!state.built.load(std::memory_order_acquire)) {
    std::vector<Spec> specs;
    specs.reserve(inputs.size());
    for (const Tensor& input : inputs) specs.push_back(spec_of(input));
    ensure_built(base, specs, site, inputs);
  }
  const CallScope scope(base.class_name(), site);
  const bool kept = ops::tapes_of(context()) != nullptr || context().trace != nullptr;
  const bool recomputes = call.training && kept && state.recompute.load(std::memory_order_relaxed);
  // A call that fails in its last layer has changed no state of its first.
  tenure::detail::Rollback rollback;
  std::vector<Tensor> outputs =
      recomputes ? call_recomputed(base, inputs, call, site) : call_once(base, inputs, call);
  rollback.commit();
  return outputs;
}

namespace {

// An error tells of the sizes that were tried: it should tell of those that the user wrote, too.
std::vector<Tensor> call_stand_ins(LayerBase& base, const std::vector<Tensor>& arguments,
                                   const std::vector<Spec>& inputs) {
  const auto tell = [&](Error& error) {
    std::string shapes;
    bool varies = false;
    for (const Spec& input : inputs) {
      shapes += fmt::format("{}{}", shapes.empty() ? "" : ", ", input.shape);
      varies = varies || std::ranges::find(input.shape, kAny) != input.shape.end();
    }
    if (!varies) return;
    error.advise(
        fmt::format("its inputs are {}; another size was tried where one may vary (-1).", shapes));
  };
  return telling<ShapeError>(tell, [&] { return call_once(base, arguments, {}); });
}

}  // namespace

std::vector<Spec> output_specs(LayerBase& base, const std::vector<Spec>& inputs,
                               std::source_location site) {
  site = tenure::detail::user_site(site);
  check_alive(base, site);
  ensure_built(base, inputs, site);
  // Sizes that stand for those that may vary: one per axis, so that inputs agree with each other;
  // large enough for windows and strides.
  constexpr std::array<std::int64_t, 2> kBatch{2, 3}, kOther{240, 360};
  std::vector<Spec> found;
  bool varies = false;
  for (std::size_t probe = 0; probe < 2; ++probe) {
    const EagerScope eager;
    graph::Trace trace(LabelRef::make("layer", base.name(), site));
    const CallScope scope(base.class_name(), site);
    std::vector<Tensor> arguments;
    for (const Spec& input : inputs) {
      Shape shape = input.shape;
      for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] != kAny) continue;
        varies = true;
        shape[axis] = axis == 0 ? kBatch[probe] : kOther[probe] + std::int64_t{24} * axis;
      }
      arguments.push_back(trace.add_input(shape, input.dtype, site));
    }
    const std::vector<Tensor> outputs = call_stand_ins(base, arguments, inputs);
    check_has_output(base, outputs.size());
    if (probe == 0) {
      for (const Tensor& output : outputs) found.push_back(spec_of(output));
      if (!varies) break;
    } else {
      for (std::size_t i = 0; i < found.size(); ++i) {
        const Shape other = spec_of(outputs[i]).shape;
        for (int axis = 0; axis < other.rank(); ++axis) {
          if (other[axis] != found[i].shape[axis]) found[i].shape[axis] = kAny;
        }
      }
    }
  }
  return found;
}

namespace {

void collect_weights(LayerBase& base, bool trainable, std::unordered_set<const void*>& seen,
                     std::vector<FoundWeight>& found) {
  LayerState& state = LayerAccess::state(base);
  if (!seen.insert(&base).second) return;
  trainable = trainable && state.trainable.load(std::memory_order_relaxed);
  for (Weight& weight : state.weights) {
    found.push_back({&weight, &base, trainable && weight.trainable});
  }
  for (const Layer& layer : state.layers) {
    collect_weights(LayerAccess::base(layer), trainable, seen, found);
  }
}

void collect_states(LayerBase& base, std::unordered_set<const void*>& seen,
                    std::vector<Variable>& found) {
  if (!seen.insert(&base).second) return;
  for (const Variable& slot : LayerAccess::state(base).slots) found.push_back(slot);
  for (const Layer& layer : LayerAccess::state(base).layers) {
    collect_states(LayerAccess::base(layer), seen, found);
  }
}

}  // namespace

bool kill_variable(const Variable& variable, const LabelRef& by, std::source_location site) {
  tenure::detail::VariableState& state = *tenure::detail::Access::state(variable);
  const std::lock_guard lock(state.mutex);
  return kill(*state.value.get(), Cause::owner_disposed, site, by);
}

bool contains(const LayerBase& whole, const LayerBase& part) {
  if (&whole == &part) return true;
  return std::ranges::any_of(LayerAccess::state(whole).layers, [&](const Layer& layer) {
    return contains(LayerAccess::base(layer), part);
  });
}

std::vector<FoundWeight> all_weights(LayerBase& base) {
  std::unordered_set<const void*> seen;
  std::vector<FoundWeight> found;
  collect_weights(base, true, seen, found);
  return found;
}

std::vector<Variable> all_states(LayerBase& base) {
  std::unordered_set<const void*> seen;
  std::vector<Variable> found;
  collect_states(base, seen, found);
  return found;
}

void check_has_input(const LayerBase& base, std::size_t given) {
  if (given == 0) raise<ValueError>("{}: takes one input or more, was given 0", layer_text(base));
}

void raise_count(const char* op, const LayerBase& base, const char* what,
                 const std::vector<Variable>& variables, std::size_t given,
                 std::source_location site) {
  std::string names;
  for (const Variable& variable : variables) {
    names +=
        fmt::format("{}\"{}\" {}", names.empty() ? "" : ", ", variable.name(), variable.shape());
  }
  throw ValueError(describe("{}: {} has {} {}, was given {}", op, layer_text(base),
                            variables.size(), what, given)
                       .told({line_of("born", *LayerAccess::state(base).label.get()),
                              tenure::detail::used_line(site, op)},
                             variables.empty()
                                 ? fmt::format("it has no {} yet: build it, or call it once.", what)
                                 : fmt::format("it takes a value for each of: {}.", names)));
}

namespace {

void check_value(const char* op, const LayerBase& base, const Variable& variable,
                 const Tensor& given, std::size_t i, std::source_location site) {
  const tenure::detail::Header& value = tenure::detail::checked(given, op, static_cast<int>(i));
  const Layout& layout = value.layout;
  if (layout.shape == variable.shape() && layout.dtype == variable.dtype()) return;
  const std::vector<tenure::detail::Line> lines{
      line_of("born", *LayerAccess::state(base).label.get()),
      line_of("variable", *tenure::detail::Access::state(variable)->label.get()),
      line_of("value", value), tenure::detail::used_line(site, op)};
  if (layout.shape != variable.shape()) {
    throw ShapeError(
        describe("{}: \"{}\" of {} has shape {}, value {} has {}", op, variable.name(),
                 layer_text(base), variable.shape(), i, layout.shape)
            .told(
                lines,
                "nothing was changed. The values are in the order of the variables they are for."));
  }
  throw DtypeError(
      describe("{}: \"{}\" of {} is {}, value {} is {}", op, variable.name(), layer_text(base),
               variable.dtype(), i, layout.dtype)
          .told(lines, fmt::format("nothing was changed: cast(value, DType::{}) first.",
                                   variable.dtype())));
}

}  // namespace

void assign_values(const char* op, const LayerBase& base, const std::vector<Variable>& variables,
                   const std::vector<Tensor>& values, std::source_location site) {
  const tenure::detail::UserLine line(site, op);
  for (std::size_t i = 0; i < values.size(); ++i) {
    check_value(op, base, variables[i], values[i], i, site);
  }
  tenure::detail::assign_all(variables, values, site, op);
}

int free_layer(LayerBase& base, const LabelRef& by, std::source_location site) {
  LayerState& state = LayerAccess::state(base);
  base.before_dispose(site);
  {
    const std::lock_guard lock(state.dying);
    if (state.disposed.load(std::memory_order_relaxed)) return 0;
    state.death = LayerDeath{site, by};
    state.disposed.store(true, std::memory_order_release);
  }
  int freed = 0;
  for (const Weight& weight : state.weights) {
    if (kill_variable(weight.variable, state.label, site)) ++freed;
  }
  for (const Variable& slot : state.slots) kill_variable(slot, state.label, site);
  state.recomputed.reset();
  for (const Layer& layer : state.layers) {
    freed += release_layer(LayerAccess::base(layer), state.label, site).variables;
  }
  return freed;
}

Disposal release_layer(LayerBase& base, const LabelRef& by, std::source_location site) {
  const int left = LayerAccess::state(base).owners.fetch_sub(1) - 1;
  return {left, left == 0 ? free_layer(base, by, site) : 0};
}

}  // namespace detail

using detail::LayerAccess;

// ---- LayerBase

LayerBase::LayerBase(LayerOptions options) : state_(std::make_unique<detail::LayerState>()) {
  state_->trainable = options.trainable;
  state_->options = std::move(options);
}

LayerBase::~LayerBase() {
  if (state_->disposed) return;  // the layers in it were let go of then
  for (const Layer& layer : state_->layers) LayerAccess::state(layer).owners.fetch_sub(1);
}

namespace {
thread_local const LayerBase* t_forwarding = nullptr;  // whose default call asks its call_all
}

void LayerBase::build(const Shape&) {}

void LayerBase::build_all(const std::vector<Shape>& inputs) {
  build(inputs.empty() ? Shape{} : inputs.front());
}

Tensor LayerBase::call(const Tensor& x, const Call& how) {
  if (t_forwarding == this) {
    raise<UnsupportedError>("{}: overrides neither call nor call_all", detail::layer_text(*this));
  }
  const LayerBase* outer = std::exchange(t_forwarding, this);
  struct Restore {
    const LayerBase* outer;
    ~Restore() { t_forwarding = outer; }
  } const restore{outer};
  return detail::first_of(*this, call_all({x}, how));
}

std::vector<Tensor> LayerBase::call_all(const std::vector<Tensor>& inputs, const Call& how) {
  if (inputs.size() != 1) {
    raise<ValueError>("{}: takes one tensor, was given {}", detail::layer_text(*this),
                      inputs.size());
  }
  std::vector<Tensor> outputs;
  outputs.push_back(call(inputs.front(), how));
  return outputs;
}

Tensor LayerBase::compute_mask(const std::vector<Tensor>&, const std::vector<Tensor>& masks) {
  const bool masked = std::ranges::any_of(masks, [](const Tensor& mask) { return mask.defined(); });
  if (!masked) return {};
  if (passes_mask()) return masks.front();
  if (!state_->warned_of_mask.exchange(true)) {
    tenure::detail::warn(
        fmt::format("{} does not know what to do with a mask: what follows it sees none",
                    detail::layer_text(*this)));
  }
  return {};
}

void LayerBase::before_dispose(std::source_location) {}

std::string LayerBase::config() const { return "{}"; }

void LayerBase::reset_states(std::source_location site) {
  std::vector<Tensor> empty;
  for (const Variable& slot : state_->slots) {
    empty.push_back(zeros(slot.shape(), slot.dtype(), site));
  }
  tenure::detail::assign_all(state_->slots, empty, site, "reset_states");
}

void LayerBase::reset_states(const std::vector<Tensor>& values, std::source_location site) {
  std::vector<Variable> slots = state_->slots;
  if (values.size() != slots.size()) {
    detail::raise_count("reset_states", *this, "states", slots, values.size(), site);
  }
  detail::assign_values("reset_states", *this, slots, values, site);
}

const std::string& LayerBase::name() const { return state_->options.name; }
bool LayerBase::trainable() const { return state_->trainable; }
const LayerOptions& LayerBase::layer_options() const { return state_->options; }

Variable LayerBase::add_weight(std::string_view name, const Shape& shape, WeightOptions options) {
  detail::complete(*this);
  for (const std::int64_t size : shape) {
    if (size < 0) {
      raise<ShapeError>("weight \"{}\" would have shape {}: say the size of the input that varies",
                        name, shape);
    }
  }
  const std::string full_name = fmt::format("{}/{}", this->name(), name);
  if (state_->built && std::ranges::any_of(state_->weights, [&](const detail::Weight& weight) {
        return weight.variable.name() == full_name;
      })) {
    raise<ValueError>(
        "{}: add_weight made \"{}\" before: call runs many times, add weights in build, which runs "
        "once",
        detail::layer_text(*this), name);
  }
  const detail::EagerScope eager;
  detail::LoadScope* const loading = detail::LoadScope::current();
  if (loading != nullptr) loading->take_weight(name, shape, options.dtype);
  Variable variable(
      loading != nullptr ? zeros(shape, options.dtype) : options.initializer(shape, options.dtype),
      {.name = full_name, .trainable = options.trainable}, state_->label->site);
  state_->weights.push_back(
      {variable, std::move(options.regularizer), std::move(options.constraint), options.trainable});
  return variable;
}

Variable LayerBase::add_state(std::string_view name, const Shape& shape, DType dtype) {
  detail::complete(*this);
  const detail::EagerScope eager;
  if (detail::LoadScope* const loading = detail::LoadScope::current()) {
    loading->take_state(name, shape, dtype);
  }
  Variable slot(zeros(shape, dtype),
                {.name = fmt::format("{}/{}", this->name(), name),
                 .trainable = false,
                 .kind = Category::layer_state},
                state_->label->site);
  state_->slots.push_back(slot);
  return slot;
}

void LayerBase::add_layer(const Layer& layer) {
  for (const Layer& known : state_->layers) {
    if (known == layer) return;
  }
  LayerAccess::state(layer).owners.fetch_add(1);
  state_->layers.push_back(layer);
}

// ---- Layer

Layer::Layer(std::shared_ptr<LayerBase> base) : base_(std::move(base)) { detail::complete(*base_); }

Tensor Layer::operator()(Arg x, Call call) const {
  const std::source_location site = x.site();
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(x).tensor());
  return (*this)(std::move(inputs), std::move(call), site);
}

Tensor Layer::operator()(std::vector<Tensor> inputs, Call call, std::source_location site) const {
  const tenure::detail::UserLine line(site, base_->class_name());
  return detail::first_of(*base_, detail::call_layer(*base_, inputs, call, site));
}

std::vector<Tensor> Layer::apply(std::vector<Tensor> inputs, Call call,
                                 std::source_location site) const {
  const tenure::detail::UserLine line(site, base_->class_name());
  return detail::call_layer(*base_, inputs, call, site);
}

std::string Layer::name() const { return base_->name(); }
std::string Layer::class_name() const { return base_->class_name(); }
bool Layer::trainable() const { return base_->trainable(); }
void Layer::set_trainable(bool trainable) const { LayerAccess::state(*this).trainable = trainable; }
void Layer::set_recompute(bool recompute) const { LayerAccess::state(*this).recompute = recompute; }

void Layer::build(const Shape& input, std::source_location site) const {
  detail::check_alive(*base_, site);
  detail::ensure_built(*base_, {{input, DType::float32}}, site);
}
bool Layer::is_built() const { return LayerAccess::state(*this).built; }

std::vector<Variable> Layer::weights() const {
  std::vector<Variable> all = trainable_weights();
  for (Variable& variable : non_trainable_weights()) all.push_back(std::move(variable));
  return all;
}

std::vector<Variable> Layer::trainable_weights() const {
  std::vector<Variable> found;
  for (const detail::FoundWeight& each : detail::all_weights(*base_)) {
    if (each.trainable) found.push_back(each.weight->variable);
  }
  return found;
}

std::vector<Variable> Layer::non_trainable_weights() const {
  std::vector<Variable> found;
  for (const detail::FoundWeight& each : detail::all_weights(*base_)) {
    if (!each.trainable) found.push_back(each.weight->variable);
  }
  return found;
}

std::vector<Tensor> Layer::get_weights(std::source_location site) const {
  detail::check_alive(*base_, site, "get_weights");
  std::vector<Tensor> values;
  for (const Variable& variable : weights()) values.push_back(variable.read(site));
  return values;
}

void Layer::set_weights(const std::vector<Tensor>& values, std::source_location site) const {
  detail::check_alive(*base_, site, "set_weights");
  std::vector<Variable> variables = weights();
  if (values.size() != variables.size()) {
    detail::raise_count("set_weights", *base_, "weights", variables, values.size(), site);
  }
  detail::assign_values("set_weights", *base_, variables, values, site);
}

std::int64_t Layer::count_params() const {
  std::int64_t count = 0;
  for (const detail::FoundWeight& each : detail::all_weights(*base_)) {
    count += each.weight->variable.shape().numel();
  }
  return count;
}

std::vector<Layer> Layer::layers() const { return LayerAccess::state(*this).layers; }

void Layer::reset_states(std::source_location site) const {
  detail::check_alive(*base_, site, "reset_states");
  const detail::CallScope call("reset_states", site);
  tenure::detail::Rollback rollback;
  base_->reset_states(site);
  for (const Layer& layer : layers()) layer.reset_states(site);
  rollback.commit();
}

void Layer::reset_states(const std::vector<Tensor>& values, std::source_location site) const {
  detail::check_alive(*base_, site, "reset_states");
  const detail::CallScope call("reset_states", site);
  std::vector<Variable> slots = detail::all_states(*base_);
  const detail::LayerState& state = LayerAccess::state(*this);
  if (slots.size() == state.slots.size()) {
    base_->reset_states(values, site);
    return;
  }
  if (values.size() != slots.size()) {
    detail::raise_count("reset_states", *base_, "states", slots, values.size(), site);
  }
  detail::assign_values("reset_states", *base_, slots, values, site);
}

std::vector<Tensor> Layer::get_states(std::source_location site) const {
  detail::check_alive(*base_, site, "get_states");
  std::vector<Tensor> values;
  for (const Variable& slot : detail::all_states(*base_)) values.push_back(slot.read(site));
  return values;
}

Tensor Layer::compute_mask(const std::vector<Tensor>& inputs, const std::vector<Tensor>& masks,
                           std::source_location site) const {
  const detail::CallScope call("compute_mask", site);
  detail::check_has_input(*base_, inputs.size());
  return base_->compute_mask(inputs, masks);
}

Spec Layer::output_spec(const std::vector<Spec>& inputs) const {
  return detail::output_specs(*base_, inputs, LayerAccess::state(*this).label->site).front();
}

Disposal Layer::dispose(std::source_location site) const {
  detail::LayerState& state = LayerAccess::state(*this);
  const int owners = state.owners.load();
  if (owners > 0) return {owners, 0};
  return {0, detail::free_layer(*base_, {}, site)};
}

bool Layer::is_disposed() const { return LayerAccess::state(*this).disposed; }

WeakLayer Layer::weak() const {
  WeakLayer weak;
  weak.base_ = base_.pointer();
  return weak;
}

std::string Layer::config() const { return base_->config(); }

std::optional<Layer> WeakLayer::lock() const {
  std::shared_ptr<LayerBase> base = base_.lock();
  if (base == nullptr || LayerAccess::state(*base).disposed) return std::nullopt;
  return Layer(std::move(base));
}

bool WeakLayer::expired() const { return !lock(); }

}  // namespace tenure::nn
