// Models saved while they are trained, under names with numbers in them.
#include <algorithm>
#include <filesystem>

#include "nn/callbacks/file_pattern.h"
#include "support/expect.h"
#include "tenure/nn/files.h"

namespace tenure::nn {
namespace {

namespace fs = std::filesystem;
using detail::FilePattern;
using testing::floats;
using testing::message_of;
using testing::whole_message_of;

std::string filled(const std::string& pattern, std::int64_t epoch, double loss) {
  return FilePattern("ModelCheckpoint", pattern, {"epoch"})
      .filled({FilePattern::Value(epoch), FilePattern::Value(loss)});
}

// As Python's str.format writes them.
TEST(FilePatterns, are_those_of_Python) {
  EXPECT_EQ(filled("{epoch:02d}-{val_loss:.2f}.safetensors", 7, 0.12567), "07-0.13.safetensors");
  EXPECT_EQ(filled("{epoch}-{val_loss}", 12, 0.5), "12-0.5");
  EXPECT_EQ(filled("{epoch:.1f}-{val_loss:.1e}", 3, 0.0012), "3.0-1.2e-03");
  EXPECT_EQ(filled("{{{epoch}}}{val_loss:+.0f}", 3, 2), "{3}+2");
  EXPECT_EQ(FilePattern("ModelCheckpoint", "plain", {}).filled({}), "plain");
}

TEST(FilePatterns, that_are_none_are_refused) {
  const auto refused = [](const std::string& path) {
    const std::string text =
        whole_message_of<ValueError>([&] { ModelCheckpoint({.filepath = path}); });
    EXPECT_HAS(text, "used      checkpoint_test.cpp:");
    return text;
  };
  EXPECT_HAS(refused("m{epoch"), "has a brace without its other one at 1");
  EXPECT_HAS(refused("m}"), "has a brace without its other one at 1");
  EXPECT_HAS(refused("{ep{och}"), "has a brace without its other one at 0");
  EXPECT_HAS(refused("{epoch:02q}"), "\"02q\" is no format of a whole number");
  EXPECT_HAS(refused("{loss:d}"), "\"d\" is no format of a number");
  EXPECT_HAS(refused("{}"), "has a field without a name");
  EXPECT_HAS(refused("{batch}"), "give .save_freq = a number of batches");
  EXPECT_HAS(refused(""), "path is empty");
}

class Checkpoints : public ::testing::Test {
 protected:
  void SetUp() override {
    const ::testing::TestInfo& info = *::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(::testing::TempDir()) / (std::string("tenure_") + info.name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      found.push_back(entry.path().filename().string());
    }
    std::ranges::sort(found);
    return found;
  }
  // The loss of an epoch is the square of its weight.
  void fit(const Callback& callback, std::vector<float> weights, FitOptions options = {}) {
    options.epochs = static_cast<int>(weights.size());
    options.batch_size = 1;
    options.verbose = Verbose::silent;
    options.callbacks = {
        LambdaCallback({.on_epoch_begin =
                            [weights = std::move(weights)](Training& training) {
                              const auto epoch = static_cast<std::size_t>(training.epoch());
                              training.model().set_weights({full({1, 1}, weights[epoch])});
                            }}),
        callback};
    model_.fit(ones({4, 1}), zeros({4, 1}), options);
  }
  float weight_in(const std::string& name) const {
    return floats(load_model(at(name)).get_weights()[0])[0];
  }

  Sequential model_ = [] {
    Sequential model({Dense({.units = 1, .use_bias = false, .input_shape = {1}})});
    model.compile({.optimizer = SGD({.learning_rate = 0}), .loss = "mse"});
    return model;
  }();

