// Weights that are read, or saved, while a model is being trained are those of one step.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <thread>

#include "support/expect.h"

namespace tenure::testing {
namespace {

constexpr std::int64_t kSize = 4096;

// Two weights that are equal after each step: the output depends on both of them in the same way.
struct Twins : nn::LayerBase {
  void build(const Shape& input) override {
    first = add_weight("first", {input[-1]}, {.initializer = "zeros"});
    second = add_weight("second", {input[-1]}, {.initializer = "zeros"});
  }
  Tensor call(const Tensor& x, const nn::Call&) override { return x * (first + second); }
  Variable first, second;
};

nn::Sequential twins() {
  nn::Sequential model({nn::make_layer<Twins>()});
  model.build({nn::kAny, kSize});
  return model;
}

Tensor twin_inputs() { return ones({2, kSize}); }

struct EachBatch : nn::CallbackBase {
  explicit EachBatch(std::function<void(nn::Training&)> call) : call_(std::move(call)) {}
  void on_train_batch_end(nn::Training& training, const nn::Logs&) override { call_(training); }
  std::function<void(nn::Training&)> call_;
};

void expect_twins(const std::vector<Tensor>& weights) {
  ASSERT_EQ(weights.size(), 2u);
  ASSERT_EQ(floats(weights[0]), floats(weights[1]));
}

TEST(ConsistentReads, weights_read_during_a_fit_are_of_one_step) {
  for (const bool eager : {false, true}) {
    const nn::Sequential model = twins();
    model.compile({.optimizer = nn::SGD({.learning_rate = 1e-4}), .loss = "mse", .eager = eager});
    Job<nn::History> fit =
        model.fit_async(twin_inputs(), twin_inputs() * 1e4, {.batch_size = 2, .epochs = 1 << 30});
    while (fit.progress() == 0) std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) expect_twins(model.get_weights());
    if (!eager) {  // a traced step changes all at once, for whoever reads a part of the model, too
      for (int i = 0; i < 200; ++i) expect_twins(model.layers()[0].get_weights());
    }
    const std::string path = ::testing::TempDir() + "twins.safetensors";
    for (int i = 0; i < 20; ++i) {
      model.save_weights(path);
      const nn::Sequential other = twins();
      other.load_weights(path);
      expect_twins(other.get_weights());
    }
    std::filesystem::remove(path);
    fit.cancel();
    EXPECT_TRUE(fit.get().cancelled);
  }
}

TEST(ConsistentReads, a_callback_and_a_step_may_read_and_save) {
  const std::string path = ::testing::TempDir() + "twins_callback.safetensors";
  const nn::Sequential model = twins();
  model.compile({.optimizer = "sgd", .loss = "mse"});
  int saved = 0;
  const auto save = [&](nn::Training&) {
    expect_twins(model.get_weights());
    model.save_weights(path);
    ++saved;
  };
  model.fit(twin_inputs(), twin_inputs(),
            {.epochs = 3,
             .verbose = nn::Verbose::silent,
             .callbacks = {nn::make_callback<EachBatch>(save)}});
  EXPECT_EQ(saved, 3);
  std::filesystem::remove(path);

  struct Reads : nn::ModelBase {
    Tensor call(const Tensor& x, const nn::Call& c) override { return twin(x, c); }
    nn::StepLogs train_step(const nn::Batch& batch) override {
      nn::StepLogs logs = ModelBase::train_step(batch);
      expect_twins(self.lock()->get_weights());
      return logs;
    }
    nn::Layer twin = track(nn::make_layer<Twins>());
    nn::WeakModel self;
  };
  const nn::Model own = nn::make_model<Reads>();
  own.as<Reads>()->self = own.weak();
  own.compile({.optimizer = "sgd", .loss = "mse", .eager = true});
  own.fit(twin_inputs(), twin_inputs(), {.epochs = 2, .verbose = nn::Verbose::silent});
}

TEST(ConsistentReads, every_reader_has_a_turn) {
  const nn::Sequential model = twins();
  model.compile({.optimizer = nn::SGD({.learning_rate = 1e-4}), .loss = "mse"});
  Job<nn::History> fit =
      model.fit_async(twin_inputs(), twin_inputs(), {.batch_size = 2, .epochs = 1 << 30});
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      for (int k = 0; k < 100; ++k) expect_twins(model.get_weights());
    });
  }
  for (std::thread& reader : readers) reader.join();
  const std::int64_t steps = model.optimizer().iterations();
  while (model.optimizer().iterations() == steps) std::this_thread::yield();
  fit.cancel();
  fit.wait();
}

}  // namespace
}  // namespace tenure::testing
