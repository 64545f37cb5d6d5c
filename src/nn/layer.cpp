#include "tenure/nn/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "memory/fork.h"
#include "memory/user_site.h"
#include "nn/fields.h"
#include "nn/layer_state.h"
#include "nn/model_state.h"

namespace tenure::nn {

namespace detail {

using tenure::detail::LabelRef;

std::string next_name(const std::string& stem) {
  static tenure::detail::ProcessMutex mutex;
  static std::map<std::string, int> used;
  const std::lock_guard lock(mutex);
  const int number = used[stem]++;
  return number == 0 ? stem : fmt::format("{}_{}", stem, number);
}

void complete(LayerBase& base, std::source_location site) {
  LayerState& state = LayerAccess::state(base);
  const std::lock_guard lock(state.building);
  if (state.options.name.empty()) state.options.name = next_name(snake_case(base.class_name()));
  if (!state.label || state.label->text != state.options.name) {
    if (site.line() == 0) site = state.options.site;
    site = state.label ? state.label->site : tenure::detail::user_site(site);
    state.label = LabelRef::make(base.class_name(), state.options.name, site);
  }
}

std::string layer_text(const LayerBase& base) {
  return fmt::format("{} \"{}\"", base.class_name(), base.name());
}

bool contains(const LayerBase& whole, const LayerBase& part) {
  if (&whole == &part) return true;
  return std::ranges::any_of(LayerAccess::state(whole).layers, [&](const Layer& layer) {
    return contains(LayerAccess::base(layer), part);
  });
}

}  // namespace detail

using detail::LayerAccess;

LayerBase::LayerBase(LayerOptions options) : state_(std::make_unique<detail::LayerState>()) {
  state_->trainable = options.trainable;
  state_->options = std::move(options);
}

const std::string& LayerBase::name() const { return state_->options.name; }
bool LayerBase::trainable() const { return state_->trainable; }
const LayerOptions& LayerBase::layer_options() const { return state_->options; }

std::string LayerBase::config() const { return "{}"; }

void LayerBase::add_layer(const Layer& layer) {
  if (!state_->members.insert(&LayerAccess::base(layer)).second) return;
  LayerAccess::state(layer).owners.fetch_add(1);
  state_->layers.push_back(layer);
  if (!trainable()) layer.set_trainable(false);
}

Layer::Layer(std::shared_ptr<LayerBase> base) : base_(std::move(base)) { detail::complete(*base_); }

std::string Layer::name() const { return base_->name(); }
std::string Layer::class_name() const { return base_->class_name(); }
bool Layer::trainable() const { return base_->trainable(); }
void Layer::set_trainable(bool trainable, std::source_location site) const {
  detail::check_alive(*base_, site, "set_trainable");
  detail::check_untrained("set_trainable", *base_, site);
  LayerAccess::state(*this).trainable = trainable;
  for (const Layer& layer : layers(site)) layer.set_trainable(trainable, site);
}
void Layer::set_recompute(bool recompute, std::source_location site) const {
  detail::check_alive(*base_, site, "set_recompute");
  LayerAccess::state(*this).recompute = recompute;
}
bool Layer::is_built() const { return LayerAccess::state(*this).built; }
std::vector<Layer> Layer::layers(std::source_location site) const {
  detail::check_alive(*base_, site, "layers");
  return LayerAccess::state(*this).layers;
}
std::string Layer::config() const { return base_->config(); }

WeakLayer Layer::weak() const {
  WeakLayer weak;
  weak.base_ = base_.pointer();
  return weak;
}

std::optional<Layer> WeakLayer::lock() const {
  std::shared_ptr<LayerBase> base = base_.lock();
  if (base == nullptr || LayerAccess::state(*base).disposed) return std::nullopt;
  return Layer(std::move(base));
}

bool WeakLayer::expired() const { return !lock(); }

}  // namespace tenure::nn
