// The weights and states of a layer and of those in it: made, listed, read and set.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "core/listed.h"
#include "core/raise.h"
#include "memory/context.h"
#include "memory/text.h"
#include "nn/eager_scope.h"
#include "nn/layer_state.h"
#include "nn/loading.h"
#include "nn/turns.h"
#include "tensor/access.h"
#include "tensor/assign.h"
#include "tensor/rollback.h"
#include "tensor/variable_state.h"
#include "tenure/create.h"

namespace tenure::nn {

namespace detail {

using tenure::detail::listed;

namespace {

using Seen = std::unordered_set<const LayerBase*>;

// Visits a layer and those in it, each once. What is below one that is frozen is frozen, too.
template <class Visit>
void each_layer(LayerBase& base, bool trainable, Seen& seen, const Visit& visit) {
  if (!seen.insert(&base).second) return;
  LayerState& state = LayerAccess::state(base);
  trainable = trainable && state.trainable.load(std::memory_order_relaxed);
  visit(base, state, trainable);
  for (const Layer& layer : state.layers) {
    each_layer(LayerAccess::base(layer), trainable, seen, visit);
  }
}

}  // namespace

std::vector<LayerWeight> all_weights(LayerBase& base) {
  std::vector<LayerWeight> weights;
  Seen seen;
  each_layer(base, true, seen, [&](LayerBase& layer, LayerState& state, bool trainable) {
    for (Weight& weight : state.weights) {
      weights.push_back({&weight, &layer, trainable && weight.trainable});
    }
  });
  return weights;
}

std::int64_t count_weights(LayerBase& base) {
  std::int64_t count = 0;
  for (const LayerWeight& each : all_weights(base)) count += each.weight->variable.shape().numel();
  return count;
}

std::vector<Variable> all_states(LayerBase& base) {
  std::vector<Variable> slots;
  Seen seen;
  each_layer(base, true, seen, [&](LayerBase&, const LayerState& state, bool) {
    slots.insert(slots.end(), state.slots.begin(), state.slots.end());
  });
  return slots;
}

bool keeps_rows(LayerBase& base, std::int64_t batch) {
  return std::ranges::any_of(all_states(base), [&](const Variable& state) {
    return state.shape().rank() > 0 && (batch == kAny || state.shape()[0] == batch);
  });
}

std::uint64_t last_change(LayerBase& base) {
  std::uint64_t last = 0;
  Seen seen;
  each_layer(base, true, seen, [&](const LayerBase&, const LayerState& state, bool) {
    last = std::max(last, state.changed.load(std::memory_order_relaxed));
  });
  return last;
}

namespace {

[[noreturn]] void raise_count(const char* op, const LayerBase& base, const char* what,
                              const std::vector<Variable>& variables, std::size_t values,
                              std::source_location site) {
  const std::string names = listed(variables, [](const Variable& variable) {
    return fmt::format("\"{}\" {}", variable.name(), variable.shape());
  });
  throw ValueError(describe("{}: {} has {} {}, was given {}", op, layer_text(base),
                            variables.size(), what, values)
                       .told({line_of("born", *LayerAccess::state(base).label.get()),
                              tenure::detail::used_line(site, op)},
                             variables.empty()
                                 ? fmt::format("it has no {} yet: build it, or call it once.", what)
                                 : fmt::format("it takes a value for each of: {}.", names)));
}

void check_value(const char* op, const LayerBase& base, const Variable& variable,
                 const Tensor& value, std::size_t i, std::source_location site) {
  const tenure::detail::Header& header = tenure::detail::checked(value, op, static_cast<int>(i));
  const Layout& layout = header.layout;
  if (layout.shape == variable.shape() && layout.dtype == variable.dtype()) return;
  const std::vector<tenure::detail::Line> lines{
      line_of("born", *LayerAccess::state(base).label.get()),
      line_of("variable", *tenure::detail::Access::state(variable)->label.get()),
      line_of("value", header), tenure::detail::used_line(site, op)};
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

// Gives each variable its value, or, where a count, a shape or a dtype is not the variables', none.
void assign_values(const char* op, const LayerBase& base, const char* what,
                   const std::vector<Variable>& variables, const std::vector<Tensor>& values,
                   std::source_location site) {
  if (values.size() != variables.size()) {
    raise_count(op, base, what, variables, values.size(), site);
  }
  const tenure::detail::UserLine line(site, op);
  for (std::size_t i = 0; i < values.size(); ++i) {
    check_value(op, base, variables[i], values[i], i, site);
  }
  tenure::detail::assign_all(variables, values, site, op);
}

std::vector<Variable> weights_that_are(LayerBase& base, bool trainable) {
  std::vector<Variable> variables;
  for (const LayerWeight& each : all_weights(base)) {
    if (each.trainable == trainable) variables.push_back(each.weight->variable);
  }
  return variables;
}

}  // namespace

}  // namespace detail

using detail::LayerAccess;

void LayerBase::reset_states(std::source_location site) {
  std::vector<Tensor> empty;
  for (const Variable& slot : state_->slots) {
    empty.push_back(zeros(slot.shape(), slot.dtype(), site));
  }
  tenure::detail::assign_all(state_->slots, empty, site, "reset_states");
}

void LayerBase::reset_states(const std::vector<Tensor>& values, std::source_location site) {
  detail::assign_values("reset_states", *this, "states", state_->slots, values, site);
}

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
  tenure::detail::Access::state(variable)->autocast =
      options.autocast && is_floating(options.dtype);
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

Variable LayerAccess::add_record(LayerBase& owner, std::string_view name, const Shape& shape,
                                 DType dtype) {
  if (detail::LoadScope* const loading = detail::LoadScope::current()) {
    loading->take_state(name, shape, dtype);
  }
  LayerState& owned = state(owner);
  Variable record(zeros(shape, dtype),
                  {.name = fmt::format("{}/{}", owner.name(), name),
                   .trainable = false,
                   .kind = Category::layer_state},
                  owned.label->site);
  owned.records.push_back(record);
  return record;
}

std::vector<Variable> Layer::weights(std::source_location site) const {
  detail::check_alive(*base_, site, "weights");
  std::vector<Variable> all = trainable_weights(site);
  for (Variable& variable : non_trainable_weights(site)) all.push_back(std::move(variable));
  return all;
}

std::vector<Variable> Layer::trainable_weights(std::source_location site) const {
  detail::check_alive(*base_, site, "trainable_weights");
  return detail::weights_that_are(*base_, true);
}

std::vector<Variable> Layer::non_trainable_weights(std::source_location site) const {
  detail::check_alive(*base_, site, "non_trainable_weights");
  return detail::weights_that_are(*base_, false);
}

std::vector<Tensor> Layer::get_weights(std::source_location site) const {
  detail::check_alive(*base_, site, "get_weights");
  const detail::Turn turn(*base_);
  return tenure::detail::read_all(weights(site), site);
}

void Layer::set_weights(const std::vector<Tensor>& values, std::source_location site) const {
  detail::check_alive(*base_, site, "set_weights");
  const detail::Turn turn(*base_);
  detail::assign_values("set_weights", *base_, "weights", weights(site), values, site);
}

std::int64_t Layer::count_params(std::source_location site) const {
  detail::check_alive(*base_, site, "count_params");
  if (!is_built()) {
    throw ValueError(describe("count_params: {} has no weights yet", detail::layer_text(*base_))
                         .told({line_of("born", *LayerAccess::state(*this).label.get()),
                                tenure::detail::used_line(site, "count_params")},
                               "build it, call it once, or give its first layer an input_shape."));
  }
  return detail::count_weights(*base_);
}

void Layer::reset_states(std::source_location site) const {
  detail::check_alive(*base_, site, "reset_states");
  const tenure::detail::CallScope call("reset_states", site);
  tenure::detail::Rollback rollback;
  base_->reset_states(site);
  for (const Layer& layer : layers(site)) layer.reset_states(site);
  rollback.commit();
}

void Layer::reset_states(const std::vector<Tensor>& values, std::source_location site) const {
  detail::check_alive(*base_, site, "reset_states");
  const tenure::detail::CallScope call("reset_states", site);
  const std::vector<Variable> slots = detail::all_states(*base_);
  if (slots.size() == LayerAccess::state(*this).slots.size()) {
    base_->reset_states(values, site);
  } else {
    detail::assign_values("reset_states", *base_, "states", slots, values, site);
  }
}

std::vector<Tensor> Layer::get_states(std::source_location site) const {
  detail::check_alive(*base_, site, "get_states");
  const detail::Turn turn(*base_);
  return tenure::detail::read_all(detail::all_states(*base_), site);
}

}  // namespace tenure::nn
