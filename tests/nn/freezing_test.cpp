// What becomes of the layers in one that is frozen.
#include <cmath>

#include "nn/layers/checks.h"
#include "tenure/nn/files.h"
#include "tenure/nn/model.h"
#include "tenure/nn/normalization_layers.h"
#include "tenure/nn/recurrent_layers.h"
#include "tenure/nn/reshaping_layers.h"

namespace tenure::testing {
namespace {

nn::Sequential base_model(const std::string& name = "base") {
  return nn::Sequential(
      {nn::Dense({.units = 3, .activation = "tanh", .input_shape = {2}}), nn::BatchNormalization()},
      {.name = name});
}

std::vector<Floats> values_of(const std::vector<Tensor>& tensors) {
  std::vector<Floats> values;
  for (const Tensor& tensor : tensors) values.push_back(floats(tensor));
  return values;
}

Tensor batch_x() { return numbers({8, 2}).tensor(DType::float32); }
Tensor batch_y() { return numbers({8, 1}, 3).tensor(DType::float32); }

TEST(Freezing, a_container_passes_it_on_to_every_layer_in_it_and_back) {
  const nn::Dense first({.units = 3, .input_shape = {2}});
  const nn::Dense inside({.units = 3});
  const nn::TimeDistributed wrapper(inside);
  const nn::Sequential inner({nn::Reshape({.target_shape = {1, 3}}), wrapper});
  const nn::Sequential outer({first, inner});
  outer.set_trainable(false);
  for (const nn::Layer& layer : std::vector<nn::Layer>{outer, first, inner, wrapper, inside}) {
    EXPECT_FALSE(layer.trainable()) << layer.name();
  }
  EXPECT_TRUE(outer.trainable_weights().empty());
  inner.set_trainable(true);
  EXPECT_TRUE(inside.trainable());
  EXPECT_FALSE(first.trainable());
  outer.set_trainable(true);
  EXPECT_TRUE(first.trainable());
  EXPECT_EQ(outer.trainable_weights().size(), 4u);
}

TEST(Freezing, what_is_frozen_as_it_is_made_reaches_the_layers_in_it) {
  const nn::BatchNormalization inside;
  const nn::TimeDistributed wrapper(inside, {.trainable = false});
  EXPECT_FALSE(inside.trainable());
  const Tensor x = numbers({4, 3, 2}).tensor(DType::float32);
  wrapper(x);
  const std::vector<Floats> before = values_of(wrapper.get_weights());
  wrapper(x, {.training = true});
  EXPECT_EQ(values_of(wrapper.get_weights()), before) << "its moving averages, too";

  const nn::Dense first({.units = 2, .input_shape = {2}}), second({.units = 2});
  const nn::Sequential frozen({first}, {.name = "frozen", .trainable = false});
  frozen.add(second);
  EXPECT_FALSE(frozen.trainable());
  EXPECT_FALSE(first.trainable());
  EXPECT_FALSE(second.trainable());
  EXPECT_TRUE(frozen.trainable_weights().empty());
  const nn::Dense third({.units = 2});
  const nn::Node in = nn::Input({.shape = {2}});
  const nn::Model graph({in}, {third(in)}, {.trainable = false});
  EXPECT_FALSE(third.trainable());
  graph.set_trainable(true);
  EXPECT_TRUE(third.trainable());
}

TEST(Freezing, a_frozen_spectral_normalization_still_divides_its_kernel_as_in_keras) {
  const nn::SpectralNormalization layer(nn::Dense({.units = 3}), {.trainable = false});
  layer(batch_x());
  const std::vector<Floats> before = values_of(layer.get_weights());
  EXPECT_TRUE(layer.trainable_weights().empty());
  layer(batch_x(), {.training = true});
  EXPECT_NE(values_of(layer.get_weights()), before);
}

struct Own : nn::ModelBase {
  Tensor call(const Tensor& x, const nn::Call& how) override { return norm(dense(x, how), how); }
  nn::Layer dense = track(nn::Dense({.units = 3}));
  nn::Layer norm = track(nn::BatchNormalization());
};

TEST(Freezing, layers_that_a_model_of_ones_own_tracks_are_reached) {
  const nn::Model own = nn::make_model<Own>();
  own.set_trainable(false);
  EXPECT_FALSE(own.as<Own>()->norm.trainable());
  own(batch_x());
  const std::vector<Floats> before = values_of(own.get_weights());
  own(batch_x(), {.training = true});
  EXPECT_EQ(values_of(own.get_weights()), before);
}

TEST(Freezing, a_frozen_base_keeps_its_weights_and_moving_averages_in_a_fit) {
  for (const bool eager : {false, true}) {
    SCOPED_TRACE(eager);
    const nn::Sequential base = base_model();
    base.set_weights({tensor({0.5f, -1.f, 2.f, 1.f, 0.25f, -0.5f}, {2, 3}), zeros({3}), ones({3}),
                      zeros({3}), full({3}, 0.5f), full({3}, 4.f)});
    base.set_trainable(false);
    const nn::Dense head({.units = 1});
    const nn::Sequential model({base, head});
    model.compile({.optimizer = nn::SGD({.learning_rate = 0.1}), .loss = "mse", .eager = eager});
    const std::vector<Floats> before = values_of(base.get_weights()),
                              head_before = values_of(head.get_weights());
    // In inference mode: (tanh(x w) - 0.5) / sqrt(4 + 0.001), whatever the batch.
    const Grid x = grid_of(batch_x());
    const double w[2][3] = {{0.5, -1, 2}, {1, 0.25, -0.5}};
    Grid want({8, 3});
    for (int row = 0; row < 8; ++row) {
      for (int unit = 0; unit < 3; ++unit) {
        const double sum = x.values[2 * row] * w[0][unit] + x.values[2 * row + 1] * w[1][unit];
        want(row, unit) = (std::tanh(sum) - 0.5) / std::sqrt(4 + 1e-3);
      }
    }
    expect_near(base(batch_x(), {.training = true}), want, 1e-5);
    model.fit(batch_x(), batch_y(), {.batch_size = 4, .epochs = 2, .verbose = nn::Verbose::silent});
    EXPECT_EQ(values_of(base.get_weights()), before);
    EXPECT_NE(values_of(head.get_weights()), head_before);
  }
}

TEST(Freezing, a_change_counts_from_the_next_compile_on) {
  const nn::Sequential base = base_model();
  const nn::Sequential model({base, nn::Dense({.units = 1})});
  const auto trained = [&] {
    const std::vector<Floats> before = values_of(base.get_weights());
    model.train_on_batch(batch_x(), batch_y());
    return values_of(base.get_weights()) != before;
  };
  const auto compile = [&] { model.compile({.optimizer = "sgd", .loss = "mse"}); };
  compile();
  base.set_trainable(false);  // before there was a step
  EXPECT_FALSE(trained());
  base.set_trainable(true);
  compile();
  EXPECT_TRUE(trained());
  base.set_trainable(false);
  compile();
  EXPECT_FALSE(trained());
}

TEST(Freezing, files_keep_what_each_layer_was_told) {
  const nn::Sequential base = base_model("frozen");
  const nn::Sequential model({base, nn::Dense({.units = 1, .name = "head"})}, {.name = "m"});
  base.set_trainable(false);
  base.get_layer(1).set_trainable(true);
  const std::string path = ::testing::TempDir() + "frozen.safetensors";
  model.save(path);
  const nn::Model again = nn::load_model(path);
  EXPECT_FALSE(again.get_layer("frozen").trainable());
  EXPECT_FALSE(again.get_layer("frozen").layers()[0].trainable());
  EXPECT_TRUE(again.get_layer("frozen").layers()[1].trainable());
  EXPECT_EQ(again.trainable_weights().size(), 2u);  // what is in a frozen one is
}

}  // namespace
}  // namespace tenure::testing
