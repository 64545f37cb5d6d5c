#include "nn/layer_state.h"
#include "nn/layers/attention.h"
#include "tenure/create.h"
#include "tenure/math.h"

namespace tenure::nn::detail {

Tensor causal_mask(std::int64_t queries, std::int64_t keys) {
  return reshape(arange(queries), {queries, 1}) >= arange(keys);
}

Tensor both_masks(Tensor a, Tensor b) {
  if (!a.defined()) return b;
  return b.defined() ? logical_and(std::move(a), std::move(b)) : a;
}

Tensor query_mask(const std::vector<Tensor>& masks) {
  return masks.empty() ? Tensor() : masks.front();
}

namespace {

void check_steps(const std::vector<Tensor>& inputs, const Axes& axes) {
  const auto shape_of_input = [&](std::size_t i) { return spec_of(inputs[i]).shape; };
  const Shape query = shape_of_input(0), value = shape_of_input(1);
  const Shape key = inputs.size() > 2 ? shape_of_input(2) : value;
  for (const std::int64_t axis : axes) {
    const int at = static_cast<int>(axis);
    if (key[at] == value[at]) continue;
    raise<ShapeError>("each key is to have a value: keys are {}, values {}", key, value);
  }
  if (inputs.size() <= 3 || axes.rank() != 1) return;
  const Shape mask = shape_of_input(3);
  const int at = static_cast<int>(axes[0]);
  const bool fits = mask.rank() >= 2 && (mask[-2] == query[at] || mask[-2] == 1) &&
                    (mask[-1] == key[at] || mask[-1] == 1);
  if (!fits) {
    raise<ShapeError>(
        "takes an attention_mask of shape [batch, {}, {}], for queries {} and keys {}, was given "
        "{}",
        query[at], key[at], query, key, mask);
  }
}

}  // namespace

Tensor mask_of_pairs(const std::vector<Tensor>& inputs, const Call& call, bool use_causal_mask,
                     const Axes& axes) {
  check_steps(inputs, axes);
  Tensor mask;
  if (const Tensor of_query = call.mask(0); of_query.defined()) mask = expand_dims(of_query, -1);
  for (const std::size_t input : {1, 2}) {
    if (const Tensor of_key = call.mask(input); of_key.defined()) {
      mask = both_masks(std::move(mask), expand_dims(of_key, -2));
    }
  }
  if (use_causal_mask) {
    if (axes.rank() != 1) {
      raise<ShapeError>("use_causal_mask needs one axis to attend along, there are {}",
                        axes.rank());
    }
    const int axis = static_cast<int>(axes[0]);
    const Tensor causal = causal_mask(inputs[0].dim(axis), inputs[1].dim(axis));
    mask = both_masks(std::move(mask), expand_dims(causal, 0));
  }
  if (inputs.size() > 3) {
    const Tensor& given = inputs[3];
    mask = both_masks(std::move(mask),
                      given.dtype() == DType::boolean ? given : cast(given, DType::boolean));
  }
  return mask;
}

}  // namespace tenure::nn::detail
