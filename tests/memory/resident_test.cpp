// What the system sees of the process: at most half as much again as was live at once, and 64 MiB.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <random>
#include <vector>

#include "memory/sanitizer.h"
#include "memory/storage.h"
#include "support/expect.h"

namespace tenure {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

class Resident : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(TENURE_ASAN)
    GTEST_SKIP() << "the sanitizer keeps memory of its own";
#endif
    trim_pool();
    reset_peak();
    before_ = resident_bytes();
  }
  void TearDown() override { trim_pool(); }

  void expect_bounded() {
    const std::size_t peak = memory().peak_bytes;
    const std::size_t resident = resident_bytes();
    EXPECT_LE(resident, before_ + peak + peak / 2 + 64 * kMiB)
        << resident / kMiB << " MiB, " << before_ / kMiB << " before, peak of live " << peak / kMiB
        << " MiB\n"
        << memory();
  }

  std::size_t before_ = 0;
};

Tensor filled(std::size_t nbytes) { return full({static_cast<std::int64_t>(nbytes / 4)}, 1.f); }

TEST_F(Resident, is_bounded_for_one_tensor_at_a_time_of_many_sizes) {
  for (std::size_t nbytes = kMiB; nbytes <= 128 * kMiB; nbytes += nbytes / 8) filled(nbytes);
  expect_bounded();
  for (std::size_t nbytes = 128 * kMiB; nbytes >= kMiB; nbytes -= nbytes / 9) {
    filled(nbytes);
    if (HasFailure()) return;
  }
  expect_bounded();
}

TEST_F(Resident, is_bounded_for_batches_of_varying_size) {
  std::mt19937 random(1);
  for (int i = 0; i < 300 && !HasFailure(); ++i) {
    const std::size_t batch = 1 + random() % 2000;
    const Tensor x = filled(batch * 4096);
    Tensor hidden = filled(batch * 2800);
    const Tensor mean = filled(batch * 4);
    hidden = filled(batch * 5000);
    if (i % 10 == 0) expect_bounded();
  }
  expect_bounded();
}

TEST_F(Resident, is_bounded_again_once_a_million_tensors_are_dropped) {
  constexpr std::size_t kTensors = 1000000;
  std::vector<Tensor> tensors;
  tensors.reserve(kTensors);
  for (const bool shuffled : {false, true}) {
    for (std::size_t i = 0; i < kTensors; ++i) tensors.push_back(full({1}, 1.f));
    if (shuffled) std::ranges::shuffle(tensors, std::mt19937(3));
    tensors.clear();
    expect_bounded();
  }
}

// Sizes from a byte to 64 MB, as likely between 1 and 2 as between 32 and 64 million.
TEST_F(Resident, is_bounded_for_random_sizes_in_random_order) {
  std::mt19937 random(5);
  std::vector<detail::Storage*> held;
  const auto drop = [&](std::size_t at) {
    detail::release(held[at]);
    held[at] = held.back();
    held.pop_back();
  };
  for (int phase = 0; phase < 8 && !HasFailure(); ++phase) {
    std::size_t live = 0;
    const std::size_t most = (40 + random() % 200) * kMiB;
    for (int i = 0; i < 600; ++i) {
      const double exponent = std::uniform_real_distribution<>(0, std::log(64e6))(random);
      const auto nbytes = static_cast<std::size_t>(std::exp(exponent));
      while (!held.empty() && (live + nbytes > most || random() % 4 == 0)) {
        const std::size_t at = random() % held.size();
        live -= held[at]->nbytes;
        drop(at);
      }
      detail::Storage* storage = detail::allocate_storage(Device{}, nbytes, nullptr);
      std::memset(storage->data, 1, nbytes);
      live += nbytes;
      held.push_back(storage);
      if (i % 100 == 0) expect_bounded();
    }
    while (!held.empty()) drop(held.size() - 1);
    expect_bounded();
  }
  while (!held.empty()) drop(held.size() - 1);
}

}  // namespace
}  // namespace tenure
