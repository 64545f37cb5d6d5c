// Evaluating, callbacks, and work in the background.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "support/expect.h"
#include "tenure/tenure.h"

namespace tenure {
namespace {

using testing::floats;
using testing::message_of;

// Gives w x, with w = 2.
nn::Sequential doubling() {
  return nn::Sequential({nn::Dense({.units = 1,
                                    .use_bias = false,
                                    .kernel_initializer = nn::Constant({2}),
                                    .input_shape = {1}})});
}

struct Data {
  Tensor x = tensor({1.f, 2.f, 3.f, 4.f, 5.f}, {5, 1});
  Tensor y = tensor({1.f, 1.f, 1.f, 1.f, 1.f}, {5, 1});
};

constexpr nn::Verbose kSilent = nn::Verbose::silent;

TEST(Training, evaluate_gives_means_over_all_examples) {
  const nn::Sequential model = doubling();
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
  const Data data;
  // 2 x - 1 is 1, 3, 5, 7, 9
  for (const nn::Logs& logs : {model.evaluate(data.x, data.y, {.batch_size = 2}),
                               model.evaluate(nn::Dataset::from_tensors(data.x, data.y).batch(3)),
                               model.test_on_batch(data.x, data.y)}) {
    EXPECT_NEAR(nn::value_of(logs, "loss"), (1 + 9 + 25 + 49 + 81) / 5.0, 1e-5);
    EXPECT_NEAR(nn::value_of(logs, "mae"), 5, 1e-6);
  }
  EXPECT_EQ(floats(model.get_weights()[0]), (std::vector<float>{2}));
}

TEST(Training, a_fit_over_a_dataset_is_one_over_its_tensors) {
  const Data data;
  std::vector<std::vector<float>> found;
  for (const bool tensors : {true, false}) {
    const nn::Sequential model = doubling();
    model.compile({.optimizer = nn::SGD({.learning_rate = 0.01}), .loss = "mse"});
    if (tensors) {
      model.fit(data.x, data.y,
                {.batch_size = 2, .epochs = 3, .verbose = kSilent, .shuffle = false});
    } else {
      model.fit(nn::Dataset::from_tensors(data.x, data.y).batch(2).prefetch(2),
                {.epochs = 3, .verbose = kSilent});
    }
    found.push_back(floats(model.get_weights()[0]));
  }
  EXPECT_EQ(found[0], found[1]);
  EXPECT_NE(found[0][0], 2);
}

TEST(Training, predict_async_holds_what_it_needs) {
  Job<Tensor> job = [] {
    const nn::Sequential model = doubling();
    Data data;
    Job<Tensor> started = tidy([&] { return model.predict_async(data.x); });
    data.x.dispose();
    return started;
  }();
  EXPECT_EQ(floats(job.get()), (std::vector<float>{2, 4, 6, 8, 10}));
}

TEST(Training, the_rate_follows_schedules_and_plateaus) {
  const Data data;
  const nn::Sequential model = doubling();
  model.compile({.optimizer = nn::SGD({.learning_rate = 0.5}), .loss = "mse"});
  model.fit(data.x, data.y,
            {.epochs = 3,
             .verbose = kSilent,
             .callbacks = {nn::LearningRateScheduler(
                 [](int epoch, double) { return epoch == 2 ? 0.25 : 0.0; })}});
  EXPECT_EQ(model.optimizer().learning_rate(), 0.25);
  const Tensor nothing = zeros_like(data.x);  // no gradient, so that nothing improves
  const auto rate_after = [&](int epochs, double rate) {
    model.optimizer().set_learning_rate(rate);
    model.fit(nothing, data.y,
              {.epochs = epochs,
               .verbose = kSilent,
               .callbacks = {nn::ReduceLROnPlateau(
                   {.monitor = "loss", .factor = 0.5, .patience = 2, .min_lr = 0.125})}});
    return model.optimizer().learning_rate();
  };
  EXPECT_EQ(rate_after(2, 1), 1);
  EXPECT_EQ(rate_after(3, 1), 0.5);
  EXPECT_EQ(rate_after(20, 1), 0.125);
  EXPECT_EQ(rate_after(3, 0.0625), 0.0625);  // never raised to the lowest
}

TEST(Training, a_model_without_an_optimizer_names_the_line_that_asked) {
  const nn::Sequential model = doubling();
  const int line = __LINE__ + 1;
  EXPECT_HAS(message_of<ValueError>([&] { model.optimizer(); }),
             "used      training_test.cpp:" + std::to_string(line));
}

TEST(Training, a_log_has_a_line_for_each_epoch) {
  const Data data;
  const std::string path = ::testing::TempDir() + "tenure_training_log.csv";
  const nn::Sequential model = doubling();
  model.compile({.optimizer = nn::SGD({.learning_rate = 0}), .loss = "mse"});
  model.fit(data.x, data.y,
            {.epochs = 2, .verbose = kSilent, .callbacks = {nn::CSVLogger({path})}});
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(text, "epoch,loss\n0,33\n1,33\n");
  EXPECT_HAS(message_of<IoError>([&] {
               model.fit(data.x, data.y,
                         {.verbose = kSilent, .callbacks = {nn::CSVLogger({path + "/log.csv"})}});
             }),
             "tenure_training_log.csv/log.csv");
  std::filesystem::remove(path);
}

TEST(Training, a_loss_that_is_no_number_ends_the_fit) {
  const nn::Sequential model = doubling();
  model.compile({.optimizer = nn::SGD({.learning_rate = 0}), .loss = "mse"});
  const Tensor x = full({4, 1}, std::numeric_limits<float>::infinity());
  const nn::History history = model.fit(
      x, zeros({4, 1}), {.epochs = 9, .verbose = kSilent, .callbacks = {nn::TerminateOnNaN()}});
  EXPECT_EQ(history.epochs.size(), 1u);
  EXPECT_HAS(history.stopped, "the loss is inf");
}

TEST(Training, validation_of_single_examples_is_batched_as_the_training_is) {
  const Data data;
  const nn::Sequential model = doubling();
  model.compile({.optimizer = nn::SGD({.learning_rate = 0}), .loss = "mse"});
  const nn::Dataset examples = nn::Dataset::from_tensors(data.x, data.y);
  for (const nn::Dataset& validation : {examples, examples.batch(2)}) {
    const nn::History history =
        model.fit(data.x, data.y, {.batch_size = 2, .verbose = kSilent, .validation = validation});
    EXPECT_NEAR(history["val_loss"].back(), 33, 1e-5);
  }
}

TEST(Training, options_that_make_no_sense_are_refused_by_name) {
  const Data data;
  const nn::Sequential model = doubling();
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const auto text = [&](const nn::FitOptions& options) {
    return message_of<ValueError>([&] { model.fit(data.x, data.y, options); });
  };
  EXPECT_HAS(text({.initial_epoch = -3}), "initial_epoch must be at least 0: -3");
  EXPECT_HAS(text({.steps_per_epoch = -1}), "steps_per_epoch must be at least 0: -1");
  EXPECT_HAS(text({.validation_split = std::numeric_limits<double>::quiet_NaN()}),
             "validation_split must be at least 0 and below 1: nan");
  const nn::Dataset batches = nn::Dataset::from_tensors(data.x, data.y).batch(2);
  EXPECT_HAS(message_of<ValueError>([&] { model.fit(batches, {.validation_split = 0.5}); }),
             "validation_split 0.5 is of tensors");
  EXPECT_HAS(message_of<ValueError>([&] { model.fit(batches, {.sample_weight = ones({5})}); }),
             "sample_weight is for tensors");
}

}  // namespace
}  // namespace tenure
