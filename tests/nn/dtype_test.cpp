// What a layer's dtype and an Input's mean: floating-point inputs are cast to them.
#include "support/expect.h"

namespace tenure::testing {
namespace {

constexpr DType kFloating[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16};

nn::Layer with_weights(int kind, DType dtype) {
  switch (kind) {
    case 0:
      return nn::Dense({.units = 3, .dtype = dtype});
    case 1:
      return nn::BatchNormalization({.dtype = dtype});
    case 2:
      return nn::LayerNormalization({.dtype = dtype});
    case 3:
      return nn::GroupNormalization({.groups = 2, .dtype = dtype});
    case 4:
      return nn::PReLU({.dtype = dtype});
    case 5:
      return nn::Conv1D({.filters = 2, .kernel_size = {2}, .dtype = dtype});
    case 6:
      return nn::SeparableConv1D({.filters = 2, .kernel_size = {2}, .dtype = dtype});
    case 7:
      return nn::LSTM({.units = 2, .dtype = dtype});
    case 8:
      return nn::TimeDistributed(nn::Dense({.units = 2, .dtype = dtype}));
    default:
      return nn::Bidirectional(nn::GRU({.units = 2, .dtype = dtype}), {.dtype = dtype});
  }
}

TEST(LayerDtype, layers_with_weights_give_the_dtype_of_their_weights) {
  for (const DType of_layer : kFloating) {
    for (const DType given : kFloating) {
      const Tensor x = cast(random::normal({2, 3, 4}), given);
      for (int kind = 0; kind < 10; ++kind) {
        const nn::Layer layer = with_weights(kind, of_layer);
        for (const bool training : {false, true}) {
          EXPECT_EQ(layer(x, {.training = training}).dtype(), of_layer)
              << layer.class_name() << " given " << name(given);
        }
        EXPECT_EQ(layer.output_spec({{{nn::kAny, 3, 4}, given}}).dtype, of_layer);
      }
      const nn::MultiHeadAttention attention({.num_heads = 2, .key_dim = 3, .dtype = of_layer});
      EXPECT_EQ(attention({x, x}).dtype(), of_layer);
    }
  }
}

TEST(LayerDtype, layers_without_weights_give_their_dtype_too) {
  for (const DType of_layer : kFloating) {
    for (const DType given : kFloating) {
      const Tensor x = cast(random::normal({2, 3, 4}), given);
      for (const nn::Layer& layer :
           {nn::Layer(nn::Flatten({.dtype = of_layer})),
            nn::Layer(nn::Dropout({.rate = 0.5, .dtype = of_layer})),
            nn::Layer(nn::MaxPooling1D({.dtype = of_layer})),
            nn::Layer(nn::ReLU({.dtype = of_layer})),
            nn::Layer(nn::Activation({.activation = "gelu", .dtype = of_layer})),
            nn::Layer(nn::Masking({.dtype = of_layer})),
            nn::Layer(nn::Rescaling({.scale = 2, .dtype = of_layer})),
            nn::Layer(nn::GlobalAveragePooling1D({.dtype = of_layer}))}) {
        EXPECT_EQ(layer(x, {.training = true}).dtype(), of_layer) << layer.class_name();
        EXPECT_EQ(layer.output_spec({{{nn::kAny, 3, 4}, given}}).dtype, of_layer);
      }
      EXPECT_EQ(nn::Add({.dtype = of_layer})({x, x}).dtype(), of_layer);
    }
  }
}

TEST(LayerDtype, float64_data_makes_no_layer_compute_float64) {
  const Tensor x = cast(random::normal({2, 3, 4}), DType::float64);
  for (int kind = 0; kind < 10; ++kind) {
    EXPECT_EQ(with_weights(kind, DType::float32)(x).dtype(), DType::float32);
  }
  for (const nn::Layer& layer :
       {nn::Layer(nn::Flatten()), nn::Layer(nn::Dropout({.rate = 0.5})),
        nn::Layer(nn::MaxPooling1D()), nn::Layer(nn::Softmax()),
        nn::Layer(nn::Lambda({.function = [](Tensor in) { return in * 2.0; }}))}) {
    EXPECT_EQ(layer(x).dtype(), DType::float32) << layer.class_name();
  }
  EXPECT_EQ(nn::Flatten()(tensor({1, 2}, {1, 2})).dtype(), DType::int32);  // numbers of things stay
}

TEST(LayerDtype, a_dtype_may_be_named) {
  const nn::Dense half({.units = 2, .dtype = "bfloat16"});
  EXPECT_EQ(half(ones({1, 2})).dtype(), DType::bfloat16);
  EXPECT_EQ(half.weights()[0].dtype(), DType::bfloat16);
  const nn::Dense mixed({.units = 2, .dtype = "mixed_float16"});
  EXPECT_EQ(mixed(ones({1, 2})).dtype(), DType::float16);
  EXPECT_EQ(mixed.weights()[0].dtype(), DType::float32);
  EXPECT_HAS(message_of<ValueError>([] { nn::Dense({.units = 2, .dtype = "half"}); }),
             "dtype: no such one: \"half\" (float32, float64, float16, bfloat16, mixed_float16");
}

struct Twice : nn::LayerBase {
  void build(const Shape& input) override {
    first = add_weight("first", {input[-1]}, {.dtype = DType::float32});
    if (mixed) second = add_weight("second", {input[-1]}, {.dtype = DType::float64});
  }
  Tensor call(const Tensor& x, const nn::Call&) override {
    seen = x.dtype();
    return x * first;
  }
  bool casts_inputs() const override { return casts; }
  bool mixed = false, casts = true;
  DType seen = DType::boolean;
  Variable first, second;
};

TEST(LayerDtype, a_layer_of_ones_own_is_cast_for_too_unless_it_says_no) {
  const Tensor x = ones({2, 3}, DType::float16);
  for (const bool mixed : {false, true}) {
    for (const bool casts : {false, true}) {
      const nn::Layer layer = nn::make_layer<Twice>();
      layer.as<Twice>()->mixed = mixed;
      layer.as<Twice>()->casts = casts;
      layer(x);
      EXPECT_EQ(layer.as<Twice>()->seen, casts ? DType::float32 : DType::float16);
    }
  }
}

TEST(LayerDtype, integers_and_numbers_of_rows_are_not_cast) {
  const nn::Embedding table({.input_dim = 300,
                             .output_dim = 1,
                             .embeddings_initializer = nn::Constant({.value = 1}),
                             .dtype = DType::bfloat16});
  table.build({nn::kAny});
  table.set_weights({one_hot(tensor({257}), 300, {.axis = 0, .dtype = DType::bfloat16})});
  EXPECT_EQ(cast(table(tensor({257.f})), DType::float32).item<float>(), 1);  // bfloat16 has no 257
  EXPECT_EQ(cast(table(tensor({257})), DType::float32).item<float>(), 1);
}

TEST(LayerDtype, a_model_gives_the_dtype_that_its_outputs_say) {
  for (const DType dtype : kFloating) {
    const nn::Node input = nn::Input({.shape = {4}, .dtype = dtype});
    const nn::Model plain({input}, {nn::Flatten({.dtype = dtype})(input)});
    const nn::Model dense({input}, {nn::Dense({.units = 1, .dtype = dtype})(input)});
    const nn::Sequential chain(
        {nn::Dense({.units = 2, .input_shape = {4}, .dtype = dtype}), nn::Dropout({.rate = 0.1})});
    EXPECT_EQ(plain.outputs()[0].dtype(), dtype);
    for (const nn::Model& model : {plain, dense, nn::Model(chain)}) {
      for (const DType given : kFloating) {
        EXPECT_EQ(model.predict(ones({2, 4}, given)).dtype(), model.outputs()[0].dtype());
      }
    }
  }
  const nn::Node numbers = nn::Input({.shape = {4}, .dtype = DType::int32});
  const nn::Model same({numbers}, {nn::Flatten()(numbers)});
  EXPECT_EQ(same.predict(ones({2, 4}, DType::int32)).dtype(), DType::int32);
}

TEST(LayerDtype, states_are_given_in_any_dtype) {
  const nn::GRU gru({.units = 2, .dtype = DType::float16});
  EXPECT_EQ(gru({ones({1, 3, 2}), ones({1, 2})}).dtype(), DType::float16);
}

TEST(LayerDtype, scores_of_halves_are_masked) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    const Tensor scores = zeros({1, 4}, dtype), mask = tensor({true, false, true, false}, {1, 4});
    EXPECT_EQ(floats(cast(nn::Softmax()(scores, {.masks = {mask}}), DType::float32)),
              (Floats{0.5F, 0, 0.5F, 0}));
  }
}

}  // namespace
}  // namespace tenure::testing
