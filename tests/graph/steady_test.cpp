// Training for hours costs no more memory than training for a moment (L26).
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "models/mlp.h"
#include "support/expect.h"

namespace tenure::testing {
namespace {

namespace models = bench::models;

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

// Gives one number, and is trained to give the wanted one.
struct Regression : models::Mlp {
  Regression() : Mlp({16, 32, 1}, 8) {}
  Tensor loss(const Tensor& x, const Tensor& y) const {
    return models::mean_square_error(logits(x), y);
  }
};

TEST(L26, a_hundred_thousand_training_steps_leave_nothing_behind) {
  constexpr int kSteps = kKeepsFreed ? 2'000 : 100'000, kWarmUp = 1'000;
  constexpr std::size_t kNoise = 64 << 10;  // one byte left by each step would be more
  set_seed(1);
  models::Training<Regression> training;
  const auto step = training.traced();
  const Tensor x = random::uniform({8, 16}), y = random::uniform({8, 1});
  const float first = step(x, y).item<float>();
  for (int i = 0; i < kWarmUp; ++i) step(x, y);
  const MemoryInfo before = memory();
  const std::size_t resident_before = resident_bytes();
  for (int i = 0; i < kSteps; ++i) step(x, y);
  const std::size_t resident_after = resident_bytes();
  const MemoryInfo after = memory();
  EXPECT_EQ(after.tensors, before.tensors);
  EXPECT_EQ(after.storages, before.storages);
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_EQ(after.reserved_bytes, before.reserved_bytes);
  if (!kKeepsFreed) {
    EXPECT_LE(resident_after, resident_before + kNoise);
  }
  EXPECT_EQ(step.traces()[0].hits, static_cast<std::uint64_t>(kSteps + kWarmUp));
  EXPECT_LT(step(x, y).item<float>(), first / 2);
}

}  // namespace
}  // namespace tenure::testing
