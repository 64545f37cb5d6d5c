// A million tensors, a hundred thousand scopes: whatever looks at all of them ends in good time,
// and nothing recurses as deep as there are many.
#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "memory/sanitizer.h"
#include "support/child.h"
#include "support/expect.h"
#include "support/growth.h"
#include "tenure/scope.h"

namespace tenure {
namespace {

using testing::cpu_seconds;
using testing::expect_near_linear;
using testing::here;

#if defined(TENURE_ASAN) || defined(TENURE_TEST_TSAN)
constexpr double kSlower = 10;  // a sanitizer makes everything so
#else
constexpr double kSlower = 1;
#endif

constexpr std::size_t kMany = 1000000;

TEST(Scale, a_million_tensors_are_made_counted_named_and_dropped) {
  const MemoryInfo before = memory();
  const LeakCheck check;
  std::vector<Tensor> tensors;
  tensors.reserve(kMany);
  for (std::size_t i = 0; i < kMany; ++i) tensors.push_back(full({1}, 1.f));
  const MemoryInfo during = memory();
  EXPECT_EQ(during.tensors - before.tensors, kMany);
  EXPECT_EQ(during.live_bytes - before.live_bytes, kMany * sizeof(float));
  EXPECT_EQ(why_alive(tensors[kMany / 2]).size(), 1u);
  {
    const std::vector<Story> survivors = check.survivors();
    ASSERT_EQ(survivors.size(), kMany);
    EXPECT_EQ(survivors.front().id, tensors.front().id());
    EXPECT_EQ(survivors.back().id, tensors.back().id());
  }
  tensors.clear();
  EXPECT_TRUE(check.survivors().empty());
}

TEST(Scale, the_report_of_many_survivors_names_each) {
  const LeakCheck check;
  constexpr std::size_t kTensors = 200000;
  std::vector<Tensor> tensors;
  const int line = here().line() + 1;
  for (std::size_t i = 0; i < kTensors; ++i) tensors.push_back(full({1}, 1.f));
  const std::string report = check.report();
  EXPECT_HAS(report.substr(0, 100), "200000 tensors born since the check still alive");
  std::size_t named = 0;
  const std::string site = "scale_test.cpp:" + std::to_string(line);
  for (std::size_t at = report.find(site); at != report.npos; at = report.find(site, at + 1)) {
    ++named;
  }
  EXPECT_EQ(named, kTensors);
}

TEST(Scale, survivors_that_share_bytes_name_each_other) {
  const LeakCheck check;
  constexpr std::size_t kPairs = 100000;
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < kPairs; ++i) {
    tensors.push_back(full({2}, 1.f));
    tensors.push_back(slice(tensors.back(), {0}, {1}));
  }
  const std::vector<Story> survivors = check.survivors();
  ASSERT_EQ(survivors.size(), 2 * kPairs);
  for (std::size_t i = 0; i < survivors.size(); ++i) {
    const Story& other = survivors[i % 2 == 0 ? i + 1 : i - 1];
    ASSERT_EQ(survivors[i].other_holders.size(), 1u);
    ASSERT_NE(survivors[i].other_holders[0].find(other.title()), std::string::npos);
  }
}

TEST(Scale, survivors_of_one_storage_name_some_and_count_the_rest) {
  const LeakCheck check;
  constexpr std::size_t kClones = 100000;
  std::vector<Tensor> tensors{full({2}, 1.f)};
  while (tensors.size() < kClones) tensors.push_back(tensors.front().clone());
  const std::vector<Story> survivors = check.survivors();
  ASSERT_EQ(survivors.size(), kClones);
  for (const Story& story : survivors) {
    ASSERT_EQ(story.other_holders.size(), 17u);
    ASSERT_EQ(story.other_holders.back(), "and 99983 more");
  }
  EXPECT_EQ(why_alive(tensors.front()).size(), kClones) << "names every one";
}

TEST(Scale, a_hundred_thousand_scopes_nest) {
  constexpr int kScopes = 100000;
  const LeakCheck check;
  std::deque<detail::ScopeGuard> scopes;
  Tensor outermost, innermost;
  for (int i = 0; i < kScopes; ++i) {
    scopes.emplace_back("nested", here());
    innermost = full({1}, 1.f);
    if (i == 0) outermost = innermost;
  }
  EXPECT_EQ(check.survivors().size(), 2u) << "the others' last handles are gone";
  EXPECT_EQ(innermost.story().birth.scope, "nested");
  keep(innermost);
  while (!scopes.empty()) scopes.pop_back();
  EXPECT_TRUE(outermost.is_disposed());
  EXPECT_FALSE(innermost.is_disposed());
}

TEST(Scale, a_scope_disposes_a_million_tensors) {
  std::vector<Tensor> tensors;
  tensors.reserve(kMany);
  tidy([&] {
    for (std::size_t i = 0; i < kMany; ++i) tensors.push_back(full({1}, 1.f));
  });
  EXPECT_TRUE(tensors.front().is_disposed());
  EXPECT_TRUE(tensors.back().is_disposed());
  EXPECT_EQ(memory().live_bytes, 0u);
}

std::vector<Tensor> many(std::int64_t n) {
  std::vector<Tensor> tensors;
  tensors.reserve(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) tensors.push_back(full({2}, 1.f));
  return tensors;
}

TEST(Scale, a_leak_report_of_a_million_tensors_takes_less_than_five_seconds) {
  const LeakCheck check;
  const std::vector<Tensor> tensors = many(kMany);
  std::size_t size = 0;
  EXPECT_LT(cpu_seconds([&] { size = check.report().size(); }), 5 * kSlower);
  EXPECT_GT(size, 20 * kMany);
}

// ---- No square

TEST(Growth, of_a_leak_report) {
  expect_near_linear(20'000, [](std::int64_t n) {
    const LeakCheck check;
    const std::vector<Tensor> tensors = many(n);
    return cpu_seconds([&] { (void)check.report(); });
  });
}

