// How a layer is built and called, and what errors say of the layer they are about.
#include <fmt/format.h>

#include <algorithm>

#include "core/listed.h"
#include "core/raise.h"
#include "graph/trace.h"
#include "memory/context.h"
#include "memory/text.h"
#include "memory/user_site.h"
#include "memory/warn.h"
#include "nn/declared_sizes.h"
#include "nn/eager_scope.h"
#include "nn/precision.h"
#include "nn/step_scope.h"
#include "ops/recorder.h"
#include "tensor/access.h"
#include "tensor/rollback.h"
#include "tenure/control.h"
#include "tenure/math.h"

namespace tenure::nn {

namespace detail {

using tenure::detail::CallScope;
using tenure::detail::context;
using tenure::detail::LabelRef;
using tenure::detail::listed;

namespace {

// Whatever the number of examples.
bool is_built_for(const LayerState& state, const std::vector<Tensor>& inputs) {
  return std::ranges::equal(state.built_for, inputs, [](const Shape& shape, const Tensor& input) {
    const Shape given = spec_of(input).shape;
    bool same = given.rank() == shape.rank();
    for (int axis = 1; same && axis < shape.rank(); ++axis) {
      same = shape[axis] == kAny || shape[axis] == given[axis];
    }
    return same;
  });
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
    error.add({"weights", listed(state.weights, [](const Weight& weight) {
                 return fmt::format("{} {}", weight.variable.name(), weight.variable.shape());
               })});
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const tenure::detail::Header* header = tenure::detail::Access::header(inputs[i]);
    if (header != nullptr) error.add(line_of(fmt::format("input {}", i), *header));
  }
  const bool of_weights = std::ranges::any_of(state.weights, [&](const Weight& weight) {
    return std::ranges::find(error.shapes(), weight.variable.shape()) != error.shapes().end();
  });
  if (state.built && of_weights && error.remedy().empty() && !is_built_for(state, inputs)) {
    error.advise(
        "its weights are for the inputs that it was built with: give it such, or make a new one.");
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

Tensor floating_as(const Tensor& x, DType dtype) {
  const DType own = spec_of(x).dtype;
  return own != dtype && is_floating(own) && is_floating(dtype) ? cast(x, dtype) : x;
}

Spec spec_of(const Tensor& tensor) {
  // Not through shape(): sizes that are free may not be told to the user, and build is.
  const Layout& layout = tenure::detail::checked(tensor, "layer").layout;
  return {layout.shape, layout.dtype};
}

void ensure_built(LayerBase& base, const std::vector<Spec>& specs, std::source_location site,
                  const std::vector<Tensor>& inputs) {
  LayerState& state = LayerAccess::state(base);
  if (state.built.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(state.building);
  if (state.built.load(std::memory_order_relaxed)) return;
  std::vector<Shape> shapes;
  shapes.reserve(specs.size());
  for (const Spec& spec : specs) shapes.push_back(spec.shape);
  const std::size_t weights = state.weights.size(), slots = state.slots.size(),
                    records = state.records.size();
  const EagerScope eager;
  const NoComputing no_computing;
  const CallScope scope("build", site);
  try {
    naming(base, inputs, [&] { base.build_all(shapes); });
  } catch (...) {
    state.weights.resize(weights);
    state.slots.resize(slots);
    state.records.resize(records);
    throw;
  }
  state.built_for = std::move(shapes);
  state.built.store(true, std::memory_order_release);
}

namespace {

std::vector<Tensor> call_once(LayerBase& base, const std::vector<Tensor>& inputs,
                              const Call& call) {
  return naming(base, inputs, [&] {
    const Computing computing(base);
    if (!computing.casts_inputs()) return computing.given(base.call_all(inputs, call));
    return computing.given(base.call_all(computing.taken(inputs), call));
  });
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
          [layer](std::vector<Tensor> arguments, std::vector<std::optional<Tensor>> their_masks,
                  int) {
            std::vector<Tensor> losses, masks;
            for (const auto& mask : their_masks) masks.push_back(mask.value_or(Tensor()));
            std::vector<Tensor> outputs =
                call_once(*layer, arguments,
                          {.training = true, .masks = std::move(masks), .losses = &losses});
            LayerAccess::state(*layer).recomputed_outputs = outputs.size();
            outputs.insert(outputs.end(), losses.begin(), losses.end());
            return outputs;
          },
          {}, site);
    }
  }
  std::vector<std::optional<Tensor>> masks;
  masks.reserve(call.masks.size());
  for (const Tensor& mask : call.masks) {
    masks.push_back(mask.defined() ? std::optional(mask) : std::nullopt);
  }
  std::vector<Tensor> outputs = (*state.recomputed)(
      inputs, masks, static_cast<int>(model_precision().value_or(DType::float32)), site);
  const std::size_t count = state.recomputed_outputs;  // losses come after them
  for (std::size_t i = count; i < outputs.size(); ++i) call.add_loss(outputs[i]);
  outputs.resize(count);
  return outputs;
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
  Call collecting;  // in a step: what nobody else takes, the loss does
  StepScope* const step = call.losses == nullptr ? StepScope::current() : nullptr;
  if (step != nullptr) {
    collecting = call;
    collecting.losses = &step->added;
  }
  const Call& how = step != nullptr ? collecting : call;
  // A call that fails in its last layer has changed no state of its first.
  tenure::detail::Rollback rollback;
  std::vector<Tensor> outputs =
      recomputes ? call_recomputed(base, inputs, how, site) : call_once(base, inputs, how);
  rollback.commit();
  return outputs;
}

namespace {

bool varies(const Spec& spec) { return std::ranges::find(spec.shape, kAny) != spec.shape.end(); }

// Sizes that stand for those that may vary: one per axis, so that inputs agree with each other;
// large enough for windows and strides.
Shape sizes_tried(Shape shape, int attempt) {
  constexpr std::array<std::int64_t, 2> kBatch{2, 3}, kOther{240, 360};
  const auto which = static_cast<std::size_t>(attempt);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != kAny) continue;
    shape[axis] = axis == 0 ? kBatch[which] : kOther[which] + std::int64_t{24} * axis;
  }
  return shape;
}

// What a layer gives at such sizes.
Specs specs_tried(LayerBase& base, const Specs& inputs, int attempt, std::source_location site) {
  const EagerScope eager;
  const NoComputing no_computing;
  graph::Trace trace(LabelRef::make("layer", base.name(), site));
  const CallScope scope(base.class_name(), site);
  const auto symbol = [&](const Spec& spec) {
    return trace.add_input(sizes_tried(spec.shape, attempt), spec.dtype, site);
  };
  std::vector<Tensor> arguments, masks;
  for (const Spec& input : inputs.values) arguments.push_back(symbol(input));
  Call call{.output_masks = &masks};
  for (const auto& mask : inputs.masks) call.masks.push_back(mask ? symbol(*mask) : Tensor());
  const std::vector<Tensor> outputs = call_once(base, arguments, call);
  check_has_output(base, outputs.size());
  if (masks.empty()) {
    masks.push_back(
        naming(base, arguments, [&] { return base.compute_mask(arguments, call.masks); }));
  }
  Specs specs;
  for (const Tensor& output : outputs) specs.values.push_back(spec_of(output));
  for (const Tensor& mask : masks) {
    specs.masks.push_back(mask.defined() ? std::optional(spec_of(mask)) : std::nullopt);
  }
  return specs;
}

// An error of one try tells of the sizes that were declared, where the other fails likewise; where
// it does not, of what was done.
void tell_of_tries(Error& error, LayerBase& base, const Specs& inputs, int other,
                   std::source_location site) {
  bool declared = false;
  try {
    specs_tried(base, inputs, other, site);
  } catch (const Error& second) {
    declared = tell_declared_sizes(error, second);
  }
  if (dynamic_cast<const ShapeError*>(&error) == nullptr) return;
  if (declared) {
    error.advise("-1 is a size that may vary.");
    return;
  }
  error.advise(fmt::format(
      "its inputs are {}; another size was tried where one may vary (-1).",
      listed(inputs.values, [](const Spec& input) { return tenure::to_string(input.shape); })));
}

// What differs between two tries may vary.
void mark_varying(Spec& spec, const Spec& other) {
  for (int axis = 0; axis < other.shape.rank(); ++axis) {
    if (other.shape[axis] != spec.shape[axis]) spec.shape[axis] = kAny;
  }
}

}  // namespace

Specs outputs_for(LayerBase& base, const Specs& inputs, std::source_location site) {
  site = tenure::detail::user_site(site);
  check_alive(base, site);
  ensure_built(base, inputs.values, site);
  if (std::ranges::none_of(inputs.values, varies)) return specs_tried(base, inputs, 0, site);
  std::array<Specs, 2> tries;
  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto tell = [&](Error& error) { tell_of_tries(error, base, inputs, 1 - attempt, site); };
    tries[static_cast<std::size_t>(attempt)] =
        telling<Error>(tell, [&] { return specs_tried(base, inputs, attempt, site); });
  }
  Specs& specs = tries[0];
  for (std::size_t i = 0; i < specs.values.size(); ++i) {
    mark_varying(specs.values[i], tries[1].values[i]);
  }
  for (std::size_t i = 0; i < specs.masks.size(); ++i) {
    const bool both = i < tries[1].masks.size() && specs.masks[i] && tries[1].masks[i];
    if (both) mark_varying(*specs.masks[i], *tries[1].masks[i]);
  }
  return std::move(specs);
}

std::vector<Spec> output_specs(LayerBase& base, const std::vector<Spec>& inputs,
                               std::source_location site) {
  return outputs_for(base, {inputs}, site).values;
}

void check_has_input(const LayerBase& base, std::size_t inputs) {
  if (inputs == 0) raise<ValueError>("{}: takes one input or more, was given 0", layer_text(base));
}

}  // namespace detail

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
  const tenure::detail::Meanwhile forwarding(t_forwarding, this);
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

void Layer::build(const Shape& input, std::source_location site) const {
  detail::check_alive(*base_, site, "build");
  detail::ensure_built(*base_, {{input, DType::float32}}, site);
}

Tensor Layer::compute_mask(const std::vector<Tensor>& inputs, const std::vector<Tensor>& masks,
                           std::source_location site) const {
  detail::check_alive(*base_, site, "compute_mask");
  const detail::CallScope call("compute_mask", site);
  detail::check_has_input(*base_, inputs.size());
  return base_->compute_mask(inputs, masks);
}

Spec Layer::output_spec(const std::vector<Spec>& inputs) const {
  return detail::output_specs(*base_, inputs, detail::LayerAccess::state(*this).label->site)
      .front();
}

}  // namespace tenure::nn