 private:
  fs::path folder_;
};

using Names = std::vector<std::string>;

TEST_F(Checkpoints, have_names_with_their_epochs_and_logs) {
  fit(ModelCheckpoint({.filepath = at("deep/{epoch:02d}-{loss:.2f}")}), {1.5f, 0.5f});
  EXPECT_EQ(names(), (Names{"deep"})) << "a folder was made";
  EXPECT_EQ(weight_in("deep/01-2.25"), 1.5f);
  EXPECT_EQ(weight_in("deep/02-0.25"), 0.5f);
}

TEST_F(Checkpoints, with_a_misspelt_field_say_which_there_are) {
  const std::string text = whole_message_of<ValueError>(
      [&] { fit(ModelCheckpoint({.filepath = at("{epoch}-{los:.2f}")}), {1}); });
  EXPECT_HAS(text,
             "ModelCheckpoint: names its files by \"los\", which is not there (there are: "
             "loss)");
  EXPECT_HAS(text, "born      checkpoint_test.cpp:");
  EXPECT_FALSE(fs::exists(at("")));
}

TEST_F(Checkpoints, pass_over_epochs_that_lack_a_field) {
  std::vector<std::string> warnings;
  set_warning_sink([&](std::string_view text) { warnings.emplace_back(text); });
  fit(ModelCheckpoint({.filepath = at("{epoch}-{val_loss:.0f}")}), {1, 2, 3, 4},
      {.validation = Dataset::from_tensors(ones({1, 1}), zeros({1, 1})), .validation_freq = 2});
  set_warning_sink(nullptr);
  EXPECT_EQ(names(), (Names{"2-4", "4-16"}));
  EXPECT_EQ(warnings.size(), 1u);
}

TEST_F(Checkpoints, of_the_best_only_replace_one_another) {
  fit(ModelCheckpoint({.filepath = at("best"), .monitor = "loss", .save_best_only = true}),
      {3, 1, 2});
  EXPECT_EQ(weight_in("best"), 1);
  fit(ModelCheckpoint(
          {.filepath = at("most"), .monitor = "loss", .save_best_only = true, .mode = "max"}),
      {1, 3, 2});
  EXPECT_EQ(weight_in("most"), 3);
}

TEST_F(Checkpoints, of_the_best_may_begin_at_a_threshold) {
  const Callback checkpoint = ModelCheckpoint({.filepath = at("{epoch}"),
                                               .monitor = "loss",
                                               .save_best_only = true,
                                               .initial_value_threshold = 5});
  fit(checkpoint, {3, 2, 4, 1});
  EXPECT_EQ(names(), (Names{"2", "4"}));
  fit(checkpoint, {2, 3, 0.5f});
  EXPECT_EQ(names(), (Names{"2", "3", "4"})) << "the best of both fits counts";
}

TEST_F(Checkpoints, come_every_so_many_batches) {
  // Four batches an epoch: after the third and the sixth.
  fit(ModelCheckpoint({.filepath = at("{epoch}-{batch}"), .save_freq = 3}), {1, 2});
  EXPECT_EQ(names(), (Names{"1-3", "2-2"}));
  EXPECT_EQ(weight_in("2-2"), 2);
  EXPECT_HAS(message_of<ValueError>(
                 [&] { ModelCheckpoint({.filepath = at("{val_loss}"), .save_freq = 3}); }),
             "\"val_loss\" is known at the end of epochs, and the model is saved every 3 batches");
  EXPECT_HAS(message_of<ValueError>([&] {
               ModelCheckpoint({.filepath = at("m"), .save_best_only = true, .save_freq = 3});
             }),
             "\"val_loss\" is known at the end of epochs");
}

TEST_F(Checkpoints, may_have_weights_alone) {
  fit(ModelCheckpoint({.filepath = at("w"), .save_weights_only = true}), {4});
  EXPECT_THROW(load_model(at("w")), IoError);
  model_.set_weights({zeros({1, 1})});
  model_.load_weights(at("w"));
  EXPECT_EQ(floats(model_.get_weights()[0])[0], 4);
}

}  // namespace
}  // namespace tenure::nn
