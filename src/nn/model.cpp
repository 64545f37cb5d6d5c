#include "tenure/nn/model.h"

#include "core/raise.h"
#include "memory/raise_recorded.h"
#include "memory/text.h"
#include "nn/containers.h"
#include "nn/eager_scope.h"

namespace tenure::nn {

using detail::LayerAccess;
using detail::ModelAccess;
using tenure::detail::site_text;

ModelBase::ModelBase(LayerOptions options)
    : LayerBase(std::move(options)), model_(std::make_unique<detail::ModelState>()) {}

ModelBase::~ModelBase() = default;

namespace detail {

void raise_busy(const char* what, const LayerBase& base, std::source_location since,
                std::source_location site) {
  tenure::detail::throw_recorded<BusyError>(
      describe("{}: {} is being trained by the fit started at {}", what, layer_text(base),
               site_text(since))
          .told({line_of("born", *LayerAccess::state(base).label.get()),
                 {"busy", site_text(since), "fit"},
                 tenure::detail::used_line(site, what)},
                "wait for the fit, or cancel it, first."),
      site);
}

}  // namespace detail

void ModelBase::before_dispose(std::source_location site) {
  std::shared_ptr<detail::Compiled> compiled;
  decltype(model_->predict) predict;  // these go without the lock
  {
    const std::lock_guard lock(model_->mutex);
    if (model_->training_since) {
      detail::raise_busy("dispose", *this, *model_->training_since, site);
    }
    compiled = std::move(model_->compiled);
  }
  try {
    if (compiled != nullptr) compiled->options.optimizer.dispose(site);
  } catch (...) {  // there was no memory: nothing has been disposed, and the model goes on
    const std::lock_guard lock(model_->mutex);
    model_->compiled = std::move(compiled);
    throw;
  }
  const std::lock_guard lock(model_->mutex);
  model_->predict.swap(predict);
}

namespace detail {

TrainingLock::TrainingLock(const Model& model, const char* what, std::source_location site) {
  check_alive(ModelAccess::base(model), site, what);
  ModelState& state = ModelAccess::state(model);
  const std::lock_guard lock(state.mutex);
  if (state.training_since) {
    raise_busy(what, ModelAccess::base(model), *state.training_since, site);
  }
  state.training_since = site;
  model_ = model;
}

void TrainingLock::release() {
  if (!model_) return;
  ModelState& state = ModelAccess::state(*model_);
  {
    const std::lock_guard lock(state.mutex);
    state.training_since.reset();
  }
  model_.reset();
}

}  // namespace detail

Model::Model(std::shared_ptr<ModelBase> base) : Layer(std::move(base)) {}

Model::Model(std::vector<Node> inputs, std::vector<Node> outputs, ModelOptions options,
             std::source_location site)
    : Layer(detail::make_base<detail::GraphModel>(site, std::move(inputs), std::move(outputs),
                                                  options)) {
  LayerAccess::state(*this).built = true;
}

Sequential::Sequential(std::vector<Layer> layers, ModelOptions options, std::source_location site)
    : Model(std::static_pointer_cast<ModelBase>(
          detail::make_base<detail::SequentialModel>(site, std::move(layers), options, site))) {}

void Sequential::add(const Layer& layer, std::source_location site) const {
  detail::check_alive(*base_, site, "add");
  static_cast<detail::SequentialModel&>(*base_).add(layer, site);
}

void Sequential::pop(std::source_location site) const {
  detail::check_alive(*base_, site, "pop");
  static_cast<detail::SequentialModel&>(*base_).pop();
}

namespace {

std::vector<Spec> specs_of(const std::vector<Node>& nodes) {
  std::vector<Spec> specs;
  specs.reserve(nodes.size());
  for (const Node& node : nodes) specs.push_back({node.shape(), node.dtype()});
  return specs;
}

}  // namespace

std::vector<Spec> Model::inputs() const {
  const detail::Structure* structure = detail::structure_of(ModelAccess::base(*this));
  return structure != nullptr ? specs_of(structure->inputs) : std::vector<Spec>();
}

std::vector<Spec> Model::outputs() const {
  const detail::Structure* structure = detail::structure_of(ModelAccess::base(*this));
  return structure != nullptr ? specs_of(structure->outputs) : std::vector<Spec>();
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
