#include "tenure/nn/model.h"

#include <fmt/format.h>

#include "core/listed.h"
#include "core/raise.h"
#include "memory/raise_recorded.h"
#include "memory/text.h"
#include "nn/containers.h"
#include "nn/disposal.h"
#include "nn/eager_scope.h"
#include "nn/optimizer_state.h"

namespace tenure::nn {

using detail::LayerAccess;
using detail::ModelAccess;
using tenure::detail::site_text;

ModelBase::ModelBase(LayerOptions options)
    : LayerBase(std::move(options)), model_(std::make_unique<detail::ModelState>()) {}

ModelBase::~ModelBase() = default;

namespace detail {

namespace {

// Who is being trained, for those who ask by a layer or an optimizer.
struct InTraining {
  const ModelBase* model;
  const OptimizerBase* optimizer;  // null: it is not compiled
  ModelState::Training training;
};
struct AllInTraining {
  tenure::detail::Mutex mutex;
  std::vector<InTraining> list;
};
AllInTraining& all_in_training() {
  static auto* all = new AllInTraining;
  return *all;
}

void refuse(const char* what, const ModelBase& base, const ModelState::Training& training,
            std::source_location site) {
  if (tenure::detail::is_left_behind(training.by)) return;
  tenure::detail::throw_recorded<BusyError>(
      describe("{}: {} is being trained by the fit started at {}", what, layer_text(base),
               site_text(training.since))
          .told({line_of("born", *LayerAccess::state(base).label.get()),
                 {"busy", site_text(training.since), "fit"},
                 tenure::detail::used_line(site, what)},
                training.by == tenure::detail::this_thread()
                    ? "end the fit first, as by training.stop(...) in a callback."
                    : "wait for the fit, or cancel it, first."),
      site);
}

template <class F>
void refuse_where(const char* what, std::source_location site, F&& is_meant) {
  AllInTraining& all = all_in_training();
  const std::lock_guard lock(all.mutex);
  for (const InTraining& each : all.list) {
    if (is_meant(each)) refuse(what, *each.model, each.training, site);
  }
}

}  // namespace

void check_idle(const char* what, const ModelBase& base, std::source_location site) {
  const std::optional<ModelState::Training>& training = ModelAccess::state(base).training;
  if (training) refuse(what, base, *training, site);
}

void check_untrained(const char* what, const LayerBase& part, std::source_location site) {
  refuse_where(what, site, [&](const InTraining& each) { return contains(*each.model, part); });
}

void check_untrained(const char* what, const OptimizerBase& optimizer, std::source_location site) {
  refuse_where(what, site, [&](const InTraining& each) { return each.optimizer == &optimizer; });
}

void check_not_ending(const char* what, const ModelBase& base, std::source_location site) {
  const std::optional<std::source_location>& ending = ModelAccess::state(base).ending;
  if (!ending) return;
  raise_disposed(what, layer_text(base), *LayerAccess::state(base).label.get(),
                 Death{Cause::disposed, *ending, ""}, site, "its weights are gone");
}

}  // namespace detail

void ModelBase::before_dispose(std::source_location site) {
  std::shared_ptr<detail::Compiled> compiled;
  decltype(model_->predict) predict;  // these go without the lock
  {
    const std::lock_guard lock(model_->mutex);
    detail::check_idle("dispose", *this, site);
    if (model_->ending) return;
    model_->ending = site;
    compiled = std::move(model_->compiled);
  }
  try {
    if (compiled != nullptr) compiled->options.optimizer.dispose(site);
  } catch (...) {  // there was no memory: nothing has been disposed, and the model goes on
    const std::lock_guard lock(model_->mutex);
    model_->compiled = std::move(compiled);
    model_->ending.reset();
    throw;
  }
  const std::lock_guard lock(model_->mutex);
  model_->predict.swap(predict);
}

namespace detail {

TrainingLock::TrainingLock(const Model& model, const char* what, std::source_location site,
                           tenure::detail::Worker worker) {
  check_alive(ModelAccess::base(model), site, what);
  ModelState& state = ModelAccess::state(model);
  const std::lock_guard lock(state.mutex);
  const ModelBase& base = ModelAccess::base(model);
  check_not_ending(what, base, site);
  check_idle(what, base, site);
  const OptimizerBase* optimizer = state.compiled != nullptr
                                       ? &OptimizerAccess::base(state.compiled->options.optimizer)
                                       : nullptr;
  {
    AllInTraining& all = all_in_training();
    const std::lock_guard running(all.mutex);
    all.list.push_back({&base, optimizer, {site, worker}});
  }
  state.training = {site, worker};
  model_ = model;
}

void TrainingLock::release() {
  if (!model_) return;
  ModelState& state = ModelAccess::state(*model_);
  {
    AllInTraining& all = all_in_training();
    const std::lock_guard running(all.mutex);
    std::erase_if(all.list, [&](const InTraining& each) {
      return each.model == &ModelAccess::base(*model_);
    });
  }
  {
    const std::lock_guard lock(state.mutex);
    state.training.reset();
  }
  model_.reset();
}

}  // namespace detail

Model::Model(std::shared_ptr<ModelBase> base) : Layer(std::move(base)) {}

Model::Model(const Layer& layer, std::source_location site) : Layer(layer) {
  if (layer.as<ModelBase>() != nullptr) return;
  throw ValueError(
      describe("Model: {} is a layer, not a model", detail::layer_text(LayerAccess::base(layer)))
          .told({line_of("born", *LayerAccess::state(layer).label.get()),
                 tenure::detail::used_line(site, "Model")},
                "keep it as an nn::Layer, or put it into one: Sequential({layer})."));
}

Model::Model(std::vector<Node> inputs, std::vector<Node> outputs, ModelOptions options,
             std::source_location site)
    : Layer(detail::make_base<detail::GraphModel>(site, std::move(inputs), std::move(outputs),
                                                  options)) {
  LayerAccess::state(*this).built = true;
}

Sequential::Sequential(std::initializer_list<Layer> layers, ModelOptions options,
                       std::source_location site)
    : Sequential(std::vector<Layer>(layers), std::move(options), site) {}

Sequential::Sequential(std::vector<Layer> layers, ModelOptions options, std::source_location site)
    : Model(std::static_pointer_cast<ModelBase>(
          detail::make_base<detail::SequentialModel>(site, std::move(layers), options, site))) {}

void Sequential::add(const Layer& layer, std::source_location site) const {
  detail::check_alive(*base_, site, "add");
  detail::check_untrained("add", *base_, site);
  static_cast<detail::SequentialModel&>(*base_).add(layer, site);
}

void Sequential::pop(std::source_location site) const {
  detail::check_alive(*base_, site, "pop");
  detail::check_untrained("pop", *base_, site);
  static_cast<detail::SequentialModel&>(*base_).pop();
}

namespace detail {

namespace {

// That is given an input, or null.
const Layer* first_layer(const Structure& structure, const Node& input) {
  for (const auto& call : structure.calls) {
    for (const Node& given : call->inputs) {
      if (LayerAccess::call(given) == LayerAccess::call(input)) return &call->layer;
    }
  }
  return nullptr;
}

}  // namespace

void check_inputs(const ModelBase& base, const TensorVector& x) {
  const Structure* structure = structure_of(base);
  if (structure == nullptr || structure->inputs.size() != x.size()) return;
  for (std::size_t i = 0; i < x.size(); ++i) {
    try {
      check_input(structure->inputs[i], x[i], 1);  // layers with a state judge how many examples
    } catch (ShapeError& error) {
      error.within(layer_text(base));
      error.add(line_of("born", *LayerAccess::state(base).label.get()));
      if (const Layer* first = first_layer(*structure, structure->inputs[i])) {
        error.add(line_of("layer", *LayerAccess::state(*first).label.get()));
      }
      throw;
    }
  }
}

}  // namespace detail

namespace {

[[noreturn]] void raise_no_layer(const Model& model, const std::vector<Layer>& layers,
                                 const std::string& wanted, std::source_location site) {
  const std::string names = tenure::detail::listed(
      layers, [](const Layer& layer) { return fmt::format("\"{}\"", layer.name()); });
  throw ValueError(
      describe("get_layer: {} has no layer {}", detail::layer_text(ModelAccess::base(model)),
               wanted)
          .told({line_of("born", *LayerAccess::state(model).label.get()),
                 tenure::detail::used_line(site, "get_layer")},
                layers.empty() ? "it has none yet." : fmt::format("its layers are {}.", names)));
}

}  // namespace

Layer Model::get_layer(const std::string& name, std::source_location site) const {
  detail::check_alive(*base_, site, "get_layer");
  const std::vector<Layer> all = layers(site);
  for (const Layer& layer : all) {
    if (layer.name() == name) return layer;
  }
  raise_no_layer(*this, all, fmt::format("called \"{}\"", name), site);
}

Layer Model::get_layer(int index, std::source_location site) const {
  detail::check_alive(*base_, site, "get_layer");
  const std::vector<Layer> all = layers(site);
  const int count = static_cast<int>(all.size());
  if (index < -count || index >= count) {
    raise_no_layer(*this, all, fmt::format("number {}", index), site);
  }
  return all[static_cast<std::size_t>(index < 0 ? index + count : index)];
}

Optimizer Model::optimizer(std::source_location site) const {
  return detail::compiled_of(*this, "optimizer", site)->options.optimizer;
}

WeakModel Model::weak() const {
  WeakModel weak;
  weak.base_ = base_.pointer();
  return weak;
}

std::optional<Model> WeakModel::lock() const {
  std::shared_ptr<LayerBase> base = base_.lock();
  if (base == nullptr || LayerAccess::state(*base).disposed) return std::nullopt;
  return Model(std::static_pointer_cast<ModelBase>(std::move(base)));
}

bool WeakModel::expired() const { return !lock(); }

}  // namespace tenure::nn
