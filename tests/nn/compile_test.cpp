// Losses, their weights and metrics, output by output; what logs call them.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>

#include "support/expect.h"
#include "tenure/tenure.h"

namespace tenure::compiling {
namespace {

using tenure::testing::floats;
using tenure::testing::message_of;

constexpr nn::Verbose kSilent = nn::Verbose::silent;

nn::Dense times(double factor, const char* name) {
  return nn::Dense(
      {.units = 1, .use_bias = false, .kernel_initializer = nn::Constant({factor}), .name = name});
}

// Gives 2 x as "main" and 3 x as "aux".
nn::Model two_outputs() {
  const nn::Node in = nn::Input({.shape = {1}});
  return {{in}, {times(2, "main")(in), times(3, "aux")(in)}};
}

// Of x = 1, 2, 3 and targets of 0: the squares of 2 x and 3 x, and their absolutes.
struct Data {
  Tensor x = tensor({1.f, 2.f, 3.f}, {3, 1});
  Tensor y = zeros({3, 1});
  nn::Batch batch() const { return {{x}, {y, y}, {}}; }
};
constexpr double kMainSquares = 4 * 14 / 3.0, kAuxSquares = 9 * 14 / 3.0;
constexpr double kMainErrors = 4, kAuxErrors = 6;

using Names = std::vector<std::string>;
Names names_of(const nn::Logs& logs) {
  Names names;
  for (const auto& [name, value] : logs) names.push_back(name);
  return names;
}

const nn::Optimizer still() { return nn::SGD({.learning_rate = 0}); }

TEST(Compile, losses_go_by_the_names_of_outputs) {
  const Data data;
  const nn::Model model = two_outputs();
  model.compile({.optimizer = still(),
                 .loss = {{"aux", "mae"}, {"main", nn::MeanSquaredError()}},
                 .loss_weights = {{"aux", 0.5}}});
  const nn::Logs logs = model.test_on_batch(data.batch());
  EXPECT_EQ(names_of(logs), (Names{"loss", "main_loss", "aux_loss"}));
  EXPECT_NEAR(logs[0].second, kMainSquares + 0.5 * kAuxErrors, 1e-4);
  EXPECT_NEAR(logs[1].second, kMainSquares, 1e-4);
  EXPECT_NEAR(logs[2].second, kAuxErrors, 1e-5);
}

TEST(Compile, an_output_may_have_no_loss) {
  const Data data;
  const std::array<nn::Losses, 3> forms{nn::Losses{"mse", {}}, nn::Losses{{"main", "mse"}},
                                        nn::Losses{{"main", "mse"}, {"aux", {}}}};
  for (const nn::Losses& loss : forms) {
    const nn::Model model = two_outputs();
    model.compile({.optimizer = nn::SGD({.learning_rate = 0.01}), .loss = loss});
    // With a target for each output, or for those that are judged.
    for (const nn::Batch& batch : {data.batch(), nn::Batch{{data.x}, {data.y}, {}}}) {
      const nn::Logs logs = model.test_on_batch(batch);
      EXPECT_EQ(names_of(logs), Names{"loss"});
      EXPECT_NEAR(logs[0].second, kMainSquares, 1e-4);
    }
    model.fit(std::vector{data.x}, std::vector{data.y}, {.verbose = kSilent});
    // d/dw mean((w x)^2) = 2 w mean(x^2)
    EXPECT_NEAR(floats(model.get_weights()[0])[0], 2 - 0.01 * 2 * 2 * 14 / 3.0, 1e-5);
    EXPECT_EQ(floats(model.get_weights()[1])[0], 3);
  }
}

TEST(Compile, an_output_without_a_loss_can_be_measured) {
  const Data data;
  const nn::Model model = two_outputs();
  model.compile({.optimizer = still(), .loss = {"mse", {}}, .metrics = {{}, {"mae"}}});
  const nn::Logs logs = model.test_on_batch(data.batch());
  EXPECT_EQ(names_of(logs), (Names{"loss", "aux_mae"}));
  EXPECT_NEAR(logs[1].second, kAuxErrors, 1e-5);
  EXPECT_HAS(
      message_of<ValueError>([&] { model.test_on_batch(nn::Batch{{data.x}, {data.y}, {}}); }),
      "has 2 outputs, was given 1 target");
}

TEST(Compile, metrics_are_given_for_each_output_or_by_its_name) {
  const Data data;
  const std::array<nn::Metrics, 6> forms{
      nn::Metrics{{"mae"}, {"mse"}},
      nn::Metrics{"mae", "mse"},
      nn::Metrics{{"main", "mae"}, {"aux", "mse"}},
      nn::Metrics{{"aux", {"mse"}}, {"main", {"mae"}}},
      nn::Metrics{nn::Metric("mae"), {nn::MeanSquaredError({.name = "mse"})}},
      nn::Metrics{{"main", nn::MeanAbsoluteError({.name = "mae"})}, {"aux", {"mse"}}}};
  for (const nn::Metrics& metrics : forms) {
    const nn::Model model = two_outputs();
    model.compile({.optimizer = still(), .loss = "mse", .metrics = metrics});
    const nn::Logs logs = model.test_on_batch(data.batch());
    EXPECT_EQ(names_of(logs), (Names{"loss", "main_loss", "aux_loss", "main_mae", "aux_mse"}));
    EXPECT_NEAR(logs[3].second, kMainErrors, 1e-5);
    EXPECT_NEAR(logs[4].second, kAuxSquares, 1e-4);
  }
}

TEST(Compile, a_list_of_two_metrics_is_no_pair_unless_the_first_names_an_output) {
  const Data data;
  const nn::Model model = two_outputs();
  model.compile({.optimizer = still(), .loss = "mse", .metrics = {{"mae", "mse"}, {}}});
  const nn::Logs logs = model.test_on_batch(data.batch());
  EXPECT_EQ(names_of(logs), (Names{"loss", "main_loss", "aux_loss", "main_mae", "main_mse"}));
  EXPECT_NEAR(logs[3].second, kMainErrors, 1e-5);
  EXPECT_NEAR(logs[4].second, kMainSquares, 1e-4);
}

TEST(Compile, the_one_output_of_a_model_has_plain_names) {
  const Data data;
  for (const nn::Metrics& metrics :
       {nn::Metrics{"mae"}, nn::Metrics{{"mae"}}, nn::Metrics{{"main", {"mae"}}},
        nn::Metrics("mae"), nn::Metrics(std::vector<nn::Metric>{"mae"})}) {
    const nn::Sequential model({times(2, "main")});
    model.compile({.optimizer = still(),
                   .loss = {{"main", "mse"}},
                   .loss_weights = {0.5},
                   .metrics = metrics});
    const nn::Logs logs = model.test_on_batch(data.x, data.y);
    EXPECT_EQ(names_of(logs), (Names{"loss", "mae"}));
    EXPECT_NEAR(logs[0].second, kMainSquares / 2, 1e-4);
    EXPECT_NEAR(logs[1].second, kMainErrors, 1e-5);
  }
}

TEST(Compile, history_has_the_names_of_keras) {
  const Data data;
  const nn::Model model = two_outputs();
  model.compile({.optimizer = still(), .loss = "mse", .metrics = {{"main", {"mae"}}}});
  const nn::History history = model.fit(
      std::vector{data.x}, std::vector{data.y, data.y},
      {.verbose = kSilent, .validation = nn::Dataset::from_tensors(data.x, {data.y, data.y})});
  Names names;
  for (const auto& [name, values] : history.values) names.push_back(name);
  EXPECT_EQ(names, (Names{"loss", "main_loss", "aux_loss", "main_mae", "val_loss", "val_main_loss",
                          "val_aux_loss", "val_main_mae"}));
}

TEST(Compile, metrics_of_one_name_are_told_apart) {
  const nn::Sequential model(
      {nn::Dense({.units = 1, .activation = "sigmoid", .input_shape = {1}})});
  model.compile({.optimizer = still(),
                 .loss = "bce",
                 .metrics = {nn::AUC(), nn::AUC({.curve = nn::Curve::pr}), "mae"},
                 .weighted_metrics = {"mae", "mae", "mse"}});
  const Tensor x = tensor({-2.f, -1.f, 1.f, 2.f}, {4, 1}), y = tensor({0.f, 0.f, 1.f, 1.f}, {4, 1});
  EXPECT_EQ(names_of(model.test_on_batch(x, y)),
            (Names{"loss", "auc", "auc_1", "mae", "weighted_mae", "weighted_mae_1", "mse"}));
}

TEST(Compile, outputs_of_one_layer_are_told_apart) {
  const nn::Node a = nn::Input({.shape = {1}}), b = nn::Input({.shape = {1}});
  const nn::Dense shared = times(2, "shared");
  const nn::Model model({a, b}, {shared(a), shared(b)});
  model.compile({.optimizer = still(), .loss = {{"shared_1", "mae"}, {"shared", "mse"}}});
  const Data data;
  const nn::Logs logs = model.test_on_batch(nn::Batch{{data.x, data.x * 2}, {data.y, data.y}, {}});
  EXPECT_EQ(names_of(logs), (Names{"loss", "shared_loss", "shared_1_loss"}));
  EXPECT_NEAR(logs[1].second, kMainSquares, 1e-4);
  EXPECT_NEAR(logs[2].second, 2 * kMainErrors, 1e-5);
}

TEST(Compile, only_weighted_metrics_count_the_weights_of_examples) {
  const Data data;
  for (const bool eager : {false, true}) {
    const nn::Sequential model({times(2, "main")});
    model.compile({.optimizer = still(),
                   .loss = "mse",
                   .metrics = {"mae"},
                   .weighted_metrics = {nn::MeanAbsoluteError({.name = "weighted"})},
                   .eager = eager});
    const Tensor weights = tensor({1.f, 0.f, 3.f});
    const nn::Logs logs = model.test_on_batch(data.x, data.y, weights);
    EXPECT_NEAR(nn::value_of(logs, "loss"), (4 * 1 + 4 * 9 * 3) / 3.0, 1e-4);
    EXPECT_NEAR(nn::value_of(logs, "mae"), (2 + 4 + 6) / 3.0, 1e-5);
    EXPECT_NEAR(nn::value_of(logs, "weighted"), (2 * 1 + 6 * 3) / 4.0, 1e-5);
  }
}

TEST(Compile, weights_of_classes_count_as_those_of_examples_do) {
  const nn::Sequential model({times(1, "main")});
  model.compile({.optimizer = still(),
                 .loss = "mse",
                 .metrics = {"mae"},
                 .weighted_metrics = {nn::MeanAbsoluteError({.name = "weighted"})}});
  // |x - y| is 1, 2, 1
  const Tensor x = tensor({1.f, 3.f, 2.f}, {3, 1}), y = tensor({0.f, 1.f, 1.f}, {3, 1});
  const nn::History history =
      model.fit(x, y, {.verbose = kSilent, .class_weight = {{0, 3}, {1, 0.5}}});
  EXPECT_NEAR(history["mae"][0], 4 / 3.0, 1e-5);
  EXPECT_NEAR(history["weighted"][0], (3 * 1 + 0.5 * 2 + 0.5 * 1) / 4, 1e-5);
}

struct Pairs : nn::ModelBase {
  std::vector<Tensor> call_all(const std::vector<Tensor>& in, const nn::Call& c) override {
    return {first(in[0], c), second(in[0], c)};
  }
  nn::Layer first = track(times(2, "first"));
  nn::Layer second = track(times(3, "second"));
};

TEST(Compile, outputs_of_a_model_of_the_users_own_go_by_number) {
  const Data data;
  const nn::Model model = nn::make_model<Pairs>();
  model.compile({.optimizer = still(),
                 .loss = {{"output_0", "mse"}, {"output_1", "mse"}},
                 .metrics = {{"output_1", "mae"}}});
  EXPECT_EQ(names_of(model.test_on_batch(data.batch())),
            (Names{"loss", "output_0_loss", "output_1_loss", "output_1_mae"}));
}

TEST(Compile, what_does_not_fit_the_outputs_is_refused_at_once) {
  const nn::Model model = two_outputs();
  const auto text = [&](const nn::CompileOptions& options) {
    return testing::whole_message_of<ValueError>([&] { model.compile(options); });
  };
  EXPECT_HAS(text({.loss = {{"mian", "mse"}}}),
             R"(loss: the model has no output "mian" (there are: "main", "aux"))");
  EXPECT_HAS(text({.loss = {{"main", "mse"}, {"main", "mae"}}}), R"("main" is there twice)");
  EXPECT_HAS(text({.loss = {"mse", "mse", "mse"}}), "loss: 3 for 2 outputs: \"main\", \"aux\"");
  EXPECT_HAS(text({.loss = "mse", .loss_weights = {1}}), "loss_weights: 1 for 2 outputs");
  EXPECT_HAS(text({.loss = "mse", .loss_weights = {{"none", 1}}}), R"(no output "none")");
  EXPECT_HAS(text({.loss = {{"main", "mse"}}, .loss_weights = {{"aux", 1}}}),
             R"(loss_weights: output "aux" has no loss)");
  EXPECT_HAS(text({.loss = "mse", .loss_weights = {1, std::nan("")}}), "loss_weights: nan");
  EXPECT_HAS(text({.loss = "mse", .metrics = {"mae"}}), "metrics: 1 for 2 outputs");
  EXPECT_HAS(text({.loss = "mse", .metrics = {{"mae"}, {"mse"}, {"mae"}}}),
             "metrics: 3 for 2 outputs");
  EXPECT_HAS(text({.loss = "mse", .metrics = {{"mian", {"mae"}}}}),
             R"(metrics: the model has no output "mian")");
  EXPECT_HAS(text({.loss = "mse", .metrics = {{"mian", "mae"}, {"aux", "mae"}}}), "others are not");
  EXPECT_HAS(text({.loss = "mse", .metrics = {{"mian", "mae"}, {}}}),
             R"(nor is it an output of the model, of which there are: "main", "aux".)");
  EXPECT_HAS(text({.loss = "mse", .metrics = {{"aux", "mae"}, {"aux", "mse"}}}), "there twice");
  EXPECT_HAS(text({.loss = "mse", .weighted_metrics = {{"mae", {"mse"}}}}),
             R"(weighted_metrics: the model has no output "mae")");
}

TEST(Compile, no_metric_takes_the_name_of_the_loss) {
  const nn::Sequential model({times(2, "main")});
  const nn::Metric metric(nn::MeanSquaredError({.name = "loss"}));
  EXPECT_HAS(testing::whole_message_of<ValueError>(
                 [&] { model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {metric}}); }),
             "metrics: a metric is called \"loss\", as the loss is");
  EXPECT_THROW(model.train_on_batch(ones({1, 1}), ones({1, 1})), ValueError);  // not compiled
}

