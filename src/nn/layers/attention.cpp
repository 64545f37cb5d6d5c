#include "tenure/nn/attention_layers.h"

#include <algorithm>
#include <cmath>

#include "nn/layers/attention.h"
#include "tenure/linalg.h"
#include "tenure/math.h"
#include "tenure/reduce.h"

namespace tenure::nn {

namespace detail {

void fields(Fields& visit, MultiHeadAttentionOptions& o) {
  TENURE_FIELDS(visit, o, num_heads, key_dim, value_dim, dropout, use_bias);
  visit("output_shape", Numbers{o.output_shape});
  visit("attention_axes", Numbers{o.attention_axes});
  TENURE_FIELDS(visit, o, kernel_initializer, bias_initializer, kernel_regularizer,
                bias_regularizer, activity_regularizer, kernel_constraint, bias_constraint, seed);
  call_fields(visit, o);
}

void fields(Fields& visit, AttentionOptions& o) {
  TENURE_FIELDS(visit, o, use_scale, score_mode, dropout, seed);
  call_fields(visit, o);
}

void fields(Fields& visit, AdditiveAttentionOptions& o) {
  TENURE_FIELDS(visit, o, use_scale, dropout, seed);
  call_fields(visit, o);
}

namespace {

// Axes have letters: those of the query from a on, those that the keys attend with from n on;
// h are the heads, i and j the features of keys and values, u and on what is given at last.
class MultiHeadAttentionLayer final : public ConfiguredLayer<MultiHeadAttentionOptions> {
 public:
  explicit MultiHeadAttentionLayer(MultiHeadAttentionOptions options)
      : ConfiguredLayer(std::move(options)), noise_(options_.seed) {
    const MultiHeadAttentionOptions& o = options_;
    if (o.num_heads < 1 || o.key_dim < 1 || o.value_dim.value_or(1) < 1) {
      raise<ValueError>(
          "MultiHeadAttention: num_heads, key_dim and value_dim must be positive: {}, {}, {}",
          o.num_heads, o.key_dim, o.value_dim.value_or(o.key_dim));
    }
    check_part("MultiHeadAttention", "dropout", o.dropout);
  }
  const char* class_name() const override { return "MultiHeadAttention"; }

  void build_all(const std::vector<Shape>& inputs) override {
    check_attended(inputs, 4);
    noise_.build(*this);
    const Shape &query = inputs[0], &value = inputs[1];
    const Shape& key = inputs.size() > 2 ? inputs[2] : value;
    check_rank_from(query, 3);
    check_rank(value, query.rank());
    check_rank(key, query.rank());
    axes_of(query);
    const std::int64_t heads = options_.num_heads;
    query_ = add_projection("query", {query[-1], heads, options_.key_dim}, 1);
    key_ = add_projection("key", {key[-1], heads, options_.key_dim}, 1);
    value_ = add_projection("value", {value[-1], heads, value_dim()}, 1);
    const Shape last =
        options_.output_shape.rank() > 0 ? Shape(options_.output_shape) : Shape{query[-1]};
    if (last.rank() > 5) raise<ShapeError>("output_shape has too many axes: {}", last);
    Shape kernel{heads, value_dim()};
    for (const std::int64_t size : last) kernel.push_back(size);
    output_ = add_projection("attention_output", kernel, 2);
  }

  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const Call& call) override {
    check_attended(inputs, 4);
    const Tensor &query = inputs[0], &value = inputs[1];
    const Tensor& key = inputs.size() > 2 ? inputs[2] : value;
    const int rank = query.rank();
    check_rank_from(query.shape(), 3);
    check_rank(value.shape(), rank);
    check_rank(key.shape(), rank);
    const Axes axes = axes_of(query.shape());

    std::string q, k, batch, rows, columns;
    for (int axis = 0; axis < rank - 1; ++axis) {
      const char letter = static_cast<char>('a' + axis);
      const bool attends = std::ranges::find(axes, axis) != axes.end();
      const char other = static_cast<char>(attends ? 'n' + axis : letter);
      q += letter;
      k += other;
      (attends ? rows : batch) += letter;
      if (attends) columns += other;
    }
    const std::string scored = batch + "h" + rows + columns;

    const double scale = 1 / std::sqrt(static_cast<double>(options_.key_dim));
    const Tensor queries = project(query_, q + "z,zhi->" + q + "hi", query, call) * scale;
    const Tensor keys = project(key_, k + "z,zhi->" + k + "hi", key, call);
    const Tensor values = project(value_, k + "z,zhj->" + k + "hj", value, call);
    Tensor scores = einsum(q + "hi," + k + "hi->" + scored, queries, keys);
    Tensor mask = mask_of_pairs(inputs, call, options_.use_causal_mask, axes);
    if (mask.defined()) {
      while (mask.rank() < scores.rank()) {
        const int axis = mask.rank() - 2 * axes.rank();
        mask = expand_dims(std::move(mask), axis);
      }
      scores = masked(std::move(scores), mask);
    }
    scores = normalized(std::move(scores), axes.rank());
    Tensor kept = scores;
    if (call.training && options_.dropout > 0) kept = noise_.dropout(scores, options_.dropout);
    const Tensor joined = einsum(scored + "," + k + "hj->" + q + "hj", kept, values);

    const std::string last =
        std::string("uvwxy").substr(0, static_cast<std::size_t>(output_.kernel.shape().rank() - 2));
    Tensor y = project(output_, q + "hj,hj" + last + "->" + q + last, joined, call);
    if (options_.return_attention_scores) return {y, scores};
    return {y};
  }

