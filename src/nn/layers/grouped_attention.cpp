// Attention in which groups of query heads share a head of keys and values.
#include <cmath>

#include "nn/layers/attention.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/reduce.h"

namespace tenure::nn {

namespace detail {

void fields(Fields& visit, GroupedQueryAttentionOptions& o) {
  TENURE_FIELDS(visit, o, head_dim, num_query_heads, num_key_value_heads, dropout, use_bias,
                kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer,
                activity_regularizer, kernel_constraint, bias_constraint, seed);
  call_fields(visit, o);
}

namespace {

// In equations: b the batch, q and k steps of query and key, g the shared heads, r the query heads
// that share one, d the features of a head.
class GroupedQueryAttentionLayer final : public ConfiguredLayer<GroupedQueryAttentionOptions> {
 public:
  explicit GroupedQueryAttentionLayer(GroupedQueryAttentionOptions options)
      : ConfiguredLayer(std::move(options)), noise_(options_.seed) {
    const GroupedQueryAttentionOptions& o = options_;
    if (o.head_dim < 1 || o.num_query_heads < 1 || o.num_key_value_heads < 1) {
      raise<ValueError>(
          "GroupedQueryAttention: head_dim, num_query_heads and num_key_value_heads must be "
          "positive: {}, {}, {}",
          o.head_dim, o.num_query_heads, o.num_key_value_heads);
    }
    if (o.num_query_heads % o.num_key_value_heads != 0) {
      raise<ValueError>(
          "GroupedQueryAttention: {} query heads cannot share {} heads of keys and values evenly",
          o.num_query_heads, o.num_key_value_heads);
    }
    check_part("GroupedQueryAttention", "dropout", o.dropout);
  }
  const char* class_name() const override { return "GroupedQueryAttention"; }

  void build_all(const std::vector<Shape>& inputs) override {
    check_attended(inputs, 4);
    noise_.build(*this);
    for (std::size_t i = 0; i < std::min<std::size_t>(inputs.size(), 3); ++i) {
      check_rank(inputs[i], 3);
    }
    const Shape &query = inputs[0], &value = inputs[1];
    const Shape& key = inputs.size() > 2 ? inputs[2] : value;
    const auto& [heads, shared, size] =
        std::tie(options_.num_query_heads, options_.num_key_value_heads, options_.head_dim);
    query_ = add_projection("query", {query[-1], heads, size}, {heads, size});
    key_ = add_projection("key", {key[-1], shared, size}, {shared, size});
    value_ = add_projection("value", {value[-1], shared, size}, {shared, size});
    output_ = add_projection("attention_output", {heads, size, query[-1]}, {query[-1]});
  }

  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const Call& call) override {
    check_attended(inputs, 4);
    for (std::size_t i = 0; i < std::min<std::size_t>(inputs.size(), 3); ++i) {
      check_rank(inputs[i].shape(), 3);
    }
    const Tensor &query = inputs[0], &value = inputs[1];
    const Tensor& key = inputs.size() > 2 ? inputs[2] : value;
    const std::int64_t heads = options_.num_query_heads, size = options_.head_dim;
    const std::int64_t shared = options_.num_key_value_heads, queries = query.dim(1);

    const double scale = 1 / std::sqrt(static_cast<double>(size));
    const Tensor asked = reshape(project(query_, "bqz,zhd->bqhd", query) * scale,
                                 {-1, queries, shared, heads / shared, size});
    const Tensor keys = project(key_, "bkz,zgd->bkgd", key);
    const Tensor values = project(value_, "bkz,zgd->bkgd", value);
    Tensor scores = einsum("bqgrd,bkgd->bgrqk", asked, keys);
    Tensor mask = mask_of_pairs(inputs, call, options_.use_causal_mask, {1});
    if (mask.defined()) {
      if (mask.rank() > 3) raise<ShapeError>("takes masks of rank 3, was given {}", mask.shape());
      mask = expand_dims(expand_dims(std::move(mask), -3), -3);
      scores = masked(std::move(scores), mask);
    }
    scores = softmax(std::move(scores));
    Tensor kept = scores;
    if (call.training && options_.dropout > 0) kept = noise_.dropout(scores, options_.dropout);
    const Tensor joined =
        reshape(einsum("bgrqk,bkgd->bqgrd", kept, values), {-1, queries, heads, size});
    Tensor y = project(output_, "bqhd,hdz->bqz", joined);
    add_activity_loss(call, options_.activity_regularizer, y);
    if (!options_.return_attention_scores) return {y};
    return {y, reshape(scores, {-1, heads, queries, key.dim(1)})};
  }

  Tensor compute_mask(const std::vector<Tensor>&, const std::vector<Tensor>& masks) override {
    return query_mask(masks);
  }

 private:
  struct Projection {
    Variable kernel, bias;
  };

  Projection add_projection(const std::string& name, const Shape& kernel, const Shape& bias) {
    Projection projection;
    projection.kernel =
        add_weight(name + "/kernel", kernel, TENURE_WEIGHT_OPTIONS(options_, kernel));
    if (options_.use_bias) {
      projection.bias = add_weight(name + "/bias", bias, TENURE_WEIGHT_OPTIONS(options_, bias));
    }
    return projection;
  }

  static Tensor project(const Projection& by, const char* equation, const Tensor& x) {
    Tensor y = einsum(equation, x, by.kernel);
    return by.bias.defined() ? std::move(y) + by.bias : y;
  }

  Projection query_, key_, value_, output_;
  Noise noise_;
};

}  // namespace
}  // namespace detail

TENURE_DEFINE_LAYER(GroupedQueryAttention, GroupedQueryAttentionOptions, GroupedQueryAttentionLayer)

std::span<const detail::LayerRow> detail::grouped_attention_layers() {
  return rows_of<GroupedQueryAttention>();
}

}  // namespace tenure::nn
