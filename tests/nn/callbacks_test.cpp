// Callbacks that watch a value: what they do in epochs that lack it, and what is better.
#include <cmath>
#include <filesystem>
#include <future>

#include "nn/callbacks/monitor.h"
#include "support/expect.h"

namespace tenure::nn {
namespace {

using testing::floats;
using testing::message_of;
using testing::whole_message_of;

// Gives w x.
Sequential scaling(float w = 1) {
  return Sequential({Dense(
      {.units = 1, .use_bias = false, .kernel_initializer = Constant({w}), .input_shape = {1}})});
}

// A model that nothing changes but who sets its weight; of x = 1 and y = 0 its loss is w w.
struct Still {
  Sequential model = scaling();
  Tensor x = ones({2, 1}), y = zeros({2, 1});
  explicit Still(std::vector<Metric> metrics = {}, double rate = 0) {
    model.compile(
        {.optimizer = SGD({.learning_rate = rate}), .loss = "mse", .metrics = std::move(metrics)});
  }
  float weight() const { return floats(model.get_weights()[0])[0]; }
};

// Trains each epoch with a weight that was written down.
Callback weights_of_epochs(std::vector<float> weights) {
  return LambdaCallback({.on_epoch_begin = [weights = std::move(weights)](Training& training) {
    const auto epoch = static_cast<std::size_t>(training.epoch());
    training.model().set_weights({full({1, 1}, weights.at(epoch))});
  }});
}

// Puts a value into the logs of the epochs that have one.
struct Adds : CallbackBase {
  Adds(std::string log, std::vector<double> list) : name(std::move(log)), values(std::move(list)) {}
  void add_logs(Training& training, Logs& logs) override {
    const double value = values.at(static_cast<std::size_t>(training.epoch()));
    if (!std::isnan(value)) logs.emplace_back(name, value);
  }
  std::string name;
  std::vector<double> values;
};

class HeardWarnings {
 public:
  HeardWarnings() {
    set_warning_sink([this](std::string_view text) { texts.emplace_back(text); });
  }
  ~HeardWarnings() { set_warning_sink(nullptr); }
  HeardWarnings(const HeardWarnings&) = delete;
  HeardWarnings& operator=(const HeardWarnings&) = delete;
  std::vector<std::string> texts;
};

TEST(Monitors, pass_over_epochs_without_a_validation) {
  const Still still({}, 1);
  const Tensor nothing = zeros({2, 1});  // no gradient
  const std::string path = ::testing::TempDir() + "passed_over_{epoch}";
  const HeardWarnings warnings;
  const History history =
      still.model.fit(nothing, still.y,
                      {.epochs = 9,
                       .verbose = Verbose::silent,
                       .callbacks = {EarlyStopping({.patience = 2}),
                                     ReduceLROnPlateau({.factor = 0.5, .patience = 2}),
                                     ModelCheckpoint({.filepath = path, .save_best_only = true})},
                       .validation = Dataset::from_tensors(nothing, still.y),
                       .validation_freq = 2});
  // Validated after epochs 2 (the best), 4 and 6.
  EXPECT_EQ(history.epochs.size(), 6u);
  EXPECT_EQ(history.stopped, "val_loss did not improve for 2 epochs");
  EXPECT_EQ(history["learning_rate"], (std::vector<double>(6, 1.0)));
  EXPECT_EQ(still.model.optimizer().learning_rate(), 0.5);
  for (int epoch = 1; epoch <= 6; ++epoch) {
    const std::string file = ::testing::TempDir() + "passed_over_" + std::to_string(epoch);
    EXPECT_EQ(std::filesystem::remove(file), epoch == 2);
  }
  ASSERT_EQ(warnings.texts.size(), 3u) << "one of each, and once";
  EXPECT_HAS(warnings.texts[0],
             "EarlyStopping: monitors \"val_loss\", which epoch 1 does not have (it has: loss, "
             "learning_rate); such epochs are passed over (callbacks_test.cpp:");
  EXPECT_HAS(warnings.texts[2], "ModelCheckpoint: monitors \"val_loss\"");
}

TEST(Monitors, pass_over_an_epoch_that_was_stopped_before_its_validation) {
  const Still still;
  const HeardWarnings warnings;
  const auto stop = [](Training& training, const Logs&) { training.stop("enough"); };
  const History history =
      still.model.fit(still.x, still.y,
                      {.epochs = 3,
                       .verbose = Verbose::silent,
                       .callbacks = {LambdaCallback({.on_train_batch_end = stop}), EarlyStopping(),
                                     ReduceLROnPlateau()},
                       .validation = Dataset::from_tensors(still.x, still.y)});
  EXPECT_EQ(history.stopped, "enough");
  EXPECT_EQ(history.epochs.size(), 1u);
  EXPECT_TRUE(warnings.texts.empty()) << "there is nothing more to decide";
}

TEST(Monitors, pass_over_an_epoch_that_was_cancelled) {
  const Still still;
  std::promise<void> in_batch, cancelled;
  const auto wait = [&in_batch, open = cancelled.get_future().share()](Training&, const Logs&) {
    in_batch.set_value();
    open.wait();
  };
  Job<History> job = still.model.fit_async(
      still.x, still.y,
      {.epochs = 3,
       .callbacks = {LambdaCallback({.on_train_batch_end = wait}),
                     EarlyStopping({.restore_best_weights = true}), ReduceLROnPlateau()},
       .validation = Dataset::from_tensors(still.x, still.y)});
  in_batch.get_future().wait();
  job.cancel();
  cancelled.set_value();
  const History history = job.get();
  EXPECT_TRUE(history.cancelled);
  EXPECT_EQ(history.epochs.size(), 1u);
}

TEST(Monitors, of_what_no_epoch_can_have_are_refused) {
  const Still still({"mae"});
  const Dataset validation = Dataset::from_tensors(still.x, still.y);
  int epochs = 0;
  const Callback count = LambdaCallback({.on_epoch_begin = [&](Training&) { ++epochs; }});
  const auto refused = [&](FitOptions options) {
    epochs = 0;
    options.epochs = 9;
    options.verbose = Verbose::silent;
    options.callbacks.push_back(count);
    const int line = __LINE__ + 2;
    const std::string text = whole_message_of<ValueError>(
        [&] { still.model.fit(still.x, still.y, std::move(options)); });
    EXPECT_HAS(text, "used      callbacks_test.cpp:" + std::to_string(line));
    return text;
  };
  const int line = __LINE__ + 1;
  const std::string text = refused({.callbacks = {EarlyStopping()}});
  EXPECT_HAS(text,
             "EarlyStopping: monitors \"val_loss\", which is not there (there are: loss, mae)");
  EXPECT_HAS(text, "born      callbacks_test.cpp:" + std::to_string(line));
  EXPECT_HAS(text, "give fit validation data, or a validation_split.");
  EXPECT_EQ(epochs, 1);
  EXPECT_HAS(refused({.callbacks = {ReduceLROnPlateau({.monitor = "val_maee"})},
                      .validation = validation}),
             "\"val_maee\", which is not there (there are: loss, mae, val_loss, val_mae");
  EXPECT_EQ(epochs, 1);
  const HeardWarnings warnings;
  EXPECT_HAS(refused({.callbacks = {EarlyStopping({.monitor = "val_maee"})},
                      .validation = validation,
                      .validation_freq = 3}),
             "\"val_maee\", which is not there");
  EXPECT_EQ(epochs, 3) << "the first that is validated";
  EXPECT_HAS(refused({.callbacks = {EarlyStopping({.monitor = "maee"})},
                      .validation = validation,
                      .validation_freq = 3}),
             "give one of the names that are there.");
  EXPECT_EQ(epochs, 1);
  still.model.dispose();  // no longer busy
}

TEST(Monitors, pass_over_epochs_without_what_was_there_before) {
  const Still still;
  const HeardWarnings warnings;
  const History history = still.model.fit(
      still.x, still.y,
      {.epochs = 6,
       .verbose = Verbose::silent,
       .callbacks = {make_callback<Adds>("score", std::vector<double>{1, NAN, 2, NAN, 2, 2}),
                     EarlyStopping({.monitor = "score", .patience = 1, .mode = "max"})}});
  EXPECT_EQ(history.epochs.size(), 5u);
  EXPECT_EQ(warnings.texts.size(), 1u);
}

TEST(Monitors, go_by_what_the_metric_says_is_better) {
  const Node input = Input({.shape = {2}});
  const Dense head({.units = 2, .name = "head"}), side({.units = 1, .name = "side"});
  const Model model({input}, {head(input), side(input)});
  const Metric own([](Tensor y, Tensor p) { return mean(abs(y - p), {-1}); }, "own");
  model.compile(
      {.optimizer = "sgd",
       .loss = {"cosine_similarity", "mse"},
       .metrics = {{"cosine_similarity", "r2_score", own}, {"mae", "accuracy", "r2_score"}}});
  EXPECT_EQ(detail::direction_of(model, "loss"), Direction::lower);
  const Tensor x = ones({4, 2});
  model.fit(std::vector<Tensor>{x}, std::vector<Tensor>{ones({4, 2}), ones({4, 1})},
            {.verbose = Verbose::silent});
  for (const std::string prefix : {"", "val_"}) {
    const auto direction = [&](const std::string& name) {
      return detail::direction_of(model, prefix + name);
    };
    EXPECT_EQ(direction("loss"), Direction::lower);
    EXPECT_EQ(direction("head_loss"), Direction::lower);
    EXPECT_EQ(direction("head_cosine_similarity"), Direction::higher);
    EXPECT_EQ(direction("side_accuracy"), Direction::higher);
    EXPECT_EQ(direction("side_mae"), Direction::lower);
    EXPECT_EQ(direction("side_r2_score"), Direction::higher);
    EXPECT_EQ(direction("head_r2_score[1]"), Direction::higher) << "of one class";
    EXPECT_EQ(direction("head_own"), Direction::unknown);
    EXPECT_EQ(direction("learning_rate"), Direction::unknown);
  }
}

TEST(Monitors, of_a_metric_that_grows_keep_the_highest) {
  const Still still({"binary_accuracy"});
  // Above 0.5 is 1, and y is 1.
  const History history = still.model.fit(
      still.x, ones({2, 1}),
      {.epochs = 9,
       .verbose = Verbose::silent,
       .callbacks = {
           weights_of_epochs({0.25f, 0.75f, 0.125f, 0.375f, 9, 9, 9, 9, 9}),
           EarlyStopping(
               {.monitor = "binary_accuracy", .patience = 2, .restore_best_weights = true})}});
  EXPECT_EQ(history["binary_accuracy"], (std::vector<double>{0, 1, 0, 0}));
  EXPECT_EQ(still.weight(), 0.75f);
}

TEST(Monitors, of_what_may_be_better_either_way_want_a_mode) {
  const Metric own([](Tensor y, Tensor p) { return mean(abs(y - p), {-1}); }, "own");
  const Still still({own});
  const auto fit = [&](const Callback& callback) {
    still.model.fit(still.x, still.y,
                    {.epochs = 2, .verbose = Verbose::silent, .callbacks = {callback}});
  };
  const std::string text =
      whole_message_of<ValueError>([&] { fit(ReduceLROnPlateau({.monitor = "own"})); });
  EXPECT_HAS(text, "ReduceLROnPlateau: monitors \"own\", of which it is not known what is better");
  EXPECT_HAS(text, "give .mode = \"min\" where small values are better, or \"max\".");
  EXPECT_THROW(fit(EarlyStopping({.monitor = "own"})), ValueError);
  fit(EarlyStopping({.monitor = "own", .mode = "max"}));
  EXPECT_HAS(message_of<ValueError>([] { EarlyStopping({.mode = "least"}); }),
             "EarlyStopping: no such mode: \"least\" (auto, min, max)");
}

TEST(EarlyStopping, restores_the_best_weights_though_the_baseline_was_never_reached) {
  const Still still;
  const History history = still.model.fit(
      still.x, still.y,
      {.epochs = 9,
       .verbose = Verbose::silent,
       .callbacks = {
           weights_of_epochs({3, 2, 2.5f, 9, 9, 9, 9, 9, 9}),
           EarlyStopping(
               {.monitor = "loss", .patience = 3, .baseline = 1, .restore_best_weights = true})}});
  // Epoch 2 is better than epoch 1, but no better than the baseline: the waiting goes on.
  EXPECT_EQ(history["loss"], (std::vector<double>{9, 4, 6.25}));
  EXPECT_EQ(still.weight(), 2);
}

TEST(EarlyStopping, waits_anew_once_the_baseline_is_passed) {
  const Still still;
  const History history = still.model.fit(
      still.x, still.y,
      {.epochs = 6,
       .verbose = Verbose::silent,
       .callbacks = {weights_of_epochs({3, 0.5f, 2, 2, 2, 2}),
                     EarlyStopping({.monitor = "loss", .patience = 3, .baseline = 1})}});
  EXPECT_EQ(history.epochs.size(), 5u);
  EXPECT_EQ(history.stopped, "loss did not improve for 3 epochs");
}

TEST(EarlyStopping, does_not_look_at_the_epochs_before_its_first) {
  const Still still;
  const History history =
      still.model.fit(still.x, still.y,
                      {.epochs = 9,
                       .verbose = Verbose::silent,
                       .callbacks = {weights_of_epochs({1, 2, 5, 4, 6, 6, 6, 6, 6}),
                                     EarlyStopping({.monitor = "loss",
                                                    .patience = 2,
                                                    .restore_best_weights = true,
                                                    .start_from_epoch = 2})}});
  EXPECT_EQ(history.epochs.size(), 6u);
  EXPECT_EQ(still.weight(), 4) << "1 and 2 came too early";
}

TEST(EarlyStopping, begins_anew_with_every_fit) {
  const Still still;
  const Callback stopping = EarlyStopping({.monitor = "loss", .patience = 1});
  for (int i = 0; i < 2; ++i) {
    const History history =
        still.model.fit(still.x, still.y,
                        {.epochs = 4,
                         .verbose = Verbose::silent,
                         .callbacks = {weights_of_epochs({2, 1, 3, 3}), stopping}});
    EXPECT_EQ(history.epochs.size(), 3u);
  }
}

TEST(LearningRates, stand_in_the_history_of_who_changes_them) {
  const Still still({}, 1);
  const Tensor nothing = zeros({2, 1});
  const auto rates = [&](std::vector<Callback> callbacks) {
    still.model.optimizer().set_learning_rate(1);
    return still.model.fit(nothing, still.y,
                           {.epochs = 5,
                            .verbose = Verbose::silent,
                            .callbacks = std::move(callbacks)})["learning_rate"];
  };
  const Callback plateau =
      ReduceLROnPlateau({.monitor = "loss", .factor = 0.5, .patience = 1, .min_lr = 0.25});
  // The first is the best; each later one ends in a reduction, which the next is trained with.
  EXPECT_EQ(rates({plateau}), (std::vector<double>{1, 1, 0.5, 0.25, 0.25}));
  const auto halved = [](int epoch, double) { return std::ldexp(1.0, -epoch); };
  const std::vector<double> scheduled{1, 0.5, 0.25, 0.125, 0.0625};
  EXPECT_EQ(rates({LearningRateScheduler(halved)}), scheduled);
  EXPECT_EQ(rates({plateau, LearningRateScheduler(halved)}), scheduled);
  EXPECT_THROW(rates({}), ValueError) << "nobody changes it";
}

TEST(LearningRates, are_seen_by_callbacks_that_stand_before) {
  const Still still({}, 0.5);
  std::vector<double> seen;
  const auto look = [&](Training&, const Logs& logs) {
    seen.push_back(value_of(logs, "learning_rate"));
  };
  still.model.fit(still.x, still.y,
                  {.verbose = Verbose::silent,
                   .callbacks = {LambdaCallback({.on_epoch_end = look}),
                                 ReduceLROnPlateau({.monitor = "loss"})}});
  EXPECT_EQ(seen, (std::vector<double>{0.5}));
}

TEST(History, has_a_value_of_each_log_for_every_epoch) {
  const Still still;
  const History history = still.model.fit(still.x, still.y,
                                          {.epochs = 5,
                                           .verbose = Verbose::silent,
                                           .validation = Dataset::from_tensors(still.x, still.y),
                                           .validation_freq = 2});
  const std::vector<double>& losses = history["val_loss"];
  ASSERT_EQ(losses.size(), 5u);
  for (const std::size_t validated : {1, 3}) EXPECT_EQ(losses[validated], 1);
  for (const std::size_t other : {0, 2, 4}) EXPECT_TRUE(std::isnan(losses[other]));
}

}  // namespace
}  // namespace tenure::nn
