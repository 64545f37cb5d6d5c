#include "tenure/nn/attention_layers.h"

#include <algorithm>
#include <cmath>

#include "nn/layers/checks.h"

namespace tenure::testing {
namespace {

Tensor bools(std::vector<bool> values, const Shape& shape) { return tensor(values, shape); }

// x [batch, steps, features] by [features, heads, size], and bias.
Grid projected(Grid& x, const Tensor& by, const Tensor& offset) {
  Grid kernel = grid_of(by), bias = grid_of(offset);
  Grid y({x.shape[0], x.shape[1], kernel.shape[1], kernel.shape[2]});
  for (int b = 0; b < x.shape[0]; ++b) {
    for (int t = 0; t < x.shape[1]; ++t) {
      for (int h = 0; h < kernel.shape[1]; ++h) {
        for (int k = 0; k < kernel.shape[2]; ++k) {
          y(b, t, h, k) = bias(h, k);
          for (int d = 0; d < x.shape[2]; ++d) y(b, t, h, k) += x(b, t, d) * kernel(d, h, k);
        }
      }
    }
  }
  return y;
}

void normalize_rows(Grid& scores) {
  const auto size = static_cast<std::size_t>(scores.shape[-1]);
  for (std::size_t row = 0; row < scores.values.size(); row += size) {
    double sum = 0, most = scores.values[row];
    for (std::size_t i = row; i < row + size; ++i) most = std::max(most, scores.values[i]);
    for (std::size_t i = row; i < row + size; ++i) {
      sum += scores.values[i] = std::exp(scores.values[i] - most);
    }
    for (std::size_t i = row; i < row + size; ++i) scores.values[i] /= sum;
  }
}

struct Attended {
  Grid output, scores;
};

// `counts(b, t, s)` says whether query t of example b may look at step s.
template <class F>
Attended attended(const std::vector<Tensor>& w, Grid query, Grid value, Grid key, F counts) {
  Grid q = projected(query, w[0], w[1]), k = projected(key, w[2], w[3]);
  Grid v = projected(value, w[4], w[5]);
  Grid kernel = grid_of(w[6]), bias = grid_of(w[7]);
  const auto batch = q.shape[0], queries = q.shape[1], heads = q.shape[2], keys = k.shape[1];
  Grid scores({batch, heads, queries, keys}), output({batch, queries, kernel.shape[2]});
  for (int b = 0; b < batch; ++b) {
    for (int h = 0; h < heads; ++h) {
      for (int t = 0; t < queries; ++t) {
        for (int s = 0; s < keys; ++s) {
          double& score = scores(b, h, t, s);
          for (int i = 0; i < q.shape[3]; ++i) score += q(b, t, h, i) * k(b, s, h, i);
          score /= std::sqrt(static_cast<double>(q.shape[3]));
          if (!counts(b, t, s)) score -= 1e9;
        }
      }
    }
  }
  normalize_rows(scores);
  for (int b = 0; b < batch; ++b) {
    for (int t = 0; t < queries; ++t) {
      for (int o = 0; o < kernel.shape[2]; ++o) {
        output(b, t, o) = bias(o);
        for (int h = 0; h < heads; ++h) {
          for (int j = 0; j < v.shape[3]; ++j) {
            double joined = 0;
            for (int s = 0; s < keys; ++s) joined += scores(b, h, t, s) * v(b, s, h, j);
            output(b, t, o) += joined * kernel(h, j, o);
          }
        }
      }
    }
  }
  return {output, scores};
}

nn::MultiHeadAttention filled(nn::MultiHeadAttentionOptions options,
                              const std::vector<Tensor>& inputs) {
  options.dtype = kDouble;
  const nn::MultiHeadAttention layer(std::move(options));
  layer.apply(inputs);
  fill_weights(layer);
  return layer;
}

TEST(AttentionLayers, multi_head_attention_follows_its_definition) {
  const Grid query = numbers({2, 3, 4}), value = numbers({2, 5, 3}, 2), key = numbers({2, 5, 2}, 3);
  const std::vector<Tensor> inputs{query.tensor(), value.tensor(), key.tensor()};
  const nn::MultiHeadAttention layer = filled(
      {.num_heads = 2, .key_dim = 3, .value_dim = 2, .return_attention_scores = true}, inputs);
  const Attended want =
      attended(layer.get_weights(), query, value, key, [](int, int, int) { return true; });
  const std::vector<Tensor> got = layer.apply(inputs);
  ASSERT_EQ(got.size(), 2u);
  expect_near(got[0], want.output);
  expect_near(got[1], want.scores);
  check_layer(layer, inputs);
}

TEST(AttentionLayers, without_a_key_the_value_is_the_key) {
  const Grid query = numbers({2, 3, 4}), value = numbers({2, 2, 3}, 2);
  const std::vector<Tensor> inputs{query.tensor(), value.tensor()};
  const nn::MultiHeadAttention layer =
      filled({.num_heads = 1, .key_dim = 2, .output_shape = Shape{5}}, inputs);
  expect_near(layer(inputs), attended(layer.get_weights(), query, value, value, [](int, int, int) {
                               return true;
                             }).output);
  check_layer(layer, inputs);
}

TEST(AttentionLayers, a_causal_mask_hides_what_is_later) {
  const Grid x = numbers({2, 4, 3});
  const std::vector<Tensor> inputs{x.tensor(), x.tensor()};
  const nn::MultiHeadAttention layer =
      filled({.num_heads = 2, .key_dim = 2, .use_causal_mask = true}, inputs);
  expect_near(layer(inputs), attended(layer.get_weights(), x, x, x, [](int, int t, int s) {
                               return s <= t;
                             }).output);
  check_config(layer, inputs);
  check_trace(layer, inputs);
}

TEST(AttentionLayers, a_mask_of_pairs_is_a_fourth_input) {
  const Grid query = numbers({2, 2, 3}), value = numbers({2, 3, 3}, 2);
  const std::vector<bool> pairs{true, false, true, true,  true, false,
                                true, true,  true, false, true, false};
  const std::vector<Tensor> inputs{query.tensor(), value.tensor(), value.tensor(),
                                   bools(pairs, {2, 2, 3})};
  const nn::MultiHeadAttention layer = filled({.num_heads = 2, .key_dim = 2}, inputs);
  const auto counts = [&](int b, int t, int s) {
    return pairs[static_cast<std::size_t>((b * 2 + t) * 3 + s)];
  };
  expect_near(layer(inputs), attended(layer.get_weights(), query, value, value, counts).output);
  check_layer(layer, inputs);
}

TEST(AttentionLayers, masks_of_query_and_value_leave_steps_out) {
  const Grid query = numbers({2, 2, 3}), value = numbers({2, 3, 3}, 2);
  const std::vector<Tensor> inputs{query.tensor(), value.tensor()};
  const Tensor of_query = bools({true, true, true, false}, {2, 2});
  const Tensor of_value = bools({true, true, false, true, false, true}, {2, 3});
  const nn::MultiHeadAttention layer = filled({.num_heads = 1, .key_dim = 2}, inputs);
  const nn::Call call{.masks = {of_query, of_value}};
  const auto counts = [](int b, int t, int s) {
    const bool queries[2][2] = {{true, true}, {true, false}};
    const bool values[2][3] = {{true, true, false}, {true, false, true}};
    return queries[b][t] && values[b][s];
  };
  const Grid want = attended(layer.get_weights(), query, value, value, counts).output;
  expect_near(layer(inputs, call), want, 1e-6);
  check_layer(layer, inputs, {.masks = {bools({true, true, true, true}, {2, 2}), of_value}});
  EXPECT_EQ(layer.compute_mask(inputs, call.masks).id(), of_query.id());
  EXPECT_FALSE(layer.compute_mask(inputs, {Tensor(), of_value}).defined());
}

TEST(AttentionLayers, attention_works_along_several_axes_or_one_of_them) {
  // Rows attend to rows, columns by themselves: as many examples as there are columns.
  const Tensor x = numbers({2, 3, 2, 4}).tensor();
  const nn::MultiHeadAttention along_one =
      filled({.num_heads = 2, .key_dim = 3, .attention_axes = Axes{1}}, {x, x});
  const nn::MultiHeadAttention plain({.num_heads = 2, .key_dim = 3, .dtype = kDouble});
  const Tensor columns = reshape(transpose(x, {0, 2, 1, 3}), {4, 3, 4});
  plain({columns, columns});
  plain.set_weights(along_one.get_weights());
  const Tensor want = transpose(reshape(plain({columns, columns}), {2, 2, 3, 4}), {0, 2, 1, 3});
  expect_near(along_one({x, x}), grid_of(want));
  const Tensor other = numbers({2, 3, 2, 4}, 5).tensor();
  check_layer(along_one, {x, other});

  // All places attend to all.
  const nn::MultiHeadAttention along_both = filled({.num_heads = 2, .key_dim = 3}, {x, x});
  plain.set_weights(along_both.get_weights());
  const Tensor places = reshape(x, {2, 6, 4});
  expect_near(along_both({x, x}), grid_of(reshape(plain({places, places}), {2, 3, 2, 4})));
  check_layer(along_both, {x, other});
}

TEST(AttentionLayers, multi_head_attention_has_the_weights_of_keras) {
  const nn::MultiHeadAttention layer({.num_heads = 2, .key_dim = 3, .name = "mha"});
  layer({ones({1, 2, 4}), ones({1, 2, 5})});
  const std::vector<std::pair<std::string, Shape>> want{{"mha/query/kernel", {4, 2, 3}},
                                                        {"mha/query/bias", {2, 3}},
                                                        {"mha/key/kernel", {5, 2, 3}},
                                                        {"mha/key/bias", {2, 3}},
                                                        {"mha/value/kernel", {5, 2, 3}},
                                                        {"mha/value/bias", {2, 3}},
                                                        {"mha/attention_output/kernel", {2, 3, 4}},
                                                        {"mha/attention_output/bias", {4}}};
  ASSERT_EQ(layer.weights().size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(layer.weights()[i].name(), want[i].first);
    EXPECT_EQ(layer.weights()[i].shape(), want[i].second);
  }
  const nn::MultiHeadAttention bare({.num_heads = 2, .key_dim = 3, .use_bias = false});
  bare({ones({1, 2, 4}), ones({1, 2, 5})});
  EXPECT_EQ(bare.weights().size(), 4u);
}

TEST(AttentionLayers, dropout_of_scores_is_for_training) {
  set_seed(2);
  const Tensor x = numbers({2, 8, 4}).tensor();
  const nn::MultiHeadAttention layer =
      filled({.num_heads = 2, .key_dim = 3, .dropout = 0.5}, {x, x});
  expect_near(layer({x, x}), grid_of(layer({x, x})), 0);
  const Tensor first = layer({x, x}, {.training = true});
  EXPECT_NE(first.to_vector<double>(), layer({x, x}, {.training = true}).to_vector<double>());
}

TEST(AttentionLayers, attention_scores_by_products) {
  Grid query = numbers({2, 2, 3}), value = numbers({2, 4, 5}, 2), key = numbers({2, 4, 3}, 3);
  const nn::Attention layer({.use_scale = true, .return_attention_scores = true, .dtype = kDouble});
  const std::vector<Tensor> inputs{query.tensor(), value.tensor(), key.tensor()};
  layer.apply(inputs);
  EXPECT_EQ(layer.get_weights()[0].item<double>(), 1);
  fill_weights(layer);
  const double scale = layer.get_weights()[0].item<double>();
  Grid scores({2, 2, 4}), want({2, 2, 5});
  for (int b = 0; b < 2; ++b) {
    for (int t = 0; t < 2; ++t) {
      for (int s = 0; s < 4; ++s) {
        for (int i = 0; i < 3; ++i) scores(b, t, s) += scale * query(b, t, i) * key(b, s, i);
      }
    }
  }
  normalize_rows(scores);
  for (int b = 0; b < 2; ++b) {
    for (int t = 0; t < 2; ++t) {
      for (int j = 0; j < 5; ++j) {
        for (int s = 0; s < 4; ++s) want(b, t, j) += scores(b, t, s) * value(b, s, j);
      }
    }
  }
  const std::vector<Tensor> got = layer.apply(inputs);
  expect_near(got[0], want);
  expect_near(got[1], scores);
  check_layer(layer, inputs);
  check_layer(nn::Attention({.use_causal_mask = true}), inputs);
  const nn::Attention joined({.use_scale = true, .score_mode = "concat", .dtype = kDouble});
  joined.apply(inputs);
  fill_weights(joined);
  check_layer(joined, inputs);
}

TEST(AttentionLayers, additive_attention_scores_by_sums) {
  Grid query = numbers({2, 2, 3}), value = numbers({2, 4, 3}, 2);
  const nn::AdditiveAttention layer({.dtype = kDouble});
  const std::vector<Tensor> inputs{query.tensor(), value.tensor()};
  layer.apply(inputs);
  fill_weights(layer);
  Grid scale = grid_of(layer.get_weights()[0]), scores({2, 2, 4}), want({2, 2, 3});
  for (int b = 0; b < 2; ++b) {
    for (int t = 0; t < 2; ++t) {
      for (int s = 0; s < 4; ++s) {
        for (int i = 0; i < 3; ++i) {
          scores(b, t, s) += scale(i) * std::tanh(query(b, t, i) + value(b, s, i));
        }
      }
    }
  }
  normalize_rows(scores);
  for (int b = 0; b < 2; ++b) {
    for (int t = 0; t < 2; ++t) {
      for (int j = 0; j < 3; ++j) {
        for (int s = 0; s < 4; ++s) want(b, t, j) += scores(b, t, s) * value(b, s, j);
      }
    }
  }
  expect_near(layer(inputs), want);
  check_layer(layer, inputs);
}

TEST(AttentionLayers, attention_gives_zeros_for_masked_queries_and_no_weight_to_masked_values) {
  const Tensor query = numbers({1, 2, 3}).tensor(), value = numbers({1, 3, 3}, 2).tensor();
  const nn::Attention layer({.return_attention_scores = true});
  const std::vector<Tensor> got =
      layer.apply({query, value},
                  {.masks = {bools({true, false}, {1, 2}), bools({true, true, false}, {1, 3})}});
  Grid output = grid_of(got[0]), scores = grid_of(got[1]);
  for (int j = 0; j < 3; ++j) EXPECT_EQ(output(0, 1, j), 0);
  for (int t = 0; t < 2; ++t) EXPECT_NEAR(scores(0, t, 2), 0, 1e-12);
}

TEST(AttentionLayers, what_does_not_fit_is_named) {
  const nn::MultiHeadAttention layer({.num_heads = 2, .key_dim = 3});
  EXPECT_HAS(message_of<ShapeError>([&] { layer(ones({1, 2, 3})); }), "was given 1");
  EXPECT_HAS(message_of<ShapeError>([&] { layer({ones({1, 2, 3}), ones({1, 3})}); }),
             "rank 3, was given [1, 3]");
  EXPECT_THROW(nn::MultiHeadAttention({.num_heads = 0, .key_dim = 3}), ValueError);
  EXPECT_THROW(nn::MultiHeadAttention({.num_heads = 1, .key_dim = 3, .dropout = 1}), ValueError);
  EXPECT_THROW(nn::MultiHeadAttention({.num_heads = 1, .key_dim = 3, .attention_axes = Axes{2}})(
                   {ones({1, 2, 3}), ones({1, 2, 3})}),
               ShapeError);
  EXPECT_THROW(nn::Attention({.score_mode = "sum"}), ValueError);
  EXPECT_THROW(nn::Attention()({ones({2, 3}), ones({2, 3})}), ShapeError);
}

// Each head of keys and values as often as query heads share it.
Tensor shared_out(const Tensor& weight, int axis, int times) {
  Grid from = grid_of(weight);
  Shape shape = weight.shape();
  const std::int64_t inner = weight.rank() > axis + 1 ? shape[-1] : 1;
  shape[axis] *= times;
  Grid to(shape);
  const std::int64_t heads = shape[axis];
  for (std::size_t i = 0; i < to.values.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    const std::int64_t last = place % inner, head = place / inner % heads,
                       first = place / inner / heads;
    to.values[i] = from.values[static_cast<std::size_t>(
        (first * (heads / times) + head / times) * inner + last)];
  }
  return to.tensor();
}

TEST(AttentionLayers, grouped_queries_share_keys_and_values) {
  const Grid query = numbers({2, 3, 4}), value = numbers({2, 5, 3}, 2), key = numbers({2, 5, 2}, 3);
  const std::vector<Tensor> inputs{query.tensor(), value.tensor(), key.tensor()};
  for (const int shared : {1, 2, 4}) {
    const nn::GroupedQueryAttention layer({.head_dim = 3,
                                           .num_query_heads = 4,
                                           .num_key_value_heads = shared,
                                           .return_attention_scores = true,
                                           .dtype = kDouble});
    layer.apply(inputs);
    fill_weights(layer);
    std::vector<Tensor> weights = layer.get_weights();
    for (const std::size_t i : {2, 4}) {
      weights[i] = shared_out(weights[i], 1, 4 / shared);
      weights[i + 1] = shared_out(weights[i + 1], 0, 4 / shared);
    }
    const Attended want = attended(weights, query, value, key, [](int, int, int) { return true; });
    const std::vector<Tensor> got = layer.apply(inputs);
    ASSERT_EQ(got.size(), 2u);
    expect_near(got[0], want.output);
    expect_near(got[1], want.scores);
    if (shared == 2) check_layer(layer, inputs);
  }
}

TEST(AttentionLayers, grouped_queries_mind_masks_and_time) {
  const Grid x = numbers({1, 3, 4});
  const nn::GroupedQueryAttention layer({.head_dim = 2,
                                         .num_query_heads = 2,
                                         .num_key_value_heads = 1,
                                         .use_causal_mask = true,
                                         .return_attention_scores = true,
                                         .dtype = kDouble});
  Grid causal = grid_of(layer.apply({x.tensor(), x.tensor()})[1]);
  const nn::Call masked{.masks = {Tensor(), bools({true, false, true}, {1, 3})}};
  Grid both = grid_of(layer.apply({x.tensor(), x.tensor()}, masked)[1]);
  for (int h = 0; h < 2; ++h) {
    for (int t = 0; t < 3; ++t) {
      for (int s = t + 1; s < 3; ++s) EXPECT_NEAR(causal(0, h, t, s), 0, 1e-12);
      EXPECT_NEAR(both(0, h, t, 1), 0, 1e-12);
    }
  }
  EXPECT_GT(causal(0, 0, 1, 1), 0);
  const nn::Node steps = nn::Input({.shape = {nn::kAny, 4}});
  EXPECT_EQ(layer({steps, steps}).shape(), (Shape{nn::kAny, nn::kAny, 4}));
  EXPECT_HAS(
      message_of<ValueError>([] {
        nn::GroupedQueryAttention({.head_dim = 2, .num_query_heads = 3, .num_key_value_heads = 2});
      }),
      "3 query heads cannot share 2 heads of keys and values evenly");
  EXPECT_HAS(message_of<ValueError>([] { nn::GroupedQueryAttention({.head_dim = 2}); }),
             "must be positive: 2, 0, 0");
  EXPECT_HAS(message_of<ShapeError>([&] { layer({ones({2, 4}), ones({2, 4})}); }),
             "takes inputs of rank 3");
}

TEST(AttentionLayers,
     dropout_with_a_seed_is_the_same_from_run_to_run_and_differs_from_call_to_call) {
  const Tensor x = numbers({1, 4, 4}).tensor(DType::float32);
  const auto made = [] {
    return std::vector<nn::Layer>{
        nn::MultiHeadAttention({.num_heads = 1,
                                .key_dim = 4,
                                .dropout = 0.5,
                                .kernel_initializer = "ones",
                                .seed = 5}),
        nn::GroupedQueryAttention({.head_dim = 4,
                                   .num_query_heads = 2,
                                   .num_key_value_heads = 1,
                                   .dropout = 0.5,
                                   .kernel_initializer = "ones",
                                   .seed = 5}),
        nn::Attention({.dropout = 0.5, .seed = 5}),
        nn::AdditiveAttention({.use_scale = false, .dropout = 0.5, .seed = 5})};
  };
  const std::vector<nn::Layer> one = made(), other = made();
  for (std::size_t i = 0; i < one.size(); ++i) {
    SCOPED_TRACE(one[i].class_name());
    const Floats first = floats(one[i]({x, x}, kTraining));
    EXPECT_EQ(floats(other[i]({x, x}, kTraining)), first);
    EXPECT_NE(floats(one[i]({x, x}, kTraining)), first);
  }
}

}  // namespace
}  // namespace tenure::testing
