// What steps of a model's own are made of.
#include "core/raise.h"
#include "memory/text.h"
#include "nn/no_tapes.h"
#include "nn/step_parts.h"

namespace tenure::nn {

namespace detail {

using tenure::detail::context;

namespace {
thread_local StepScope* t_step = nullptr;
}

StepScope::StepScope(ModelBase& model, Compiled& parts, StepKind what, std::source_location where)
    : base(model),
      compiled(parts),
      kind(what),
      site(where),
      call(context().call),
      trace_(context().trace),
      current_(t_step, this) {}

StepScope* StepScope::current() {
  return t_step != nullptr && t_step->trace_ == context().trace ? t_step : nullptr;
}

StepScope* StepScope::of(const ModelBase& model) {
  StepScope* step = current();
  return step != nullptr && &step->base == &model ? step : nullptr;
}

StepScope& StepScope::needed(const ModelBase& model, const char* what, std::source_location site) {
  if (StepScope* step = of(model)) return *step;
  throw ValueError(describe("{}: {} makes no step", what, layer_text(model))
                       .told({line_of("born", *LayerAccess::state(model).label.get()),
                              tenure::detail::used_line(site, what)},
                             "call it in the model's own train_step or test_step, which fit, "
                             "train_on_batch and evaluate run."));
}

}  // namespace detail

using detail::StepScope;
using tenure::detail::CallScope;
using StepCall = tenure::detail::Meanwhile<tenure::detail::UserCall>;

StepLogs ModelBase::train_step(const Batch& batch) {
  StepScope& step = StepScope::needed(*this, "train_step", {});
  const StepCall call(tenure::detail::context().call, step.call);
  return detail::built_in_training(step, batch);
}

StepLogs ModelBase::test_step(const Batch& batch) {
  StepScope& step = StepScope::needed(*this, "test_step", {});
  const StepCall call(tenure::detail::context().call, step.call);
  return detail::built_in_test(step, batch);
}

std::vector<Tensor> ModelBase::predict_step(const std::vector<Tensor>& x) {
  const std::source_location line = tenure::detail::context().call.site;
  return detail::call_layer(*this, x, {}, line.line() != 0 ? line : detail::called_at(x));
}

std::vector<Tensor> ModelBase::operator()(const std::vector<Tensor>& inputs, Call call,
                                          std::source_location site) {
  if (StepScope* step = StepScope::of(*this); step != nullptr && call.output_masks == nullptr) {
    step->masks.clear();
    call.output_masks = &step->masks;
  }
  return detail::call_layer(*this, inputs, call, site);
}

Tensor ModelBase::operator()(const Tensor& x, Call call, std::source_location site) {
  return detail::first_of(*this, (*this)(std::vector<Tensor>{x}, std::move(call), site));
}

Tensor ModelBase::compute_loss(const Batch& batch, const std::vector<Tensor>& y_pred,
                               std::source_location site) {
  StepScope& step = StepScope::needed(*this, "compute_loss", site);
  const CallScope call("compute_loss", site);
  detail::prepare_outputs(*this, step.compiled, detail::specs_of(y_pred));
  return detail::judge(step, batch, y_pred).total;
}

void ModelBase::compute_metrics(const Batch& batch, const std::vector<Tensor>& y_pred,
                                std::source_location site) {
  StepScope& step = StepScope::needed(*this, "compute_metrics", site);
  const CallScope call("compute_metrics", site);
  const detail::NoTapes no_tapes;
  detail::prepare_outputs(*this, step.compiled, detail::specs_of(y_pred));
  detail::update_metrics(step, batch, y_pred);
}

Optimizer ModelBase::optimizer(std::source_location site) const {
  return StepScope::needed(*this, "optimizer", site).compiled.options.optimizer;
}

std::vector<Variable> ModelBase::trainable_weights() { return detail::trainable_of(*this); }

}  // namespace tenure::nn
