// A Sequential whose sizes are those of the first data that it is given.
#include <filesystem>

#include "nn/layers/checks.h"
#include "tenure/nn.h"

namespace tenure::testing {
namespace {

nn::Sequential undeclared(const std::string& name = {}) {
  return nn::Sequential({nn::Dense({.units = 4, .name = "d"}), nn::Dense({.units = 1})},
                        {.name = name});
}

void expect_any_batch(const nn::Model& model) {
  ASSERT_EQ(model.inputs().size(), 1u);
  EXPECT_EQ(model.inputs()[0].shape(), (Shape{nn::kAny, 3}));
  const nn::Model features({model.inputs()}, {model.get_layer("d").output()});
  EXPECT_EQ(features.predict(ones({2, 3})).shape(), (Shape{2, 4}));
  EXPECT_EQ(model.predict(ones({5, 3})).shape(), (Shape{5, 1}));
}

TEST(SequentialOfData, takes_any_number_of_examples_also_as_a_part_of_others) {
  const nn::Sequential model = undeclared();
  model.predict(ones({8, 3}));
  expect_any_batch(model);
  const nn::Sequential outer({undeclared("inner")});
  outer.predict(ones({8, 3}));
  expect_any_batch(outer.get_layer("inner"));
}

// Whatever was traced of it before.
TEST(SequentialChanged, what_is_added_and_popped_counts_at_once) {
  const nn::Sequential model(
      {nn::Dense({.units = 3, .input_shape = {2}}), nn::Dense({.units = 1})});
  const Tensor x = ones({4, 2});
  EXPECT_EQ(model.predict(x).shape(), Shape({4, 1}));
  model.pop();
  model.add(nn::Dense({.units = 7}));
  EXPECT_EQ(model.predict(x).shape(), Shape({4, 7}));
  EXPECT_EQ(model.predict_on_batch(x).shape(), Shape({4, 7}));
  const nn::Sequential outer({model});
  EXPECT_EQ(outer.predict(x).shape(), Shape({4, 7}));
}

TEST(SequentialChanged, a_layer_that_is_added_after_a_fit_is_trained_and_judged) {
  const Tensor x = ones({4, 2}), y = ones({4, 3});
  const nn::Sequential model({nn::Dense({.units = 3, .input_shape = {2}})});
  model.compile({.optimizer = nn::SGD({.learning_rate = 0.1}), .loss = "mse"});
  model.fit(x, y, {.epochs = 2, .verbose = nn::Verbose::silent});
  const nn::Dense added({.units = 3});
  model.add(added);
  const Floats before = floats(added.weights()[0].read());
  const nn::History history = model.fit(x, y, {.epochs = 3, .verbose = nn::Verbose::silent});
  EXPECT_NE(floats(added.weights()[0].read()), before);
  EXPECT_NEAR(nn::value_of(model.evaluate(x, y), "loss"), mean(square(model(x) - y)).item<float>(),
              1e-6);
  EXPECT_LT(history["loss"].back(), history["loss"].front());
  model.pop();
  model.pop();
  model.add(nn::Dense({.units = 1}));
  EXPECT_GT(nn::value_of(model.evaluate(x, ones({4, 1})), "loss"), 0);
}

// A model that another is made of.
TEST(SequentialChanged, a_change_within_counts_for_the_models_around) {
  const nn::Sequential inner(
      {nn::Dense({.units = 4}), nn::Dropout({.rate = 0.5}), nn::Dense({.units = 2})});
  const nn::Sequential outer({nn::Dense({.units = 3, .input_shape = {2}}), inner});
  const Tensor x = ones({4, 2});
  EXPECT_EQ(outer.predict(x).shape(), Shape({4, 2}));
  inner.pop();
  EXPECT_EQ(outer.predict(x).shape(), Shape({4, 4}));
  const nn::Sequential other({nn::Dense({.units = 1, .input_shape = {2}})});  // not its business
  EXPECT_EQ(outer.predict(x).shape(), outer(x).shape());
}

TEST(SequentialOfData, copies_and_files_take_any_number_too) {
  const nn::Sequential model = undeclared();
  model.predict(ones({8, 3}));
  expect_any_batch(nn::clone_model(model));
  const std::string path = ::testing::TempDir() + "sequential_of_data.safetensors";
  model.save(path);
  expect_any_batch(nn::load_model(path));
  std::filesystem::remove(path);
}

TEST(SequentialOfData, a_stateful_layer_keeps_the_batch_that_it_was_built_for) {
  const nn::Sequential model(
      {nn::SimpleRNN({.units = 2, .stateful = true}), nn::Dense({.units = 1})});
  model.predict(ones({2, 5, 3}));
  EXPECT_EQ(model.inputs()[0].shape(), (Shape{2, 5, 3}));
}

TEST(SequentialOfData, a_layer_that_takes_one_number_of_examples_keeps_to_it) {
  const nn::Lambda eight({.function = [](Tensor x) { return reshape(x, {8, 3}); }});
  const nn::Sequential model({eight, nn::Dense({.units = 1})});
  EXPECT_EQ(model.predict(ones({8, 3})).shape(), (Shape{8, 1}));
  EXPECT_EQ(model.inputs()[0].shape(), (Shape{8, 3}));
}

TEST(SequentialOfData, says_what_it_was_built_for) {
  const nn::Sequential model = undeclared("m");
  model.predict(ones({8, 5}));
  const std::string text = whole_message_of<ShapeError>([&] { model.predict(ones({8, 3})); });
  EXPECT_HAS(text, "was built for [-1, 5] (-1: any size), was given [8, 3]");
  EXPECT_HAS(text, "its sizes are those of the first data that it was given");
}

TEST(SequentialInBraces, that_is_not_compiled_says_that_the_one_in_it_is) {
  const nn::Sequential inner({nn::Dense({.units = 1, .input_shape = {2}})}, {.name = "inner"});
  inner.compile({.optimizer = "sgd", .loss = "mse"});
  const nn::Sequential nested{inner};
  const std::string text =
      whole_message_of<ValueError>([&] { nested.fit(ones({2, 2}), ones({2, 1})); });
  EXPECT_HAS(text, "is not compiled");
  EXPECT_HAS(text, "it holds one model, Sequential \"inner\", which is compiled");
  EXPECT_HAS(text, "Sequential m = model or Sequential m(model), not Sequential m{model}");
  EXPECT_HAS(whole_message_of<ValueError>([&] { nested.evaluate(ones({2, 2}), ones({2, 1})); }),
             "it holds one model");
  const nn::Sequential plain({nn::Dense({.units = 1})});
  EXPECT_HAS(whole_message_of<ValueError>([&] { plain.fit(ones({2, 2}), ones({2, 1})); }),
             "call compile(");
}

TEST(ModelOfALayer, is_the_model_that_the_layer_is) {
  const nn::Sequential base({nn::Dense({.units = 2, .name = "d", .input_shape = {3}})},
                            {.name = "base"});
  const nn::Sequential whole({base, nn::Dense({.units = 1, .name = "head"})}, {.name = "whole"});
  const nn::Model inner = whole.get_layer("base");
  EXPECT_EQ(inner, base);
  EXPECT_EQ(inner.get_layer("d").class_name(), "Dense");
  EXPECT_HAS(inner.summary(), "Sequential \"base\"");
  const int line = here().line() + 1;
  const auto refuse = [&] { const nn::Model none = whole.get_layer("head"); };
  const std::string text = whole_message_of<ValueError>(refuse);
  EXPECT_HAS(text, "Model: Dense \"head\" is a layer, not a model");
  EXPECT_HAS(text, "sequential_of_data_test.cpp:" + std::to_string(line));
}

TEST(EmptyOptions, are_the_defaults) {
  EXPECT_EQ(nn::BatchNormalization({}).class_name(), "BatchNormalization");
  EXPECT_EQ(nn::Add({}).class_name(), "Add");
  EXPECT_EQ(nn::Normalization({}).class_name(), "Normalization");
  EXPECT_EQ(nn::Adam({}).class_name(), "Adam");
  EXPECT_EQ(nn::TextVectorization({}).tokens("A b"), (std::vector<std::string>{"a", "b"}));
}

TEST(TerminateOnNaN, passes_over_steps_that_give_no_loss) {
  struct Net : nn::ModelBase {
    nn::StepLogs train_step(const nn::Batch&) override { return {{"seen", ones({})}}; }
    Tensor call(const Tensor& x, const nn::Call&) override { return dense(x); }
    nn::Layer dense = track(nn::Dense({.units = 1}));
  };
  const nn::Model net = nn::make_model<Net>();
  net.compile({.optimizer = "sgd"});
  const nn::History history =
      net.fit(ones({4, 2}), ones({4, 1}),
              {.verbose = nn::Verbose::silent, .callbacks = {nn::TerminateOnNaN()}});
  EXPECT_EQ(history["seen"], std::vector<double>{1});
  EXPECT_EQ(history.stopped, "");
}

TEST(Progress, evaluate_and_predict_tell_when_they_are_asked_to) {
  const nn::Sequential model({nn::Dense({.units = 1})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const auto told = [](auto&& run) {
    ::testing::internal::CaptureStdout();
    run();
    return ::testing::internal::GetCapturedStdout();
  };
  const Tensor x = ones({4, 2}), y = ones({4, 1});
  EXPECT_EQ(told([&] { model.evaluate(x, y); }), "");
  EXPECT_EQ(told([&] { model.predict(x); }), "");
  const nn::Verbose lines = nn::Verbose::lines;
  EXPECT_HAS(told([&] { model.evaluate(x, y, {.batch_size = 2, .verbose = lines}); }),
             "Evaluate  2 batches in ");
  EXPECT_HAS(told([&] { model.predict(x, {.batch_size = 2, .verbose = lines}); }),
             "Predict  2 batches in ");
}

}  // namespace
}  // namespace tenure::testing
