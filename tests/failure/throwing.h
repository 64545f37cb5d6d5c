// What a user's own code throws, at every point where it is called: it arrives as it is, nothing is
// leaked, and the same call then runs through.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "faults.h"

namespace tenure::testing {

struct Mine {  // no std::exception, and no Error of ours
  int value = 0;
};

// Throws when it is passed for the nth time, by whatever thread.
struct Fuse {
  explicit Fuse(int at = 0) : nth(at) {}
  const int nth;  // 0: never
  std::atomic<int> passed = 0;
  void operator()() {
    if (++passed == nth) throw Mine{nth};
  }
};
using Fused = std::shared_ptr<Fuse>;

using Call = std::function<Floats()>;

struct Place {
  const char* name;
  std::function<Call(Fused)> prepare;  // what the call uses lives in it
  bool changes = false;                // each call gives other numbers, as training does
  bool builds = false;                 // what it has built when it fails stays
};
inline void PrintTo(const Place& place, std::ostream* out) { *out << place.name; }

inline Tensor column() { return tensor({1.F, 2.F, 3.F, 4.F}, {4, 1}); }
inline Tensor target() { return tensor({2.F, 4.F, 6.F, 8.F}, {4, 1}); }

struct Parts {
  std::optional<nn::Layer> layer = {};
  nn::DenseOptions dense = {.units = 1, .kernel_initializer = "ones"};
  nn::CompileOptions compile = {.optimizer = nn::SGD({.learning_rate = 0.01}), .loss = "mse"};
  nn::FitOptions fit = {
      .batch_size = 2, .epochs = 2, .verbose = nn::Verbose::silent, .shuffle = false};
  std::optional<nn::Dataset> data = {};
};

// A fit of a small model, some part of which has a fuse.
inline Call fitting(Parts parts) {
  if (parts.data) parts.fit.batch_size = {};  // it has batches
  auto model = std::make_shared<nn::Sequential>(
      std::vector<nn::Layer>{parts.layer ? *parts.layer : nn::Dense(parts.dense)});
  model->compile(parts.compile);
  return [model, parts] {
    const nn::History history =
        parts.data ? model->fit(*parts.data, parts.fit) : model->fit(column(), target(), parts.fit);
    Floats all = floats(model->predict(column()));
    all.push_back(static_cast<float>(history["loss"].size()));
    return all;
  };
}

inline void expect_arrives_and_leaves_nothing(const Place& place) {
  Floats expected;
  {
    expected = place.prepare(std::make_shared<Fuse>())();
  }
  for (int nth = 1;; ++nth) {
    ASSERT_LT(nth, 1000);
    const Counters outside = Counters::now();
    {
      const auto fuse = std::make_shared<Fuse>(nth);
      const Call call = place.prepare(fuse);
      const Counters before = Counters::now();
      bool thrown = false;
      try {
        EXPECT_EQ(call(), expected) << nth;
      } catch (const Mine& mine) {
        thrown = true;
        EXPECT_EQ(mine.value, nth);
      }
      if (!thrown) {
        EXPECT_LT(fuse->passed, nth) << "what was thrown did not arrive";
        EXPECT_GT(nth, 1) << "it was never called";
        break;
      }
      if (!place.builds) {
        EXPECT_EQ(Counters::now(), before) << nth;
      }
      const Floats again = call();
      EXPECT_EQ(again.size(), expected.size()) << nth;
      if (!place.changes) {
        EXPECT_EQ(again, expected) << nth;
      }
    }
    ASSERT_EQ(Counters::now(), outside) << nth;
    if (::testing::Test::HasFailure()) break;
  }
}

struct Throwing : ::testing::TestWithParam<Place> {
  void TearDown() override { trim_pool(); }
};

}  // namespace tenure::testing
