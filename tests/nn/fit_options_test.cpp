// Options of fit, evaluate and predict: what each does, and that one that cannot apply is refused.
#include <gtest/gtest.h>

#include "support/expect.h"
#include "tenure/tenure.h"

namespace tenure::fitting {
namespace {

using tenure::testing::floats;
using tenure::testing::message_of;

constexpr nn::Verbose kSilent = nn::Verbose::silent;

struct FitOptionsTest : ::testing::Test {
  FitOptionsTest() { model.compile({.optimizer = nn::SGD({.learning_rate = 0}), .loss = "mse"}); }
  // 2 x - y is 1, 3, 5, 7, 9.
  Tensor x = tensor({1.f, 2.f, 3.f, 4.f, 5.f}, {5, 1}), y = ones({5, 1});
  nn::Dataset examples = nn::Dataset::from_tensors(x, y);
  nn::Sequential model{{nn::Dense({.units = 1,
                                   .use_bias = false,
                                   .kernel_initializer = nn::Constant({2}),
                                   .input_shape = {1}})}};
  std::string refused(const nn::FitOptions& options) {
    return message_of<ValueError>([&] { model.fit(x, y, options); });
  }
  std::string refused(const nn::Dataset& data, const nn::FitOptions& options) {
    return message_of<ValueError>([&] { model.fit(data, options); });
  }
};

// Gives x0 + 10 x1 and x0 - x1.
nn::Model of_two_inputs() {
  const nn::Node a = nn::Input({.shape = {1}}), b = nn::Input({.shape = {1}});
  const nn::Layer tens = nn::Rescaling({.scale = 10.0});
  return {{a, b}, {nn::Add()({a, tens(b)}), nn::Subtract()({a, b})}};
}

TEST_F(FitOptionsTest, validation_steps_are_the_first_batches_each_time) {
  const nn::History history = model.fit(x, y,
                                        {.epochs = 2,
                                         .verbose = kSilent,
                                         .validation = examples.batch(2).repeat(),
                                         .validation_steps = 2});
  for (const double loss : history["val_loss"]) EXPECT_NEAR(loss, (1 + 9 + 25 + 49) / 4.0, 1e-5);
}

TEST_F(FitOptionsTest, validation_has_a_batch_size_of_its_own) {
  std::vector<std::int64_t> sizes;
  struct Sizes : nn::LayerBase {
    explicit Sizes(std::vector<std::int64_t>& list) : seen(list) {}
    Tensor call(const Tensor& in, const nn::Call& how) override {
      if (!how.training) seen.push_back(in.dim(0));
      return in;
    }
    std::vector<std::int64_t>& seen;
  };
  const nn::Sequential watched({nn::Dense({.units = 1}), nn::make_layer<Sizes>(sizes)});
  watched.compile({.optimizer = "sgd", .loss = "mse", .eager = true});
  watched.build({nn::kAny, 1});
  sizes.clear();
  for (const bool split : {false, true}) {
    nn::FitOptions options{.batch_size = 1, .verbose = kSilent, .validation_batch_size = 3};
    if (split) {
      options.validation_split = 0.6;
    } else {
      options.validation = examples;
    }
    watched.fit(x, y, options);
    EXPECT_EQ(sizes.back(), split ? 3 : 2);
    EXPECT_EQ(std::ranges::count(sizes, 3), 1) << split;
    sizes.clear();
  }
}

TEST_F(FitOptionsTest, evaluate_and_predict_take_so_many_steps) {
  EXPECT_NEAR(nn::value_of(model.evaluate(x, y, {.batch_size = 2, .steps = 1}), "loss"), 5, 1e-5);
  EXPECT_NEAR(nn::value_of(model.evaluate(examples.batch(2).repeat(), {.steps = 2}), "loss"),
              (1 + 9 + 25 + 49) / 4.0, 1e-5);
  EXPECT_EQ(floats(model.predict(x, {.batch_size = 2, .steps = 2})),
            (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(floats(model.predict(x, {.steps = 1})), (std::vector<float>{2, 4, 6, 8, 10}));
  EXPECT_EQ(floats(model.predict(examples.batch(3).repeat(), {.steps = 1})),
            (std::vector<float>{2, 4, 6}));
}

TEST_F(FitOptionsTest, predict_of_a_dataset_is_that_of_its_inputs) {
  const std::vector<float> all{2, 4, 6, 8, 10};
  EXPECT_EQ(floats(model.predict(examples.batch(2))), all);
  EXPECT_EQ(floats(model.predict(nn::Dataset::from_tensors(x).batch(5))), all);
  EXPECT_EQ(floats(model.predict_all(examples.batch(2).prefetch(2)).at(0)), all);
  EXPECT_HAS(message_of<ValueError>([&] { model.predict(examples.take(0).batch(2)); }),
             "there are no examples");
}

TEST_F(FitOptionsTest, predictions_of_a_dataset_are_the_users) {
  const Tensor kept = tidy([&] { return model.predict(examples.batch(2)); });
  Tensor dropped;
  tidy([&] { dropped = model.predict(examples.batch(2)); });
  EXPECT_FALSE(kept.is_disposed());
  EXPECT_TRUE(dropped.is_disposed());
}

TEST_F(FitOptionsTest, predict_of_a_dataset_with_several_outputs_gives_all) {
  const nn::Model two = of_two_inputs();
  const nn::Dataset data = nn::Dataset::from_tensors({x, y}).batch(2);
  const std::vector<Tensor> outputs = two.predict_all(data);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(floats(outputs[0]), (std::vector<float>{11, 12, 13, 14, 15}));
  EXPECT_EQ(floats(outputs[1]), (std::vector<float>{0, 1, 2, 3, 4}));
  EXPECT_HAS(message_of<ValueError>([&] { two.predict(data); }), "has 2 outputs: use predict_all");
}

TEST_F(FitOptionsTest, predict_on_batch_takes_all_at_once) {
  EXPECT_EQ(floats(model.predict_on_batch(x)), (std::vector<float>{2, 4, 6, 8, 10}));
  const nn::Sequential whole(
      {nn::GRU({.units = 2, .stateful = true, .batch_input_shape = {40, 1, 1}})});
  EXPECT_EQ(whole.predict_on_batch(ones({40, 1, 1})).shape(), (Shape{40, 2}));
  const std::vector<Tensor> outputs = of_two_inputs().predict_on_batch({x, y});
  EXPECT_EQ(floats(outputs[1]), (std::vector<float>{0, 1, 2, 3, 4}));
}

TEST_F(FitOptionsTest, several_inputs_are_evaluated_fitted_and_predicted_in_the_background) {
  const nn::Model two = of_two_inputs();
  two.compile({.optimizer = "sgd", .loss = "mae", .metrics = {{"mse"}, {}}});
  const std::vector<Tensor> in{x, y}, out{zeros({5, 1}), zeros({5, 1})};
  const nn::Logs logs = two.evaluate(in, out, {.batch_size = 2});
  EXPECT_NEAR(nn::value_of(logs, "loss"), 13 + 2, 1e-5);
  set_warning_sink([](std::string_view) {});  // that it has no weights
  const nn::History history = two.fit_async(in, out, {.batch_size = 2, .epochs = 2}).get();
  set_warning_sink({});
  EXPECT_EQ(history.epochs.size(), 2u);
  EXPECT_NEAR(history["loss"][1], 15, 1e-5);
  Job<std::vector<Tensor>> job = [&] {
    std::vector<Tensor> own{x.clone(), y.clone()};
    Job<std::vector<Tensor>> started =
        tidy([&] { return two.predict_async(own, {.batch_size = 3}); });
    for (Tensor& each : own) each.dispose();
    return started;
  }();
  const std::vector<Tensor> outputs = job.get();
  EXPECT_EQ(floats(outputs.at(0)), (std::vector<float>{11, 12, 13, 14, 15}));
  EXPECT_EQ(floats(outputs.at(1)), (std::vector<float>{0, 1, 2, 3, 4}));
}

TEST_F(FitOptionsTest, of_a_validation_that_is_not_there_are_refused) {
  EXPECT_HAS(refused({.validation_freq = 2}), "validation_freq 2 without a validation");
  EXPECT_HAS(refused({.validation_steps = 1}), "validation_steps 1 without a validation");
  EXPECT_HAS(refused({.validation_batch_size = 8}), "validation_batch_size 8 without");
  EXPECT_HAS(refused({.validation_split = 0.5, .validation = examples}),
             "validation_split 0.5 beside validation");
  EXPECT_HAS(refused({.validation = examples.batch(2), .validation_batch_size = 2}),
             "validation_batch_size 2, but validation comes in batches");
  EXPECT_HAS(refused({.validation = examples.batch(2), .validation_steps = 4}),
             "validation_steps 4 is more than there are batches: 3");
  EXPECT_HAS(refused({.validation = examples, .validation_batch_size = 0}),
             "validation_batch_size must be positive: 0");
  EXPECT_HAS(refused({.validation = examples, .validation_steps = -1}),
             "validation_steps must be at least 0: -1");
}

TEST_F(FitOptionsTest, of_tensors_are_refused_beside_a_dataset) {
  const nn::Dataset batches = examples.batch(2);
  EXPECT_HAS(refused(batches, {.batch_size = 2}),
             "batch_size 2 is for tensors: of a dataset, give dataset.batch(2)");
  EXPECT_HAS(refused(batches, {.shuffle = true}), "shuffle is for tensors");
  EXPECT_HAS(refused(batches, {.validation_split = 0.5}), "validation_split 0.5 is of tensors");
  EXPECT_HAS(refused(batches, {.sample_weight = ones({5})}), "sample_weight is for tensors");
  model.fit(batches, {.verbose = kSilent, .shuffle = false});  // as it is
  EXPECT_HAS(message_of<ValueError>([&] { model.evaluate(batches, {.batch_size = 2}); }),
             "evaluate: batch_size 2 is for tensors");
  EXPECT_HAS(message_of<ValueError>([&] { model.evaluate(batches, {.sample_weight = ones({5})}); }),
             "evaluate: sample_weight is for tensors");
  EXPECT_HAS(message_of<ValueError>([&] { model.predict(batches, {.batch_size = 2}); }),
             "predict: batch_size 2 is for tensors");
}

TEST_F(FitOptionsTest, data_without_an_end_needs_a_number_of_steps) {
  const nn::Dataset endless = examples.repeat().batch(2);
  EXPECT_HAS(refused(endless, {.epochs = 2}), "fit: the dataset never ends");
  EXPECT_HAS(refused(endless, {.epochs = 2}), "steps_per_epoch = 100");
  EXPECT_HAS(refused({.validation = endless}), "validation_steps = 100");
  EXPECT_HAS(message_of<ValueError>([&] { model.evaluate(endless); }), "steps = 100");
  EXPECT_HAS(message_of<ValueError>([&] { model.predict(endless); }), "steps = 100");
  EXPECT_EQ(model.fit(endless, {.epochs = 2, .verbose = 0, .steps_per_epoch = 3})["loss"].size(),
            2u);
}

TEST_F(FitOptionsTest, verbose_may_be_a_number) {
  const auto told = [&](nn::Verbose verbose) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    model.fit(x, y, {.epochs = 2, .verbose = verbose});
    const std::string errors = ::testing::internal::GetCapturedStderr();
    return ::testing::internal::GetCapturedStdout() + errors;
  };
  EXPECT_EQ(told(0), "");
  EXPECT_EQ(std::ranges::count(told(2), '\n'), 2);
  EXPECT_HAS(told(1), "Epoch 2/2");
  EXPECT_TRUE(nn::Verbose(0) == kSilent && nn::Verbose(1) == nn::Verbose::progress &&
              nn::Verbose(2) == nn::Verbose::lines);
  EXPECT_HAS(message_of<ValueError>([&] { model.fit(x, y, {.verbose = 3}); }), "2 a line");
}

// Whose passes end with an epoch: the next begins another, without a warning.
TEST_F(FitOptionsTest, epochs_of_so_many_steps_may_fit_the_data) {
  std::vector<std::string> warnings;
  set_warning_sink([&](std::string_view text) { warnings.emplace_back(text); });
  model.compile({.optimizer = nn::SGD({.learning_rate = 0.01}), .loss = "mse"});
  const std::int64_t before = model.optimizer().iterations();
  for (const int steps : {5, 1}) {
    const nn::History history =
        model.fit(examples.batch(1), {.epochs = 7, .verbose = kSilent, .steps_per_epoch = steps});
    EXPECT_EQ(history["loss"].size(), 7u);
  }
  model.fit(x, y, {.batch_size = 1, .epochs = 3, .verbose = kSilent, .steps_per_epoch = 5});
  EXPECT_EQ(model.optimizer().iterations() - before, 7 * 5 + 7 * 1 + 3 * 5);
  set_warning_sink({});
  EXPECT_EQ(warnings, std::vector<std::string>());
}

TEST_F(FitOptionsTest, a_number_of_steps_makes_batches_of_a_size) {
  EXPECT_NEAR(
      model.fit(
          x, y,
          {.epochs = 1, .verbose = kSilent, .shuffle = false, .steps_per_epoch = 1})["loss"][0],
      (1 + 9 + 25 + 49 + 81) / 5.0, 1e-5);
  const std::int64_t before = model.optimizer().iterations();
  model.fit(x, y, {.epochs = 1, .verbose = kSilent, .steps_per_epoch = 3});  // of 2, 2 and 1
  EXPECT_EQ(model.optimizer().iterations() - before, 3);
  EXPECT_NEAR(nn::value_of(model.evaluate(x, y, {.steps = 2}), "loss"),
              (1 + 9 + 25 + 49 + 81) / 5.0, 1e-5);
}

TEST_F(FitOptionsTest, steps_beyond_the_data_are_refused) {
  EXPECT_HAS(refused({.batch_size = 2, .steps_per_epoch = 4}),
             "steps_per_epoch 4 is more than there are batches: 3");
  EXPECT_HAS(refused(examples.batch(2), {.steps_per_epoch = 4}), "more than there are batches: 3");
  EXPECT_HAS(message_of<ValueError>([&] { model.evaluate(x, y, {.batch_size = 5, .steps = 2}); }),
             "evaluate: steps 2 is more than there are batches: 1");
  EXPECT_HAS(message_of<ValueError>([&] { model.predict(x, {.batch_size = 5, .steps = 2}); }),
             "predict: steps 2 is more than there are batches: 1");
  EXPECT_HAS(message_of<ValueError>([&] { model.predict(x, {.steps = -1}); }),
             "predict: steps must be at least 0: -1");
}

TEST_F(FitOptionsTest, data_that_ends_in_an_epoch_is_warned_of_once) {
  std::vector<std::string> warnings;
  set_warning_sink([&](std::string_view text) { warnings.emplace_back(text); });
  const nn::Dataset open = examples.batch(1).filter([](const nn::Batch&) { return true; });
  model.fit(open, {.epochs = 5, .verbose = kSilent, .steps_per_epoch = 3});
  set_warning_sink({});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_HAS(warnings[0], "the data ended after 2 of the 3 batches of an epoch");
}

TEST_F(FitOptionsTest, shuffling_what_has_a_state_is_refused) {
  const nn::Sequential series(
      {nn::GRU({.units = 1, .stateful = true, .batch_input_shape = {1, 2, 1}})});
  series.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_HAS(message_of<ValueError>([&] {
               series.fit(ones({4, 2, 1}), ones({4, 1}), {.batch_size = 1, .shuffle = true});
             }),
             "keeps a state from batch to batch");
}

TEST_F(FitOptionsTest, class_weights_of_several_outputs_are_refused) {
  const nn::Model two = of_two_inputs();
  two.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_HAS(message_of<ValueError>([&] {
               two.fit(std::vector{x, y}, std::vector{y, y},
                       {.verbose = kSilent, .class_weight = {{0, 1.0}}});
             }),
             "class_weight is for models with one output, this has 2");
}

TEST_F(FitOptionsTest, single_examples_are_no_batches) {
  const auto text = [](auto&& run) { return testing::whole_message_of<Error>(run); };
  for (const nn::Dataset& data : {examples, examples.map([](nn::Batch b) { return b; })}) {
    EXPECT_HAS(text([&] { model.fit(data); }), "dataset.batch(32)");
    EXPECT_HAS(text([&] { model.evaluate(data); }), "dataset.batch(32)");
    EXPECT_HAS(text([&] { model.predict(data); }), "dataset.batch(32)");
  }
  const nn::Sequential unbuilt({nn::Dense({.units = 1})});
  unbuilt.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_HAS(text([&] { unbuilt.fit(examples); }),
             "the dataset gives single examples, not batches");
  EXPECT_HAS(text([&] { unbuilt.predict(examples); }),
             "predict: the dataset gives single examples");
}

TEST_F(FitOptionsTest, a_model_that_nothing_trains_is_warned_of_once) {
  std::vector<std::string> warnings;
  set_warning_sink([&](std::string_view text) { warnings.emplace_back(text); });
  model.fit(x, y, {.epochs = 2, .verbose = kSilent});
  EXPECT_TRUE(warnings.empty());
  model.set_trainable(false);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const std::vector<float> before = floats(model.get_weights()[0]);
  model.evaluate(x, y);
  EXPECT_TRUE(warnings.empty());
  model.fit(x, y, {.epochs = 2, .verbose = kSilent});
  EXPECT_EQ(floats(model.get_weights()[0]), before);
  set_warning_sink({});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_HAS(warnings[0], "no weight is trainable");
}

TEST_F(FitOptionsTest, too_many_sizes_are_warned_of_with_what_to_do) {
  std::vector<std::string> warnings;
  set_warning_sink([&](std::string_view text) { warnings.emplace_back(text); });
  for (int size = 1; size < 70; ++size) model.predict_on_batch(ones({size, 1}));
  set_warning_sink({});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_HAS(warnings[0], "dimension 0 of argument 0 kept changing");
  EXPECT_HAS(warnings[0], "give the model batches of a few sizes");
}

}  // namespace
}  // namespace tenure::fitting
