#include "tenure/nn/core_layers.h"

#include <cmath>

#include "nn/config.h"
#include "nn/layers/checks.h"

namespace tenure::testing {
namespace {

using nn::Call;

TEST(CoreLayers, dense_follows_its_definition) {
  const nn::Dense dense({.units = 3, .activation = "tanh", .dtype = kDouble});
  Grid x = numbers({2, 2, 4});
  dense(x.tensor());
  fill_weights(dense);
  Grid kernel = grid_of(dense.get_weights()[0]), bias = grid_of(dense.get_weights()[1]);
  Grid want({2, 2, 3});
  for (int b = 0; b < 2; ++b) {
    for (int t = 0; t < 2; ++t) {
      for (int u = 0; u < 3; ++u) {
        double sum = bias(u);
        for (int f = 0; f < 4; ++f) sum += x(b, t, f) * kernel(f, u);
        want(b, t, u) = std::tanh(sum);
      }
    }
  }
  expect_near(dense(x.tensor()), want);
  check_layer(dense, {x.tensor()});
}

TEST(CoreLayers, an_activity_penalty_counts_per_example) {
  const nn::Dense dense({.units = 2, .use_bias = false, .activity_regularizer = nn::L1(0.5)});
  std::vector<Tensor> losses;
  const Tensor x = tensor({1.f, -2.f, 3.f, 4.f}, {2, 2});
  dense(x);
  dense.set_weights({tensor({1.f, 0.f, 0.f, 1.f}, {2, 2})});
  dense(x, {.training = true, .masks = {}, .losses = &losses});
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_FLOAT_EQ(losses[0].item<float>(), 0.5f * 10 / 2);
}

TEST(CoreLayers, dense_names_itself_and_the_shape_that_does_not_fit) {
  const nn::Dense dense({.units = 2, .name = "head"});
  const std::string text = message_of<ShapeError>([&] { dense(ones({3})); });
  EXPECT_HAS(text, "Dense \"head\"");
  EXPECT_HAS(text, "[3]");
  dense(ones({2, 3}));
  EXPECT_HAS(message_of<ShapeError>([&] { dense(ones({2, 4})); }), "Dense \"head\"");
  EXPECT_HAS(message_of<ValueError>([] { nn::Dense({.units = 0}); }), "units must be positive: 0");
}

TEST(CoreLayers, activation_takes_a_name_or_a_function) {
  const Tensor x = numbers({2, 3}).tensor();
  check_layer(nn::Activation("softsign"), {x});
  Grid want = grid_of(x);
  for (double& value : want.values) value *= value;
  const nn::Activation own([](Tensor t) { return t * t; });
  expect_near(in_double(own)(x), want);
  EXPECT_HAS(message_of<UnsupportedError>([&] { own.config(); }), "a function of your own");
}

TEST(CoreLayers, L5_disposing_the_output_of_a_layer_that_does_nothing_spares_its_input) {
  const Tensor x = ones({2});
  Tensor y = nn::Activation("linear")(x);
  y.dispose();
  EXPECT_FALSE(x.is_disposed());
}

TEST(CoreLayers, masking_zeroes_steps_and_leaves_them_out_of_the_mask) {
  const nn::Masking masking({.mask_value = -1});
  const Tensor x = tensor({-1.f, -1.f, -1.f, 2.f, 3.f, 4.f}, {1, 3, 2});
  EXPECT_EQ(floats(masking(x)), (Floats{0, 0, -1, 2, 3, 4}));
  EXPECT_EQ(masking.compute_mask({x}, {}).to_vector<bool>(),
            (std::vector<bool>{false, true, true}));
  check_layer(masking, {numbers({2, 3, 2}).tensor()});
}

TEST(CoreLayers, embedding_looks_rows_up_by_indices_of_any_dtype) {
  const nn::Embedding table({.input_dim = 4, .output_dim = 2, .mask_zero = true, .dtype = kDouble});
  const Tensor ids = tensor({0, 3, 1, 3}, {2, 2});
  table(ids);
  fill_weights(table);
  Grid rows = grid_of(table.get_weights()[0]), want({2, 2, 2});
  const int places[2][2] = {{0, 3}, {1, 3}};
  for (int b = 0; b < 2; ++b) {
    for (int t = 0; t < 2; ++t) {
      for (int f = 0; f < 2; ++f) want(b, t, f) = rows(places[b][t], f);
    }
  }
  expect_near(table(ids), want);
  expect_near(table(cast(ids, DType::float32)), want);
  expect_near(table(cast(ids, DType::int64)), want);
  EXPECT_EQ(table.compute_mask({ids}, {}).to_vector<bool>(),
            (std::vector<bool>{false, true, true, true}));
  check_layer(table, {ids});
}

TEST(CoreLayers, embedding_refuses_what_it_has_no_row_for_and_what_is_too_long) {
  const nn::Embedding table({.input_dim = 4, .output_dim = 2, .input_length = {3}});
  EXPECT_HAS(message_of<ShapeError>([&] { table(tensor({1, 2}, {1, 2})); }), "input_length is [3]");
  EXPECT_THROW(table(tensor({1, 2, 4}, {1, 3})), ValueError);
  EXPECT_EQ(table(tensor({1, 2, 3}, {1, 3})).shape(), (Shape{1, 3, 2}));
  EXPECT_THROW(nn::Embedding({.input_dim = 0, .output_dim = 2}), ValueError);
}

TEST(CoreLayers, embeddings_begin_between_minus_and_plus_0_05) {
  const nn::Embedding table({.input_dim = 50, .output_dim = 4});
  table.build({nn::kAny, 3});
  for (const float value : floats(table.get_weights()[0])) EXPECT_LE(std::abs(value), 0.05f);
}

TEST(CoreLayers, lambda_computes_what_its_function_says) {
  const Tensor a = numbers({2, 3}).tensor(), b = numbers({2, 3}, 2).tensor();
  Grid twice = grid_of(a), sums = grid_of(a);
  for (std::size_t i = 0; i < twice.values.size(); ++i) {
    twice.values[i] *= 2;
    sums.values[i] += grid_of(b).values[i];
  }
  const nn::Lambda one({.function = [](Tensor x) { return x * 2.0; }, .name = "twice"});
  expect_near(in_double(one)(a), twice);
  EXPECT_EQ(one.name(), "twice");
  const nn::Lambda two({.function = [](const std::vector<Tensor>& x) { return x[0] + x[1]; }});
  expect_near(in_double(two)({a, b}), sums);
  EXPECT_HAS(message_of<ShapeError>([&] { one({a, b}); }), "takes one tensor, was given 2");
  EXPECT_THROW(nn::Lambda({}), ValueError);
}

TEST(CoreLayers, files_know_a_lambda_by_its_registered_name) {
  EXPECT_HAS(message_of<ValueError>([] { nn::Lambda({.function = "unheard_of"}); }), "unheard_of");
  EXPECT_THROW(nn::Lambda({.function = [](Tensor x) { return x; }}).config(), UnsupportedError);
  nn::register_lambda("halve", [](Tensor x) { return x * 0.5; });
  check_layer(nn::Lambda({.function = "halve"}), {numbers({2, 2}).tensor()});
}

TEST(CoreLayers, identity_gives_its_input_and_passes_its_mask) {
  const auto layer = in_double(nn::Identity());
  const Tensor x = numbers({2, 3}).tensor();
  expect_near(layer(x), grid_of(x), 0);
  EXPECT_NE(layer(x).id(), x.id());
  const Tensor mask = tensor(std::vector<bool>{true, false});
  EXPECT_EQ(layer.compute_mask({x}, {mask}).id(), mask.id());
  check_layer(layer, {x});
  EXPECT_EQ(grid_of(nn::IdentityInitializer({.gain = 2})({2, 2})).values,
            (std::vector<double>{2, 0, 0, 2}));
}

// y(b, t, h, k) = sum x(b, t, d) kernel(d, h, k) + bias(h, k)
TEST(CoreLayers, einsum_dense_follows_its_equation) {
  const nn::EinsumDense layer({.equation = "btd,dhk->bthk",
                               .output_shape = {nn::kAny, 2, 3},
                               .activation = "tanh",
                               .bias_axes = "hk",
                               .dtype = kDouble});
  Grid x = numbers({2, 5, 4});
  layer(x.tensor());
  fill_weights(layer);
  Grid kernel = grid_of(layer.get_weights()[0]), bias = grid_of(layer.get_weights()[1]);
  EXPECT_EQ(kernel.shape, (Shape{4, 2, 3}));
  EXPECT_EQ(bias.shape, (Shape{2, 3}));
  Grid want({2, 5, 2, 3});
  for (int b = 0; b < 2; ++b) {
    for (int t = 0; t < 5; ++t) {
      for (int h = 0; h < 2; ++h) {
        for (int k = 0; k < 3; ++k) {
          double sum = bias(h, k);
          for (int d = 0; d < 4; ++d) sum += x(b, t, d) * kernel(d, h, k);
          want(b, t, h, k) = std::tanh(sum);
        }
      }
    }
  }
  expect_near(layer(x.tensor()), want);
  check_layer(layer, {x.tensor()});
  EXPECT_EQ(layer(nn::Input({.shape = {nn::kAny, 4}})).shape(), (Shape{nn::kAny, nn::kAny, 2, 3}));
}

TEST(CoreLayers, einsum_dense_leaves_axes_out_and_biases_some) {
  const auto built = [](nn::EinsumDenseOptions options, const Shape& input) {
    options.dtype = kDouble;
    const nn::EinsumDense layer(options);
    layer(numbers(input).tensor());
    fill_weights(layer);
    check_layer(layer, {numbers(input).tensor()});
    std::vector<Shape> shapes{layer(numbers(input).tensor()).shape()};
    for (const Variable& weight : layer.weights()) shapes.push_back(weight.shape());
    return shapes;
  };
  using Shapes = std::vector<Shape>;
  EXPECT_EQ(built({.equation = "...x,xy->...y", .output_shape = {5}, .bias_axes = "y"}, {2, 3, 4}),
            (Shapes{{2, 3, 5}, {4, 5}, {5}}));
  EXPECT_EQ(
      built({.equation = "ab...,bc->ac...", .output_shape = {5}, .bias_axes = "c"}, {2, 3, 4}),
      (Shapes{{2, 5, 4}, {3, 5}, {5, 1}}));
  // The batch stays: a weight for each step, a bias for each step alone.
  EXPECT_EQ(
      built({.equation = "abc,bcd->abd", .output_shape = {3, 5}, .bias_axes = "b"}, {2, 3, 4}),
      (Shapes{{2, 3, 5}, {3, 4, 5}, {3, 1}}));
  EXPECT_EQ(built({.equation = "ab, bc -> ac", .output_shape = {5}}, {2, 3}),
            (Shapes{{2, 5}, {3, 5}}));
}

TEST(CoreLayers, einsum_dense_says_what_is_wrong_with_its_equation_or_its_input) {
  const auto refused = [](const char* equation, const char* bias_axes = "") {
    return message_of<ValueError>([&] {
      nn::EinsumDense({.equation = equation, .output_shape = {2}, .bias_axes = bias_axes});
    });
  };
  for (const char* equation : {"", "ab,bc", "ab->ac", "...ab,bc->ac", "aab,bc->ac", "a1,bc->ac"}) {
    EXPECT_HAS(refused(equation), "EinsumDense: the equation must be as \"ab,bc->ac\"");
  }
  EXPECT_HAS(refused("ab,bc->az"), "no other part has the \"z\" of its output");
  EXPECT_HAS(refused("ab,bcz->ac"), "no other part has the \"z\" of its kernel");
  EXPECT_HAS(refused("ab,bc->ac", "b"), "bias_axes has \"b\", which the output");
  const nn::EinsumDense layer({.equation = "ab,bc->ac", .output_shape = {2, 2}, .name = "e"});
  EXPECT_HAS(message_of<ShapeError>([&] { layer(ones({2, 3})); }),
             "EinsumDense \"e\": output_shape [2, 2], without the batch, does not fit");
  EXPECT_HAS(message_of<ShapeError>([&] { layer(ones({2, 3, 4})); }), "of inputs of rank 2");
  const nn::EinsumDense fixed({.equation = "abc,cd->abd", .output_shape = {7, 2}});
  EXPECT_HAS(message_of<ShapeError>([&] { fixed(ones({2, 3, 4})); }),
             "the size of \"b\" is 3 in the input [2, 3, 4], 7 in output_shape [7, 2]");
}

}  // namespace
}  // namespace tenure::testing
