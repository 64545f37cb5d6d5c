// L36: models in sessions.
#include <filesystem>
#include <functional>
#include <future>
#include <optional>

#include "support/expect.h"

namespace tenure::nn {
namespace {

using testing::message_of;

constexpr Verbose kSilent = Verbose::silent;

Sequential stateful_model() {
  const Sequential model(
      {LSTM({.units = 3, .stateful = true, .batch_input_shape = {2, 4, 3}}), Dense({.units = 1})});
  model.compile({.optimizer = Adam(), .loss = "mse"});
  return model;
}

TEST(Contract, L36_a_model_of_a_closed_session_is_refused_at_the_users_line) {
  Session session({.name = "training"});
  std::optional<Sequential> model;
  session.run([&] {
    model.emplace(stateful_model());
    const Tensor x = ones({2, 4, 3}), y = ones({2, 1});
    model->fit(x, y, {.batch_size = 2, .epochs = 1, .verbose = kSilent});
    model->predict(x);
  });
  session.close();
  EXPECT_EQ(session.memory().live_bytes, 0u);
  const Tensor x = ones({2, 4, 3}), y = ones({2, 1});
  const std::string file =
      (std::filesystem::temp_directory_path() / "closed_session.safetensors").string();
  const std::vector<std::function<void()>> uses{
      [&] { model->predict(x); },
      [&] { model->fit(x, y, {.batch_size = 2, .verbose = kSilent}); },
      [&] { model->evaluate(x, y, {.batch_size = 2}); },
      [&] { model->train_on_batch(x, y); },
      [&] { (*model)(x); },
      [&] { model->reset_states(); },
      [&] { model->get_weights(); },
      [&] { model->save(file); },
  };
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const std::string text = message_of<DisposedError>(uses[i]);
    EXPECT_HAS(text, "session \"training\" closed") << i;
    EXPECT_HAS(text, "used      session_test.cpp:") << i;
  }
  EXPECT_FALSE(std::filesystem::exists(file));
  model->dispose();
}

struct Waits : CallbackBase {
  explicit Waits(std::shared_future<void> until) : open(std::move(until)) {}
  void on_train_begin(Training&) override { open.wait(); }
  std::shared_future<void> open;
};

TEST(Contract, L36_a_session_stays_open_while_a_model_works_in_it) {
  Session session({.name = "training"});
  std::optional<Sequential> model;
  std::promise<void> gate;
  Job<History> job = session.run([&] {
    model.emplace(stateful_model());
    return model->fit_async(ones({2, 4, 3}), ones({2, 1}),
                            {.batch_size = 2,
                             .epochs = 1,
                             .callbacks = {make_callback<Waits>(gate.get_future().share())}});
  });
  EXPECT_HAS(message_of<BusyError>([&] { session.close(); }), "session \"training\" is running");
  gate.set_value();
  EXPECT_EQ(job.get().epochs.size(), 1u);
  Job<Tensor> forecast = session.run([&] { return model->predict_async(ones({2, 4, 3})); });
  forecast.wait();
  EXPECT_EQ(session.close().disposed.size(), 1u) << "the forecast";
  EXPECT_THROW(model->predict(ones({2, 4, 3})), DisposedError);
}

}  // namespace
}  // namespace tenure::nn