TEST(Compile, what_is_refused_later_tells_where_it_was_compiled) {
  const Data data;
  const nn::Model model = nn::make_model<Pairs>();
  const int line = __LINE__ + 1;
  model.compile({.optimizer = still(), .loss = {{"first", "mse"}}});
  const std::string text =
      testing::whole_message_of<ValueError>([&] { model.test_on_batch(data.batch()); });
  EXPECT_HAS(text, R"(no output "first" (there are: "output_0", "output_1"))");
  EXPECT_HAS(text, "compiled  compile_test.cpp:" + std::to_string(line));
}

TEST(Compile, comes_back_from_a_file_in_every_form) {
  const Data data;
  const std::array<nn::CompileOptions, 4> forms{
      nn::CompileOptions{.loss = {"mse", {}}, .metrics = {{"mae"}, {"mse", nn::AUC()}}},
      nn::CompileOptions{.loss = {{"aux", "mae"}, {"main", "mse"}},
                         .loss_weights = {{"aux", 0.25}},
                         .metrics = {{"aux", "mse"}, {"main", {"mae"}}}},
      nn::CompileOptions{.loss = "mse", .loss_weights = {1, 2}, .weighted_metrics = {"mae", {}}},
      nn::CompileOptions{.loss = {{"aux", "mse"}},
                         .weighted_metrics = {{"main", {nn::RootMeanSquaredError()}}}}};
  const std::string path = ::testing::TempDir() + "tenure_compile_test.safetensors";
  nn::Batch batch = data.batch();
  batch.weight = tensor({1.f, 2.f, 0.f});
  for (nn::CompileOptions options : forms) {
    const nn::Model model = two_outputs();
    options.optimizer = nn::SGD({.learning_rate = 0.01});
    model.compile(options);
    for (const bool trained : {false, true}) {
      if (trained) model.train_on_batch(batch);
      model.save(path);
      const nn::Model again = nn::load_model(path);
      EXPECT_EQ(again.test_on_batch(batch), model.test_on_batch(batch));
    }
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tenure::compiling
