// GrowthWatch: what grows is named, what only looks like growth is not.
#include "tenure/watch.h"

#include <malloc.h>

#include "support/expect.h"

namespace tenure {
namespace {

using testing::here;

// What the library warned of while it lived.
class Warnings {
 public:
  Warnings() {
    set_warning_sink([this](std::string_view text) { texts.emplace_back(text); });
  }
  ~Warnings() { set_warning_sink({}); }
  std::vector<std::string> texts;
};

TEST(GrowthWatch, names_the_line_whose_tensors_become_more_each_iteration) {
  Warnings warnings;
  GrowthWatch watch({.iterations = 6, .name = "training"});
  std::vector<Tensor> losses;
  std::uint_least32_t line = 0;
  for (int i = 0; i < 20; ++i) {
    const Tensor x = zeros({100});
    line = here().line(), losses.push_back(x + 1);
    watch.step();
  }
  ASSERT_EQ(warnings.texts.size(), 1u);  // once
  EXPECT_HAS(warnings.texts[0], "\"training\": memory rose");
  EXPECT_HAS(warnings.texts[0], "watch_test.cpp:" + std::to_string(line) + " add: 1 more");
  EXPECT_HAS(warnings.texts[0], "400 bytes");
  EXPECT_HAS(warnings.texts[0], "tidy");
  const GrowthReport report = watch.report();
  EXPECT_TRUE(report.growing);
  EXPECT_EQ(report.iterations, 20u);
  ASSERT_EQ(report.sites.size(), 1u);
  EXPECT_EQ(report.sites[0].op, "add");
  EXPECT_EQ(report.sites[0].site.line(), line);
  EXPECT_DOUBLE_EQ(report.sites[0].tensors_per_iteration, 1);
  EXPECT_DOUBLE_EQ(report.sites[0].bytes_per_iteration, 400);
  EXPECT_DOUBLE_EQ(report.bytes_per_iteration, 400);
}

TEST(GrowthWatch, reports_what_is_alive_when_it_is_asked) {
  Warnings warnings;
  GrowthWatch watch({.iterations = 5});
  std::vector<Tensor> kept;
  for (int i = 0; i < 30; ++i) {
    kept.push_back(zeros({100}));
    watch.step();
  }
  ASSERT_EQ(watch.report().sites.size(), 1u);
  EXPECT_EQ(watch.report().sites[0].tensors, 30u);
  EXPECT_EQ(watch.report().sites[0].bytes, 30u * 400);
  kept.resize(3);
  EXPECT_EQ(watch.report().sites[0].tensors, 3u);
  EXPECT_HAS(watch.report().text(), "3 alive (1200 bytes)");
  kept.clear();
  EXPECT_EQ(watch.report().sites[0].tensors, 0u);
}

TEST(GrowthWatch, warns_after_as_many_rises_as_it_was_told) {
  Warnings warnings;
  GrowthWatch watch({.iterations = 5, .warm_up = 3});
  std::vector<Tensor> kept;
  int warned_at = 0;
  for (int i = 1; i <= 20 && warned_at == 0; ++i) {
    kept.push_back(zeros({8}));
    watch.step();
    if (!warnings.texts.empty()) warned_at = i;
  }
  EXPECT_EQ(warned_at, 3 + 1 + 5);  // the first step after the warm-up is what it compares with
}

TEST(GrowthWatch, sees_tensors_that_cost_no_bytes) {
  Warnings warnings;
  GrowthWatch watch({.iterations = 4});
  const Tensor x = zeros({1000});
  std::vector<Tensor> clones;
  for (int i = 0; i < 10; ++i) {
    clones.push_back(x.clone());
    watch.step();
  }
  ASSERT_EQ(warnings.texts.size(), 1u);
  ASSERT_EQ(watch.report().sites.size(), 1u);
  EXPECT_EQ(watch.report().sites[0].op, "clone");
}

TEST(GrowthWatch, says_that_small_views_hold_what_they_were_taken_from) {
  Warnings warnings;
  GrowthWatch watch({.iterations = 4});
  std::vector<Tensor> firsts;
  for (int i = 0; i < 10; ++i) {
    firsts.push_back(zeros({1000})[0]);
    watch.step();
  }
  ASSERT_EQ(warnings.texts.size(), 1u);
  const GrowthReport report = watch.report();
  ASSERT_EQ(report.sites.size(), 1u);
  EXPECT_TRUE(report.sites[0].small_views);
  EXPECT_DOUBLE_EQ(report.sites[0].bytes_per_iteration, 4000);
  EXPECT_HAS(report.sites[0].remedy, "views");
}

TEST(GrowthWatch, names_the_tape_whose_saved_values_become_more) {
  Warnings warnings;
  GrowthWatch watch({.iterations = 4});
  GradientTape tape({.persistent = true, .name = "outer"});
  const Tensor x = ones({10});
  tape.watch(x);
  for (int i = 0; i < 10; ++i) {
    tanh(x);
    watch.step();
  }
  ASSERT_EQ(warnings.texts.size(), 1u);
  EXPECT_HAS(warnings.texts[0], "saved for tape \"outer\"");
  EXPECT_HAS(warnings.texts[0], "make the tape inside the loop");
}

TEST(GrowthWatch, a_steady_loop_is_no_growth) {
  Warnings warnings;
  GrowthWatch watch({.iterations = 3});
  Tensor state = zeros({10});
  for (int i = 0; i < 50; ++i) {
    state = tidy([&] { return tanh(state + 1); });
    watch.step();
  }
  EXPECT_TRUE(warnings.texts.empty());
  EXPECT_FALSE(watch.growing());
  EXPECT_HAS(watch.report().text(), "no growth in 50 iterations");
}

TEST(GrowthWatch, what_fills_up_and_stops_is_no_growth) {
  Warnings warnings;
  GrowthWatch watch({.iterations = 10});
  std::vector<Tensor> cache;
  for (int i = 0; i < 50; ++i) {
    if (cache.size() < 8) cache.push_back(zeros({100}));
    watch.step();
  }
  EXPECT_TRUE(warnings.texts.empty());
}

TEST(GrowthWatch, what_rises_and_falls_is_no_growth) {
  Warnings warnings;
  GrowthWatch watch({.iterations = 6});
  std::vector<Tensor> batch;
  for (int i = 0; i < 200; ++i) {
    batch.push_back(zeros({100}));
    if (batch.size() == 6) batch.clear();
    watch.step();
  }
  EXPECT_TRUE(warnings.texts.empty());
}

TEST(GrowthWatch, a_leak_below_what_rises_and_falls_is_seen) {
  Warnings warnings;
  GrowthWatch watch({.iterations = 5});
  std::vector<Tensor> batch, kept;
  for (int i = 0; i < 60; ++i) {
    batch.push_back(zeros({100}));
    if (batch.size() == 3) {
      batch.clear();
      kept.push_back(ones({10}));
      kept.push_back(ones({10}));
    }
    watch.step();
  }
  ASSERT_EQ(warnings.texts.size(), 1u);
  EXPECT_HAS(warnings.texts[0], "ones");
}

TEST(GrowthWatch, growth_that_ends_is_growth_no_more) {
  Warnings warnings;
  GrowthWatch watch({.iterations = 4});
  std::vector<Tensor> kept;
  for (int i = 0; i < 10; ++i) {
    kept.push_back(zeros({8}));
    watch.step();
  }
  EXPECT_TRUE(watch.growing());
  kept.clear();
  watch.step();
  EXPECT_FALSE(watch.growing());
  EXPECT_TRUE(watch.report().sites.empty());
}

TEST(GrowthWatch, growth_of_few_iterations_ends_with_the_first_step_that_does_not_rise) {
  Warnings warnings;
  for (const int iterations : {2, 3}) {
    GrowthWatch watch({.iterations = iterations});
    std::vector<Tensor> kept;
    for (int i = 0; i < 3 + iterations; ++i) {
      EXPECT_FALSE(watch.growing());
      kept.push_back(zeros({8}));
      watch.step();
    }
    EXPECT_TRUE(watch.growing());
    watch.step();
    EXPECT_FALSE(watch.growing());
  }
}

// Up and down, the lows ever higher.
void rise_and_fall(GrowthWatch& watch, std::vector<Tensor>& kept, int lows) {
  for (int i = 0; i < lows; ++i) {
    Tensor high = zeros({100});
    kept.push_back(ones({10}));
    kept.push_back(ones({10}));
    watch.step();
    high.dispose();
    watch.step();
  }
}

TEST(GrowthWatch, growth_of_lows_ends_when_no_other_low_comes) {
  Warnings warnings;
  GrowthWatch watch({.iterations = 5});
  std::vector<Tensor> kept;
  rise_and_fall(watch, kept, 20);
  EXPECT_TRUE(watch.growing());
  for (int i = 0; i < 20; ++i) watch.step();
  EXPECT_FALSE(watch.growing());
}

TEST(GrowthWatch, takes_no_more_memory_the_longer_it_looks) {
  const auto grown_by = [](GrowthWatch& watch) {
    for (int i = 0; i < 100; ++i) watch.step();
    const std::size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 2000; ++i) watch.step();
    return static_cast<std::int64_t>(mallinfo2().uordblks) - static_cast<std::int64_t>(before);
  };
  const Tensor x = zeros({10});
  for (const int iterations : {2, 3, 10}) {
    GrowthWatch watch({.iterations = iterations});
    EXPECT_LT(grown_by(watch), 20000) << iterations;
  }
  Warnings warnings;
  GrowthWatch watch({.iterations = 10});
  std::vector<Tensor> kept;
  rise_and_fall(watch, kept, 10);  // nearly growth, then nothing
  EXPECT_FALSE(watch.growing());
  EXPECT_LT(grown_by(watch), 20000);
}

TEST(GrowthWatch, looks_at_its_own_session) {
  Warnings warnings;
  Session session({.name = "render"});
  std::vector<Tensor> kept;
  session.run([&] {
    GrowthWatch watch({.iterations = 4});
    for (int i = 0; i < 12; ++i) {
      Session::process().run([&] { kept.push_back(zeros({8})); });
      watch.step();
    }
    EXPECT_FALSE(watch.growing());
    EXPECT_EQ(watch.report().live_bytes, 0u);
    for (int i = 0; i < 12; ++i) {
      kept.push_back(zeros({8}));
      watch.step();
    }
    EXPECT_TRUE(watch.growing());
    EXPECT_EQ(watch.report().sites.at(0).op, "zeros");
  });
  EXPECT_EQ(warnings.texts.size(), 1u);
}

TEST(GrowthWatch, refuses_options_that_mean_nothing) {
  EXPECT_HAS(testing::message_of<ValueError>([] { GrowthWatch watch({.iterations = 1}); }),
             "iterations is 1");
  EXPECT_HAS(testing::message_of<ValueError>([] { GrowthWatch watch({.warm_up = -1}); }),
             "warm_up is -1");
}

}  // namespace
}  // namespace tenure
