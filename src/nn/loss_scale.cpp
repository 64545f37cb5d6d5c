// A loss that is made larger for the sake of gradients in float16.
#include <fmt/format.h>

#include "core/raise.h"
#include "memory/context.h"
#include "nn/bounds.h"
#include "nn/eager_scope.h"
#include "nn/optimizer_state.h"
#include "nn/widened.h"
#include "tenure/create.h"
#include "tenure/math.h"
#include "tenure/reduce.h"

namespace tenure::nn {

namespace detail {

std::vector<Variable> LossScale::variables() const {
  if (!scale.defined()) return {};
  return {scale, good_steps};
}

void LossScale::build(const OptimizerState& state, std::source_location site) {
  const std::lock_guard lock(state.mutex);
  if (scale.defined()) return;
  const EagerScope eager;
  const tenure::detail::CallScope call("build", site);
  const Variable steps = scalar_state(zeros({}, DType::int64, site), state, "step_counter", site);
  scale = scalar_state(full({}, options.initial_scale, DType::float32, site), state,
                       "dynamic_scale", site);
  good_steps = steps;
}

Tensor LossScale::take_out(std::vector<Tensor>& gradients) const {
  const Tensor factor = 1.0 / scale.read();
  Tensor good;
  for (Tensor& gradient : gradients) {
    gradient = gradient * cast(factor, gradient.dtype());
    const Tensor finite = all(is_finite(gradient));
    good = good.defined() ? logical_and(good, finite) : finite;
  }
  return good;
}

void LossScale::adapt(const Tensor& good,
                      const std::function<void(const Variable&, Tensor)>& change) const {
  const Tensor now = scale.read(), steps = good_steps.read() + 1;
  const Tensor grows =
      logical_and(good, steps >= static_cast<double>(options.dynamic_growth_steps));
  change(scale, where(good, where(grows, now * 2.0, now), now * 0.5));
  change(good_steps, where(logical_and(good, logical_not(grows)), steps, zeros_like(steps)));
}

std::string LossScale::config(const OptimizerBase& inner) const {
  const std::string own = written([this](Fields& visit) {
    LossScaleOptimizerOptions o = options;
    TENURE_FIELDS(visit, o, name, initial_scale, dynamic_growth_steps);
  });
  return fmt::format(R"({},"inner_optimizer":{{"class_name":"{}","config":{}}}}})",
                     own.substr(0, own.size() - 1), inner.class_name(), inner.config());
}

}  // namespace detail

using detail::OptimizerAccess;

LossScaleOptimizer::LossScaleOptimizer(Optimizer inner, LossScaleOptimizerOptions options,
                                       std::source_location site)
    : Optimizer(std::move(inner)) {
  const tenure::detail::UserLine line(site);
  if (scale_ != nullptr) {
    raise<ValueError>("LossScaleOptimizer: the optimizer in it scales the loss already");
  }
  detail::check_above("LossScaleOptimizer", "initial_scale", options.initial_scale, 0);
  detail::check_at_least<std::int64_t>("LossScaleOptimizer", "dynamic_growth_steps",
                                       options.dynamic_growth_steps, 1);
  scale_ = std::make_shared<detail::LossScale>();
  scale_->options = std::move(options);
}

double LossScaleOptimizer::scale(std::source_location site) const {
  const std::lock_guard lock(OptimizerAccess::state(*base_).mutex);
  if (!scale_->scale.defined()) return scale_->options.initial_scale;
  const detail::EagerScope eager;
  return static_cast<double>(scale_->scale.read(site).item<float>());
}

Tensor Optimizer::scale_loss(Tensor loss, std::source_location site) const {
  if (scale_ == nullptr) return loss;
  const tenure::detail::CallScope call("scale_loss", site);
  scale_->build(OptimizerAccess::state(*base_), site);
  Tensor wide = detail::widened(std::move(loss), "scale_loss");
  const DType dtype = wide.dtype();
  return std::move(wide) * cast(scale_->scale.read(site), dtype);
}

}  // namespace tenure::nn
