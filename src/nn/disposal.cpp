#include "nn/disposal.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "memory/text.h"
#include "nn/layer_state.h"
#include "tensor/access.h"
#include "tensor/variable_state.h"

namespace tenure::nn {

namespace detail {

using tenure::detail::Label;
using tenure::detail::LabelRef;

int kill_variables(std::span<const Variable> variables, const LabelRef& owner,
                   std::source_location site) {
  return static_cast<int>(std::ranges::count_if(variables, [&](const Variable& variable) {
    tenure::detail::VariableState& state = *tenure::detail::Access::state(variable);
    const std::lock_guard lock(state.mutex);
    return kill(*state.value.get(), Cause::owner_disposed, site, owner);
  }));
}

void raise_disposed(const char* op, const std::string& thing, const Label& label, Death death,
                    std::source_location used, const char* lost) {
  Story story;
  story.name = label.text;
  story.birth.op = label.kind;
  story.birth.site = label.site;
  story.death = std::move(death);
  tenure::detail::raise_ended(
      op, thing, std::move(story), used,
      fmt::format("use it before it is disposed, or make a new one: {}.", lost));
}

void check_alive(const LayerBase& base, std::source_location used, const char* op) {
  const LayerState& state = LayerAccess::state(base);
  if (!state.disposed.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(state.dying);
  const Label* by = state.death->by.get();
  Death death{by != nullptr ? Cause::owner_disposed : Cause::disposed, state.death->site,
              by != nullptr ? fmt::format("{} disposed", label_text(*by)) : ""};
  raise_disposed(op, layer_text(base), *state.label.get(), std::move(death), used,
                 "its weights are gone");
}

namespace {

// Ends what the layer brought, and in the layers in it that nobody else owns. The caller knows that
// nobody owns this one.
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
    freed += kill_variables({&weight.variable, 1}, state.label, site);
  }
  kill_variables(state.slots, state.label, site);
  kill_variables(state.records, state.label, site);
  state.recomputed.reset();
  for (const Layer& layer : state.layers) {
    const bool last_owner = LayerAccess::state(layer).owners.fetch_sub(1) == 1;
    if (last_owner) freed += free_layer(LayerAccess::base(layer), state.label, site);
  }
  return freed;
}

}  // namespace
}  // namespace detail

using detail::LayerAccess;

LayerBase::~LayerBase() {
  if (state_->disposed) return;  // the layers in it were let go of then
  for (const Layer& layer : state_->layers) LayerAccess::state(layer).owners.fetch_sub(1);
}

void LayerBase::before_dispose(std::source_location) {}

Disposal Layer::dispose(std::source_location site) const {
  const int owners = LayerAccess::state(*this).owners.load();
  if (owners > 0) return {owners, 0};
  return {0, detail::free_layer(*base_, {}, site)};
}

bool Layer::is_disposed() const { return LayerAccess::state(*this).disposed; }

}  // namespace tenure::nn
