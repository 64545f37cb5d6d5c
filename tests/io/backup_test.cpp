// Trainings that were cut off, and go on as if they had not been.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>

#include "io/atomic_file.h"
#include "io/files.h"
#include "support/child.h"
#include "support/expect.h"

namespace tenure::nn {
namespace {

namespace fs = std::filesystem;
using testing::floats;
using testing::message_of;
using testing::whole_message_of;

class Backups : public testing::Folder {
 protected:
  void TearDown() override { io::set_write_hook(nullptr); }
  std::string file() const { return folder_ + "/backup.safetensors"; }

  const std::string folder_ = at("backup");
};

// With all that a step depends on: moments, random masks, running averages, a rate that changes,
// gradients that wait.
Sequential trained_model(int accumulate = 1) {
  const Sequential model({Dense({.units = 6, .activation = "tanh", .input_shape = {3}}),
                          BatchNormalization(), Dropout({.rate = 0.5}), Dense({.units = 1})});
  model.compile({.optimizer = Adam({.learning_rate = 0.01}),
                 .loss = "mse",
                 .metrics = {"mae"},
                 .accumulate = accumulate});
  return model;
}

struct Outcome {
  std::vector<testing::Floats> weights;
  std::vector<double> losses;
};

// A program from its beginning: 4 epochs of 5 batches.
Outcome program(std::vector<Callback> callbacks, int accumulate = 1, std::int64_t steps = 0) {
  set_seed(7);
  const Sequential model = trained_model(accumulate);
  const Tensor x = random::normal({10, 3}), y = sum(x, {1}, {.keep_dims = true});
  callbacks.insert(callbacks.begin(),
                   LearningRateScheduler([](int, double rate) { return rate * 0.75; }));
  const History history = model.fit(x, y,
                                    {.batch_size = 2,
                                     .epochs = 4,
                                     .verbose = Verbose::silent,
                                     .callbacks = std::move(callbacks),
                                     .steps_per_epoch = steps});
  Outcome run;
  for (const Tensor& weight : model.get_weights()) run.weights.push_back(floats(weight));
  if (!history.epochs.empty()) run.losses = history["loss"];
  return run;
}

// Does something at a batch of an epoch.
Callback at_batch(int epoch, std::int64_t batch, std::function<void()> act) {
  return LambdaCallback({.on_train_batch_end = [=](Training& training, const Logs&) {
    if (training.epoch() == epoch && training.batch() == batch) act();
  }});
}

void kill_this_process() { ::kill(::getpid(), SIGKILL); }

// Runs code in a child, which is to kill itself.
template <class F>
void in_killed_child(F&& code) {
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    alarm(120);
    code();
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_F(Backups, of_a_killed_process_go_on_at_the_epoch) {
  if (!testing::kCanFork) GTEST_SKIP() << "ThreadSanitizer knows no threads after a fork";
  const Outcome whole = program({});
  const Callback backup = BackupAndRestore({.backup_dir = folder_});
  in_killed_child([&] { program({at_batch(2, 1, kill_this_process), backup}); });
  ASSERT_TRUE(fs::exists(file()));
  const Outcome rest = program({backup});
  EXPECT_EQ(rest.weights, whole.weights);
  EXPECT_EQ(rest.losses, (std::vector<double>{whole.losses[2], whole.losses[3]}));
  EXPECT_FALSE(fs::exists(folder_)) << "the training is complete";
}

TEST_F(Backups, of_a_killed_process_go_on_at_the_batch) {
  if (!testing::kCanFork) GTEST_SKIP() << "ThreadSanitizer knows no threads after a fork";
  const Outcome whole = program({});
  const Callback backup = BackupAndRestore({.backup_dir = folder_, .save_freq = 3});
  // Saved after 12 of 20 batches, killed after 14.
  in_killed_child([&] { program({at_batch(2, 3, kill_this_process), backup}); });
  std::vector<std::int64_t> batches;
  const Callback count = LambdaCallback({.on_train_batch_begin = [&](Training& training) {
    batches.push_back(training.epoch() * 5 + training.batch());
  }});
  const Outcome rest = program({count, backup});
  EXPECT_EQ(batches, (std::vector<std::int64_t>{12, 13, 14, 15, 16, 17, 18, 19}));
  EXPECT_EQ(rest.weights, whole.weights);
  EXPECT_EQ(rest.losses.back(), whole.losses.back());
}

TEST_F(Backups, of_a_process_that_was_killed_while_it_wrote_one_are_those_before) {
  if (!testing::kCanFork) GTEST_SKIP() << "ThreadSanitizer knows no threads after a fork";
  const Outcome whole = program({});
  const Callback backup = BackupAndRestore({.backup_dir = folder_});
  in_killed_child([&] {
    int renames = 0;
    io::set_write_hook([&](io::WriteStep step) {
      if (step == io::WriteStep::rename && ++renames == 2) kill_this_process();
      return 0;
    });
    program({backup});
  });
  const auto files = [&] {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  };
  EXPECT_EQ(files(), 2) << "the first one, and half of the second";
  const Outcome rest = program({backup});
  EXPECT_EQ(rest.weights, whole.weights);
  EXPECT_EQ(rest.losses.size(), 3u);
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(Backups, keep_gradients_that_wait_for_their_step) {
  const Outcome whole = program({}, 3);
  const Callback backup = BackupAndRestore({.backup_dir = folder_, .save_freq = "batch"});
  const auto fail = [] { throw std::runtime_error("mine"); };
  // One batch waits after 7.
  EXPECT_THROW(program({backup, at_batch(1, 1, fail)}, 3), std::runtime_error);
  EXPECT_EQ(program({backup}, 3).weights, whole.weights);
}

TEST_F(Backups, go_on_in_a_training_of_counted_steps) {
  const Outcome whole = program({}, 1, 3);
  const Callback backup = BackupAndRestore({.backup_dir = folder_, .save_freq = "batch"});
  const auto fail = [] { throw std::runtime_error("mine"); };
  EXPECT_THROW(program({backup, at_batch(2, 1, fail)}, 1, 3), std::runtime_error);
  EXPECT_EQ(program({backup}, 1, 3).weights, whole.weights);
}

TEST_F(Backups, at_the_last_batch_of_an_epoch_go_on_with_the_next) {
  const Outcome whole = program({});
  const Callback backup = BackupAndRestore({.backup_dir = folder_, .save_freq = 5});
  const auto fail = [] { throw std::runtime_error("mine"); };
  EXPECT_THROW(program({backup, at_batch(1, 4, fail)}), std::runtime_error);
  const Outcome rest = program({backup});
  EXPECT_EQ(rest.weights, whole.weights);
  EXPECT_EQ(rest.losses, (std::vector<double>{whole.losses[2], whole.losses[3]}));
}

// Gradients wait, and are dropped for the backup that has none.
TEST_F(Backups, put_the_same_model_back) {
  const Sequential model({Dense({.units = 1, .input_shape = {1}})});
  model.compile({.optimizer = SGD({.learning_rate = 0.1}), .loss = "mse", .accumulate = 2});
  const Tensor x = ones({4, 1}), y = zeros({4, 1});
  const auto fit = [&](std::vector<Callback> callbacks) {
    callbacks.push_back(BackupAndRestore({.backup_dir = folder_, .save_freq = 2}));
    return model.fit(x, y,
                     {.batch_size = 1,
                      .epochs = 2,
                      .verbose = Verbose::silent,
                      .callbacks = std::move(callbacks),
                      .shuffle = false});
  };
  model.set_weights({full({1, 1}, 2.f), zeros({1})});
  fit({});
  const testing::Floats expected = floats(model.get_weights()[0]);
  model.set_weights({full({1, 1}, 2.f), zeros({1})});
  EXPECT_THROW(fit({at_batch(0, 2, [] { throw std::runtime_error("mine"); })}), std::runtime_error);
  fit({});
  EXPECT_EQ(floats(model.get_weights()[0]), expected);
}

TEST_F(Backups, of_a_cancelled_training_are_kept_at_its_batch) {
  set_seed(7);
  const Sequential model = trained_model();
  const Tensor x = ones({10, 3}), y = ones({10, 1});
  std::optional<Job<History>> job;
  std::promise<void> started;
  const auto cancel = [&, begun = started.get_future().share()] {
    begun.wait();
    job->cancel();
  };
  job = model.fit_async(
      x, y,
      {.batch_size = 2,
       .epochs = 3,
       .callbacks = {at_batch(1, 1, cancel), BackupAndRestore({.backup_dir = folder_})}});
  started.set_value();
  EXPECT_TRUE(job->get().cancelled);
  std::int64_t batches = 0;
  const Callback count = LambdaCallback({.on_train_batch_begin = [&](Training&) { ++batches; }});
  model.fit(x, y,
            {.batch_size = 2,
             .epochs = 3,
             .verbose = Verbose::silent,
             .callbacks = {count, BackupAndRestore({.backup_dir = folder_})}});
  EXPECT_EQ(batches, 15 - 7);
}

TEST_F(Backups, may_stay_when_the_training_is_complete) {
  const Callback backup = BackupAndRestore({.backup_dir = folder_, .delete_checkpoint = false});
  const Outcome whole = program({backup});
  EXPECT_TRUE(fs::exists(file()));
  const Outcome again = program({backup});
  EXPECT_EQ(again.weights, whole.weights);
  EXPECT_TRUE(again.losses.empty()) << "nothing was left to do";
}

TEST_F(Backups, leave_the_files_of_others_in_their_folder) {
  fs::create_directories(folder_);
  std::ofstream(folder_ + "/notes.txt") << "mine";
  program({BackupAndRestore({.backup_dir = folder_})});
  EXPECT_FALSE(fs::exists(file()));
  EXPECT_TRUE(fs::exists(folder_ + "/notes.txt"));
}

// A model of one's own, whose code is in no file.
struct OwnNet : ModelBase {
  Tensor call(const Tensor& x, const Call& c) override { return out(hidden(x, c), c); }
  Layer hidden = track(Dense({.units = 4, .activation = "tanh"}));
  Layer out = track(Dense({.units = 1}));
};

TEST_F(Backups, are_for_models_of_your_own_too) {
  const auto fit = [&](std::vector<Callback> callbacks) {
    set_seed(5);
    const Model net = make_model<OwnNet>();
    net(ones({1, 2}));  // which makes its weights
    net.compile({.optimizer = "adam", .loss = "mse"});
    net.fit(ones({4, 2}), ones({4, 1}),
            {.epochs = 3, .verbose = Verbose::silent, .callbacks = std::move(callbacks)});
    return floats(net.get_weights()[0]);
  };
  const testing::Floats whole = fit({});
  const Callback backup = BackupAndRestore({.backup_dir = folder_});
  const auto fail = [] { throw std::runtime_error("mine"); };
  EXPECT_THROW(fit({backup, at_batch(1, 0, fail)}), std::runtime_error);
  EXPECT_EQ(fit({backup}), whole);
}

TEST_F(Backups, of_another_training_are_refused_and_change_nothing) {
  const Callback backup = BackupAndRestore({.backup_dir = folder_, .delete_checkpoint = false});
  program({backup});
  const Sequential other({Dense({.units = 1, .input_shape = {2}})});
  other.compile({.optimizer = "adam", .loss = "mse"});
  const testing::Floats before = floats(other.get_weights()[0]);
  const auto fit = [&] {
    other.fit(ones({4, 2}), ones({4, 1}), {.verbose = Verbose::silent, .callbacks = {backup}});
  };
  EXPECT_HAS(message_of<IoError>(fit), "nothing was changed");
  EXPECT_EQ(floats(other.get_weights()[0]), before);
  std::ofstream(file()) << "no backup";
  EXPECT_THROW(fit(), IoError);
  other.save(file());
  EXPECT_HAS(message_of<IoError>(fit), "no backup of a training");
}

TEST_F(Backups, of_what_could_not_go_on_are_refused_at_the_beginning) {
  EXPECT_HAS(message_of<ValueError>([] { BackupAndRestore({}); }), "backup_dir is empty");
  const Sequential unbuilt({Dense({.units = 1})});
  unbuilt.compile({.loss = "mse"});
  const auto refused = [&]<class E>(const Model& model, std::type_identity<E>) {
    const std::string text = whole_message_of<E>([&] {
      model.fit(
          ones({4, 2}), ones({4, 1}),
          {.verbose = Verbose::silent, .callbacks = {BackupAndRestore({.backup_dir = folder_})}});
    });
    EXPECT_HAS(text, "born      backup_test.cpp:");
    EXPECT_HAS(text, "used      backup_test.cpp:");
    return text;
  };
  EXPECT_HAS(refused(unbuilt, std::type_identity<ValueError>()), "has no weights yet");
  const Model net = make_model<OwnNet>();
  net(ones({1, 2}));
  net.compile({.loss = "mse", .accumulate = 2});
  EXPECT_HAS(refused(net, std::type_identity<UnsupportedError>()), "compile it without accumulate");
}

}  // namespace
}  // namespace tenure::nn
