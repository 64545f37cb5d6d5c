// Models used from several threads: trained, asked and dropped at once.
#include <atomic>
#include <cmath>
#include <optional>
#include <thread>

#include "support/expect.h"

namespace tenure::nn {
namespace {

using testing::Floats;
using testing::floats;

Sequential stateful_model() {
  const Sequential model(
      {LSTM({.units = 3, .stateful = true, .batch_input_shape = {2, 4, 3}}), Dense({.units = 1})});
  model.compile({.optimizer = Adam(), .loss = "mse"});
  return model;
}

TEST(Models, L35_a_model_answers_while_it_is_trained) {
  const Sequential model = stateful_model();
  const Tensor x = random::normal({2, 4, 3}), y = random::normal({2, 1});
  model.train_on_batch(x, y);
  std::atomic<bool> done{false};
  const auto ask = [&] {
    while (!done) {
      for (const float value : floats(model.predict(x))) EXPECT_TRUE(std::isfinite(value));
    }
  };
  std::jthread a(ask), b(ask);
  for (int i = 0; i < 100; ++i) model.train_on_batch(x, y);
  done = true;
}

TEST(Models, two_are_trained_at_once_as_one_after_the_other) {
  const Tensor x = random::normal({2, 4, 3}), y = random::normal({2, 1});
  const Sequential one = stateful_model(), other = stateful_model(), alone = stateful_model();
  const std::vector<Tensor> start = one.get_weights();
  const auto train = [&](const Sequential& model) {
    model.set_weights(start);
    model.reset_states();
    Floats losses;
    for (int i = 0; i < 30; ++i)
      losses.push_back(static_cast<float>(value_of(model.train_on_batch(x, y), "loss")));
    return losses;
  };
  Floats first, second;
  {
    std::jthread a([&] { first = train(one); });
    std::jthread b([&] { second = train(other); });
  }
  EXPECT_EQ(first, train(alone));
  EXPECT_EQ(second, first);
}

TEST(Models, L21_inputs_are_disposed_and_the_model_dropped_while_it_learns) {
  for (int round = 0; round < 5; ++round) {
    std::optional<Sequential> model = stateful_model();
    Tensor x = random::normal({20, 4, 3}), y = random::normal({20, 1});
    Job<History> job = model->fit_async(x, y, {.batch_size = 2, .epochs = 3});
    std::jthread drops([&] {
      x.dispose();
      y.dispose();
      model.reset();
    });
    if (round % 2 == 0) {
      EXPECT_EQ(job.get().epochs.size(), 3u);
    } else {
      job.cancel();
      job.wait();
    }
  }
}

}  // namespace
}  // namespace tenure::nn