  Tensor compute_mask(const std::vector<Tensor>&, const std::vector<Tensor>& masks) override {
    return query_mask(masks);
  }

 private:
  struct Projection {
    Variable kernel, bias;
  };

  // The first `summed` axes of the kernel are those that the bias lacks.
  Projection add_projection(const std::string& name, const Shape& kernel, int summed) {
    Projection projection;
    projection.kernel =
        add_weight(name + "/kernel", kernel, TENURE_WEIGHT_OPTIONS(options_, kernel));
    if (!options_.use_bias) return projection;
    projection.bias =
        add_weight(name + "/bias", Shape(kernel.dims().subspan(static_cast<std::size_t>(summed))),
                   TENURE_WEIGHT_OPTIONS(options_, bias));
    return projection;
  }

  // The activity regularizer is of each projection, as in Keras.
  Tensor project(const Projection& by, const std::string& equation, const Tensor& x,
                 const Call& call) const {
    Tensor y = einsum(equation, x, by.kernel);
    if (by.bias.defined()) y = std::move(y) + by.bias;
    add_activity_loss(call, options_.activity_regularizer, y);
    return y;
  }

  std::int64_t value_dim() const { return options_.value_dim.value_or(options_.key_dim); }

  Axes axes_of(const Shape& query) const {
    if (query.rank() > 8) raise<ShapeError>("takes inputs of rank 8 at most, was given {}", query);
    Axes axes;
    if (options_.attention_axes.rank() == 0) {
      for (int axis = 1; axis < query.rank() - 1; ++axis) axes.push_back(axis);
      return axes;
    }
    for (const std::int64_t axis : options_.attention_axes) {
      const int attended = axis_of(query, axis);
      if (attended == query.rank() - 1 || std::ranges::find(axes, attended) != axes.end()) {
        raise<ShapeError>("cannot attend along the axes {} of {}", options_.attention_axes, query);
      }
      axes.push_back(attended);
    }
    return axes;
  }

  static Tensor normalized(Tensor scores, int count) {
    if (count == 1) return softmax(std::move(scores));
    Axes last;
    for (int axis = -count; axis < 0; ++axis) last.push_back(axis);
    return exp(scores - logsumexp(scores, last, {.keep_dims = true}));
  }

  Projection query_, key_, value_, output_;
  Noise noise_;
};

// What Attention and AdditiveAttention share: all but the scores.
template <class O>
class ScoredAttention : public ConfiguredLayer<O> {
 public:
  ScoredAttention(const char* name, O options)
      : ConfiguredLayer<O>(std::move(options)), noise_(this->options_.seed) {
    check_part(name, "dropout", this->options_.dropout);
  }

  void build_all(const std::vector<Shape>& inputs) override {
    check_attended(inputs, 3);
    for (const Shape& input : inputs) check_rank(input, 3);
    noise_.build(*this);
    add_scale(inputs[0]);
  }

