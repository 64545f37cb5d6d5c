// What a layer computes in: its own dtype, where it was given one; else what the model around it is
// compiled with; else that of its weights.
#pragma once

#include <optional>

#include "nn/layer_state.h"
#include "nn/widened.h"
#include "tensor/autocast.h"

namespace tenure::nn::detail {

// What the model that is being called on this thread, the innermost that was compiled with a
// precision, computes in.
std::optional<DType>& model_precision();

// One call of a layer: its inputs in the dtype it computes in, its weights read in that.
class Computing {
 public:
  explicit Computing(const LayerBase& base);
  bool casts_inputs() const { return inputs_.has_value(); }
  std::vector<Tensor> taken(const std::vector<Tensor>& inputs) const;
  std::vector<Tensor> given(std::vector<Tensor> outputs) const;

 private:
  tenure::detail::Meanwhile<std::optional<DType>> precision_;
  std::optional<DType>
      inputs_;  // that floating inputs are cast to; none: they are taken as they are
  std::optional<DType> outputs_;  // and floating outputs
  bool widens_ = false;           // outputs that are halves
  std::optional<tenure::detail::Autocast> weights_;
};

// While it lasts, no layer is being called: for what is made in the middle of a call.
class NoComputing {
 public:
  NoComputing() : precision_(model_precision(), std::nullopt), weights_({}) {}

 private:
  const tenure::detail::Meanwhile<std::optional<DType>> precision_;
  const tenure::detail::Autocast weights_;
};

// Within a call: what the layer computes in, whose weights are of this dtype.
inline DType computed_in(DType weights) { return tenure::detail::autocast().value_or(weights); }

// What becomes a probability is computed in float32 where precision is mixed, and stays so: near 0
// and 1 halves have too few values for a loss.
inline Tensor for_probabilities(Tensor x) {
  return tenure::detail::autocast() ? widened(std::move(x), "activation") : x;
}

}  // namespace tenure::nn::detail