TEST(Growth, of_a_leak_report_of_tensors_with_names_and_views_in_scopes) {
  expect_near_linear(3'000, [](std::int64_t n) {
    const LeakCheck check;
    std::vector<Tensor> kept;
    return cpu_seconds([&] {
      for (std::int64_t i = 0; i < n; ++i) {
        tidy("step", [&] {
          kept.push_back(keep(full({4}, 1.f).set_name("x" + std::to_string(i))));
          kept.push_back(keep(slice(kept.back(), {1}, {2})));
        });
      }
      (void)check.report();
    });
  });
}

TEST(Growth, of_the_survivors_of_one_storage) {
  expect_near_linear(10'000, [](std::int64_t n) {
    const LeakCheck check;
    std::vector<Tensor> clones{full({2}, 1.f)};
    while (std::ssize(clones) < n) clones.push_back(clones.front().clone());
    return cpu_seconds([&] { (void)check.survivors(); });
  });
}

TEST(Growth, of_why_alive_of_one_among_many_and_of_many_clones) {
  expect_near_linear(50'000, [](std::int64_t n) {
    const std::vector<Tensor> others = many(n);
    return cpu_seconds([&] { (void)why_alive(others.front()); });
  });
  expect_near_linear(5'000, [](std::int64_t n) {
    std::vector<Tensor> clones{full({2}, 1.f)};
    while (std::ssize(clones) < n) clones.push_back(clones.front().clone());
    return cpu_seconds([&] { (void)why_alive(clones.front()); });
  });
}

TEST(Growth, of_tensors_made_and_dropped_in_any_order) {
  expect_near_linear(100'000, [](std::int64_t n) {
    return cpu_seconds([&] {
      std::vector<Tensor> tensors = many(n);
      std::shuffle(tensors.begin(), tensors.end(), std::mt19937(1));
      tensors.clear();
    });
  });
}

TEST(Growth, of_a_scope_and_of_scopes_in_scopes) {
  expect_near_linear(20'000, [](std::int64_t n) {
    std::vector<Tensor> kept;
    return cpu_seconds([&] {
      tidy([&] {
        const std::vector<Tensor> inside = many(n);
        for (std::int64_t i = 0; i < n; i += 2) kept.push_back(keep(inside[i]));
      });
    });
  });
  expect_near_linear(10'000, [](std::int64_t n) {
    return cpu_seconds([&] {
      std::deque<detail::ScopeGuard> scopes;
      for (std::int64_t i = 0; i < n; ++i) {
        scopes.emplace_back("nested", here());
        keep(full({1}, 1.f));
      }
      while (!scopes.empty()) scopes.pop_back();
    });
  });
}

TEST(Growth, of_a_session_that_is_closed) {
  expect_near_linear(5'000, [](std::int64_t n) {
    Session session;
    const std::vector<Tensor> tensors = session.run([&] { return many(n); });
    return cpu_seconds([&] { EXPECT_EQ(std::ssize(session.close().disposed), n); });
  });
}

TEST(Growth, of_a_tape) {
  expect_near_linear(3'000, [](std::int64_t n) {
    const Tensor x = full({2}, 1.f);
    return cpu_seconds([&] {
      GradientTape tape;
      tape.watch(x);
      Tensor y = x, total = x;
      for (std::int64_t i = 0; i < n; ++i) {
        y = tanh(y);
        total = total + y;
      }
      (void)tape.gradient(total, x);
    });
  });
}

}  // namespace
}  // namespace tenure
