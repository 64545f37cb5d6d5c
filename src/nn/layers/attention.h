// What layers of attention share: their inputs, and which pairs of a query and a key count.
#pragma once

#include <vector>

#include "nn/layers/common.h"
#include "nn/layers/noise.h"
#include "tenure/nn/attention_layers.h"

namespace tenure::nn::detail {

template <class T>
void check_attended(const std::vector<T>& inputs, std::size_t most) {
  if (inputs.size() < 2 || inputs.size() > most) {
    raise<ShapeError>("takes query, value and key{}: 2 to {} inputs, was given {}",
                      most > 3 ? ", attention_mask" : "", most, inputs.size());
  }
}

// Keras has these as arguments of calls, so that its files lack them: they are written where set.
template <class O>
void call_fields(Fields& visit, O& o) {
  if (visit.reads() || o.use_causal_mask) TENURE_FIELDS(visit, o, use_causal_mask);
  if (visit.reads() || o.return_attention_scores) {
    TENURE_FIELDS(visit, o, return_attention_scores);
  }
}

// True where the key is not later than the query: [queries, keys].
Tensor causal_mask(std::int64_t queries, std::int64_t keys);
// Where both are true; an empty handle is true everywhere.
Tensor both_masks(Tensor a, Tensor b);
Tensor query_mask(const std::vector<Tensor>& masks);
// Of pairs of a query and a key, by the masks that came with the inputs, a fourth input, and time
// along the one axis that is attended along; an empty handle for none.
Tensor mask_of_pairs(const std::vector<Tensor>& inputs, const Call& call, bool use_causal_mask,
                     const Axes& axes);

}  // namespace tenure::nn::detail
