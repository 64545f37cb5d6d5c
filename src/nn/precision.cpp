#include "nn/precision.h"

#include <algorithm>

namespace tenure::nn::detail {

std::optional<DType>& model_precision() {
  thread_local std::optional<DType> dtype;
  return dtype;
}

namespace {

// Where nothing was said, weights that are all of one dtype say it: a layer of the user's own may
// give it to them only.
DType weight_dtype(const LayerState& state) {
  if (state.options.dtype.given() || state.weights.empty()) return state.options.dtype;
  const DType dtype = state.weights.front().variable.dtype();
  const bool one = std::ranges::all_of(
      state.weights, [dtype](const Weight& each) { return each.variable.dtype() == dtype; });
  return one && is_floating(dtype) ? dtype : state.options.dtype.weight_dtype();
}

}  // namespace

Computing::Computing(const LayerBase& base) : precision_(model_precision()) {
  const LayerState& state = LayerAccess::state(base);
  if (const auto own = state.precision.load(std::memory_order_relaxed)) {
    model_precision() = own;
    widens_ = true;
  }
  const DTypePolicy& policy = state.options.dtype;
  const DType weights = weight_dtype(state);
  DType compute = policy.given() ? policy.compute_dtype() : weights;
  if (!policy.given() && weights == DType::float32) compute = model_precision().value_or(compute);
  if (!base.casts_inputs() || !is_floating(compute)) {
    if (compute != weights && !state.weights.empty()) outputs_ = compute;
    weights_.emplace(std::nullopt);
    return;
  }
  inputs_ = compute;
  if (compute == weights) {
    weights_.emplace(std::nullopt);
  } else if (base.keeps_precision()) {
    inputs_ = weights;
    outputs_ = compute;
    weights_.emplace(std::nullopt);
  } else {
    weights_.emplace(compute);
  }
}

std::vector<Tensor> Computing::taken(const std::vector<Tensor>& inputs) const {
  std::vector<Tensor> cast_inputs;
  cast_inputs.reserve(inputs.size());
  for (const Tensor& input : inputs) cast_inputs.push_back(floating_as(input, *inputs_));
  return cast_inputs;
}

std::vector<Tensor> Computing::given(std::vector<Tensor> outputs) const {
  for (Tensor& output : outputs) {
    if (outputs_) output = floating_as(output, *outputs_);
    if (widens_) output = widened(std::move(output), "output");
  }
  return outputs;
}

}  // namespace tenure::nn::detail
