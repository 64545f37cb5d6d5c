// Attention. Inputs are {query, value}, {query, value, key} or, where the layer takes a mask of
// pairs, {query, value, key, attention_mask}; without a key, the value is the key.
//
//   nn::MultiHeadAttention attention({.num_heads = 4, .key_dim = 16});
//   Tensor y = attention({x, x});
//   auto outputs = nn::MultiHeadAttention({.num_heads = 4, .key_dim = 16,
//                                          .return_attention_scores = true}).apply({x, memory});
//
// Masks that come with query, value and key leave steps out, as use_causal_mask leaves out those
// that are later than the query's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tenure/nn/core_layers.h"

namespace tenure::nn {

struct MultiHeadAttentionOptions {
  std::int64_t num_heads = 0;
  std::int64_t key_dim = 0;                    // of each head
  std::optional<std::int64_t> value_dim = {};  // of each head; default: key_dim
  double dropout = 0;                          // of the scores
  bool use_bias = true;
  Sizes output_shape = {};       // of the last axes; default: the query's last
  AxisList attention_axes = {};  // default: all but the first and the last
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::optional<std::int64_t> seed = {};  // of the dropout
  bool use_causal_mask = false;
  bool return_attention_scores = false;  // as a second output
  TENURE_LAYER_FIELDS;
};
// An attention mask is bool, [batch, query steps, value steps], true where a pair counts.
TENURE_LAYER(MultiHeadAttention, MultiHeadAttentionOptions);

struct GroupedQueryAttentionOptions {
  std::int64_t head_dim = 0;  // of each head
  std::int64_t num_query_heads = 0;
  std::int64_t num_key_value_heads = 0;  // each is shared by as many query heads
  double dropout = 0;
  bool use_bias = true;
  Initializer kernel_initializer = "glorot_uniform";
  Initializer bias_initializer = "zeros";
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  Regularizer activity_regularizer = {};
  Constraint kernel_constraint = {};
  Constraint bias_constraint = {};
  std::optional<std::int64_t> seed = {};
  bool use_causal_mask = false;
  bool return_attention_scores = false;
  TENURE_LAYER_FIELDS;
};
// Multi-head attention in which several queries share a key and a value. Inputs are of rank 3, and
// the mask of pairs as above.
TENURE_LAYER(GroupedQueryAttention, GroupedQueryAttentionOptions);

struct AttentionOptions {
  bool use_scale = false;          // multiplies the scores by a number that is learned
  std::string score_mode = "dot";  // or "concat": the sum of tanh(query + key)
  double dropout = 0;
  std::optional<std::int64_t> seed = {};
  bool use_causal_mask = false;
  bool return_attention_scores = false;
  TENURE_LAYER_FIELDS;
};
// [batch, query steps, features] and [batch, value steps, features].
TENURE_LAYER(Attention, AttentionOptions);

struct AdditiveAttentionOptions {
  bool use_scale = true;  // weighs the features by numbers that are learned
  double dropout = 0;
  std::optional<std::int64_t> seed = {};
  bool use_causal_mask = false;
  bool return_attention_scores = false;
  TENURE_LAYER_FIELDS;
};
// Scores are sums of tanh(query + key).
TENURE_LAYER(AdditiveAttention, AdditiveAttentionOptions);

}  // namespace tenure::nn
