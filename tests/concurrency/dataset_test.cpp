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

TEST(Datasets, several_threads_map_and_fill_one_cache) {
  Floats all(64);
  std::iota(all.begin(), all.end(), 0.f);
  const Dataset data = Dataset::from_tensors(tensor(all))
                           .map(
                               [](Batch batch) {
                                 batch.x[0] = batch.x[0] + 1.f;
                                 return batch;
                               },
                               {.num_parallel_calls = 3})
                           .cache();
  const auto look = [&] {
    for (int i = 0; i < 10; ++i) {
      float next = 1;
      for (const Batch& batch : data) EXPECT_EQ(batch.x[0].item<float>(), next++);
      EXPECT_EQ(next, 65);
    }
  };
  std::jthread a(look), b(look);
}

TEST(Datasets, a_pass_that_maps_on_threads_is_dropped_while_they_work) {
  for (int round = 0; round < 50; ++round) {
    const Dataset data =
        Dataset::from_tensors(full({20, 4}, 1.f))
            .repeat()
            .map([](Batch batch) { return batch; },
                 {.num_parallel_calls = 2 + round % 3, .deterministic = round % 2 == 0})
            .prefetch(2);
    DatasetIterator pass = data.iterate();
    for (int i = 0; i < round % 5; ++i) ASSERT_TRUE(pass.next());
  }
}

}  // namespace
}  // namespace tenure::nn
