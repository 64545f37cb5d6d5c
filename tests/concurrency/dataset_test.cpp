// Passes over one dataset from several threads, each with a thread that works ahead.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "support/expect.h"

namespace tenure::nn {
namespace {

using testing::Floats;
using testing::floats;

TEST(Datasets, several_threads_pass_over_one_dataset) {
  Floats all(64);
  std::iota(all.begin(), all.end(), 0.f);
  const Dataset data = Dataset::from_tensors(tensor(all)).shuffle().batch(5).prefetch(2);
  const auto look = [&] {
    for (int i = 0; i < 10; ++i) {
      Floats seen;
      for (const Batch& batch : data) {
        const Floats values = floats(batch.x[0]);
        seen.insert(seen.end(), values.begin(), values.end());
      }
      std::ranges::sort(seen);
      EXPECT_EQ(seen, all);
    }
  };
  std::jthread a(look), b(look);
}

TEST(Datasets, a_prefetching_pass_is_dropped_while_its_thread_works) {
  for (int round = 0; round < 50; ++round) {
    Tensor x = full({20, 4}, 1.f);
    const Dataset data = Dataset::from_tensors(x).shuffle().repeat().batch(3).prefetch(2);
    DatasetIterator pass = data.iterate();
    for (int i = 0; i < round % 5; ++i) ASSERT_TRUE(pass.next());
    x.dispose();
  }
}

}  // namespace
}  // namespace tenure::nn
