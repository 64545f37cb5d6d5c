// Models used again and again hold what they held after the first time.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "nn/model_state.h"
#include "support/expect.h"
#include "tenure/tenure.h"

namespace tenure {
namespace {

// AddressSanitizer keeps what was freed, and takes its time.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kKeepsFreed = true;
#else
constexpr bool kKeepsFreed = false;
#endif

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t whole = 0, resident = 0;
  file >> whole >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

nn::Sequential stateful_model() {
  return nn::Sequential({nn::LSTM({.units = 4, .stateful = true, .batch_input_shape = {2, 5, 3}}),
                         nn::Dense({.units = 1})});
}

void expect_same(const MemoryInfo& after, const MemoryInfo& before) {
  EXPECT_EQ(after.tensors, before.tensors);
  EXPECT_EQ(after.storages, before.storages);
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_EQ(after.layer_state_bytes, before.layer_state_bytes);
  EXPECT_EQ(after.reserved_bytes, before.reserved_bytes);
}

TEST(Steady, L19_ten_thousand_predictions_of_a_stateful_model) {
  const nn::Sequential model = stateful_model();
  const Tensor x = random::normal({2, 5, 3});
  tidy([&] { model.predict(x); });
  tidy([&] { model.predict(x); });  // packed weights are kept from the second on
  const MemoryInfo before = memory();
  EXPECT_EQ(before.layer_state_bytes, 2 * 2 * 4 * sizeof(float));
  for (int i = 0; i < 10000; ++i) tidy([&] { model.predict(x); });
  expect_same(memory(), before);
}

TEST(Steady, L19_ten_thousand_steps_of_a_stateful_model) {
  const nn::Sequential model = stateful_model();
  model.compile({.optimizer = nn::Adam(), .loss = "mse", .metrics = {"mae"}});
  const Tensor x = random::normal({2, 5, 3}), y = random::normal({2, 1});
  model.train_on_batch(x, y);
  const MemoryInfo before = memory();
  for (int i = 0; i < 10000; ++i) model.train_on_batch(x, y);
  expect_same(memory(), before);
}

TEST(Steady, L26_a_hundred_thousand_training_steps_leave_nothing_behind) {
  constexpr int kSteps = kKeepsFreed ? 2'000 : 100'000, kWarmUp = 1'000;
  constexpr std::size_t kNoise = 64 << 10;  // one byte left by each step would be more
  const nn::Sequential model({nn::Dense({.units = 32, .activation = "relu", .input_shape = {16}}),
                              nn::Dense({.units = 1})});
  model.compile({.optimizer = nn::Adam(), .loss = "mse"});
  const Tensor x = random::uniform({8, 16}), y = random::uniform({8, 1});
  const auto step = [&] { return model.train_on_batch(x, y)[0].second; };
  const double first = step();
  for (int i = 0; i < kWarmUp; ++i) step();
  const MemoryInfo before = memory();
  const std::size_t resident_before = resident_bytes();
  for (int i = 0; i < kSteps; ++i) step();
  const std::size_t resident_after = resident_bytes();
  expect_same(memory(), before);
  if (!kKeepsFreed) {
    EXPECT_LE(resident_after, resident_before + kNoise);
  }
  const auto traces = nn::detail::ModelAccess::state(model).compiled->train->traces();
  EXPECT_EQ(traces[0].hits, static_cast<std::uint64_t>(kSteps + kWarmUp));
  EXPECT_LT(step(), first / 2);
}

TEST(Steady, L19_a_wrong_batch_size_names_both_and_harms_nothing) {
  const nn::Sequential model = stateful_model();
  const Tensor x = random::normal({2, 5, 3});
  model.predict(x);
  const std::vector<float> state = testing::floats(model.get_states()[0]);
  const Tensor wrong = random::normal({3, 5, 3});
  const std::string here = "used      steady_test.cpp:" + std::to_string(__LINE__ + 1);
  const std::string text = testing::message_of<ShapeError>([&] { model.predict(wrong); });
  EXPECT_HAS(text, here);
  EXPECT_HAS(text, "LSTM \"lstm");
  EXPECT_HAS(text, "was built for batches of 2, was given one of 3: give it 2 sequences at a time");
  EXPECT_EQ(testing::floats(model.get_states()[0]), state);
}

TEST(Steady, L30_a_step_that_finds_no_memory_changes_nothing) {
  const nn::Sequential model = stateful_model();
  model.compile({.optimizer = nn::Adam(), .loss = "mse"});
  const Tensor x = random::normal({2, 5, 3}), y = random::normal({2, 1});
  model.train_on_batch(x, y);
  const auto snapshot = [&] {
    std::vector<float> all;
    for (const auto& list : {model.get_weights(), model.get_states()}) {
      for (const Tensor& each : list) {
        for (const float value : testing::floats(each)) all.push_back(value);
      }
    }
    return all;
  };
  const std::vector<float> before = snapshot();
  trim_pool();
  set_memory_budget(memory().live_bytes);
  EXPECT_THROW(model.train_on_batch(x, y), OutOfMemoryError);
  set_memory_budget(0);
  EXPECT_EQ(snapshot(), before);
  model.train_on_batch(x, y);
}

}  // namespace
}  // namespace tenure
