// A million tensors, a hundred thousand scopes: whatever looks at all of them ends in good time,
// and nothing recurses as deep as there are many.
#include <deque>
#include <random>
#include <vector>

#include "support/expect.h"
#include "tenure/scope.h"

namespace tenure {
namespace {

using testing::here;

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

}  // namespace
}  // namespace tenure