  std::vector<Tensor> call_all(const std::vector<Tensor>& inputs, const Call& call) override {
    check_attended(inputs, 3);
    for (const Tensor& input : inputs) check_rank(input.shape(), 3);
    const Tensor &query = inputs[0], &value = inputs[1];
    Tensor scores = this->scores(query, inputs.size() > 2 ? inputs[2] : value);
    Tensor mask;
    if (const Tensor of_value = call.mask(1); of_value.defined()) mask = expand_dims(of_value, -2);
    if (this->options_.use_causal_mask) {
      mask = both_masks(std::move(mask), expand_dims(causal_mask(query.dim(1), value.dim(1)), 0));
    }
    Tensor weights = softmax(masked(std::move(scores), mask));
    if (call.training && this->options_.dropout > 0) {
      weights = noise_.dropout(weights, this->options_.dropout);
    }
    Tensor y = matmul(weights, value);
    if (const Tensor of_query = call.mask(0); of_query.defined()) {
      y = std::move(y) * cast(expand_dims(of_query, -1), query.dtype());
    }
    if (this->options_.return_attention_scores) return {y, weights};
    return {y};
  }

  Tensor compute_mask(const std::vector<Tensor>&, const std::vector<Tensor>& masks) override {
    return query_mask(masks);
  }

 protected:
  virtual void add_scale(const Shape& query) = 0;
  virtual Tensor scores(const Tensor& query, const Tensor& key) const = 0;

  // query + key for each pair: [batch, queries, keys, features].
  static Tensor pairs(const Tensor& query, const Tensor& key) {
    return expand_dims(query, 2) + expand_dims(key, 1);
  }

 private:
  Noise noise_;
};

class AttentionLayer final : public ScoredAttention<AttentionOptions> {
 public:
  explicit AttentionLayer(AttentionOptions options)
      : ScoredAttention("Attention", std::move(options)) {
    if (options_.score_mode != "dot" && options_.score_mode != "concat") {
      raise<ValueError>("Attention: no such score_mode: \"{}\" (dot, concat)", options_.score_mode);
    }
  }
  const char* class_name() const override { return "Attention"; }

 private:
  void add_scale(const Shape&) override {
    const WeightOptions one{.initializer = "ones", .dtype = options_.dtype};
    if (options_.use_scale) scale_ = add_weight("scale", {}, one);
    if (options_.score_mode == "concat") concat_ = add_weight("concat_score_weight", {}, one);
  }
  Tensor scores(const Tensor& query, const Tensor& key) const override {
    if (options_.score_mode == "dot") {
      Tensor products = matmul(query, key, {.transpose_a = false, .transpose_b = true});
      return options_.use_scale ? std::move(products) * scale_ : products;
    }
    Tensor joined = pairs(query, key);
    if (options_.use_scale) joined = std::move(joined) * scale_;
    return concat_ * sum(tanh(std::move(joined)), {-1});
  }
  Variable scale_, concat_;
};

class AdditiveAttentionLayer final : public ScoredAttention<AdditiveAttentionOptions> {
 public:
  explicit AdditiveAttentionLayer(AdditiveAttentionOptions options)
      : ScoredAttention("AdditiveAttention", std::move(options)) {}
  const char* class_name() const override { return "AdditiveAttention"; }

 private:
  void add_scale(const Shape& query) override {
    if (!options_.use_scale) return;
    scale_ = add_weight("scale", {query[-1]},
                        {.initializer = "glorot_uniform", .dtype = options_.dtype});
  }
  Tensor scores(const Tensor& query, const Tensor& key) const override {
    Tensor joined = tanh(pairs(query, key));
    if (options_.use_scale) joined = std::move(joined) * scale_;
    return sum(std::move(joined), {-1});
  }
  Variable scale_;
};

}  // namespace
}  // namespace detail

TENURE_DEFINE_LAYER(MultiHeadAttention, MultiHeadAttentionOptions, MultiHeadAttentionLayer)
TENURE_DEFINE_LAYER(Attention, AttentionOptions, AttentionLayer)
TENURE_DEFINE_LAYER(AdditiveAttention, AdditiveAttentionOptions, AdditiveAttentionLayer)

std::span<const detail::LayerRow> detail::attention_layers() {
  return rows_of<MultiHeadAttention, Attention, AdditiveAttention>();
}

}  // namespace tenure::nn
