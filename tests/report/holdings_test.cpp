#include "report/holdings.h"

#include <gtest/gtest.h>

#include "report/made_run.h"
#include "report/stayers.h"

namespace tenure::report {
namespace {

TEST(Holdings, a_storage_that_nobody_else_holds_counts_as_a_whole) {
  MadeRun b;
  const std::uint32_t whole = b.make(3, {.bytes = 1000});
  const std::uint32_t part = b.make(4, {.bytes = 100, .view_of = whole});
  EXPECT_EQ(Holdings(b.run()).most_held({part}), 100u);
  b.die(whole);
  EXPECT_EQ(Holdings(b.run()).most_held({part}), 1000u);
  EXPECT_EQ(Holdings(b.run()).most_held({whole, part}), 1000u);
}

TEST(Holdings, overlapping_views_hold_no_more_than_there_is) {
  MadeRun b;
  const std::uint32_t whole = b.make(3, {.bytes = 1000});
  Tensors parts;
  for (int i = 0; i < 3; ++i) parts.push_back(b.make(4, {.bytes = 300, .view_of = whole}));
  EXPECT_EQ(Holdings(b.run()).most_held(parts), 900u);
  for (int i = 0; i < 3; ++i) parts.push_back(b.make(4, {.bytes = 300, .view_of = whole}));
  EXPECT_EQ(Holdings(b.run()).most_held(parts), 1000u);
}

TEST(Holdings, are_those_of_the_worst_moment_and_not_a_sum_over_time) {
  MadeRun b;
  Tensors all;
  for (int i = 0; i < 10; ++i) {
    all.push_back(b.make(3, {.bytes = 100}));
    if (i >= 2) b.die(all[all.size() - 3]);
  }
  EXPECT_EQ(Holdings(b.run()).most_held(all), 300u);
}

TEST(Holdings, a_tensor_without_bytes_holds_none) {
  MadeRun b;
  EXPECT_EQ(Holdings(b.run()).most_held({b.make(3, {.is_symbolic = true})}), 0u);
  EXPECT_EQ(Holdings(b.run()).most_held({}), 0u);
}

Tensors stayers(MadeRun& b, const Tensors& tensors) {
  return stayers_of(b.run(), Activity(b.run()), tensors, [](std::uint32_t i) { return i; });
}

// A call that makes parts of its result by the same operation, and lets go of them.
std::uint32_t call(MadeRun& b, int parts, Tensors& made) {
  Tensors of_this;
  for (int i = 0; i < parts; ++i) of_this.push_back(b.make(7, {.op = "add"}));
  const std::uint32_t result = b.make(7, {.op = "add"});
  b.die(of_this);
  made.insert(made.end(), of_this.begin(), of_this.end());
  made.push_back(result);
  return result;
}

TEST(Stayers, are_the_results_and_not_the_parts_of_the_last_of_them) {
  for (const int parts : {0, 1, 5, 60}) {
    MadeRun b;
    Tensors made, results;
    for (int i = 0; i < 40; ++i) results.push_back(call(b, parts, made));
    b.die(results);
    EXPECT_EQ(stayers(b, made), results) << parts;
  }
}

// Where the last result goes before all others, as its parts did, it may have been one of them.
TEST(Stayers, are_the_results_whatever_the_order_they_go_in) {
  for (const int parts : {0, 1, 5, 60}) {
    MadeRun b;
    Tensors made, results;
    for (int i = 0; i < 40; ++i) results.push_back(call(b, parts, made));
    b.die(Tensors(results.rbegin(), results.rend()));
    if (parts > 0) results.pop_back();
    EXPECT_EQ(stayers(b, made), results) << parts;
  }
}

TEST(Stayers, are_none_where_each_lives_as_long_as_the_next) {
  MadeRun b;
  Tensors made;
  for (std::size_t i = 0; i < 100; ++i) {
    made.push_back(b.make(7, {.op = "add"}));
    if (i >= 20) b.die(made[i - 20]);
  }
  EXPECT_EQ(stayers(b, made), Tensors{});
}

TEST(Stayers, are_the_same_when_a_few_of_them_were_let_go_after_all) {
  MadeRun b;
  Tensors made, left;
  for (std::size_t i = 0; i < 100; ++i) {
    made.push_back(b.make(7, {.op = "add"}));
    if (i >= 50 && i < 55) b.die(made[i - 50]);
  }
  for (std::size_t i = 5; i < made.size(); ++i) left.push_back(made[i]);
  b.die(left);
  EXPECT_EQ(stayers(b, made), left);
}

TEST(Stayers, are_not_what_the_last_turn_alone_left) {
  MadeRun b;
  Tensors made, turns;
  for (int i = 0; i < 30; ++i) {
    made.push_back(b.make(7, {.op = "add"}));
    if (i < 28) b.die(made.back());
  }
  EXPECT_EQ(stayers(b, made), Tensors{});
}

}  // namespace
}  // namespace tenure::report
