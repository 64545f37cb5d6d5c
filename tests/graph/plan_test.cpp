// The memory planner, judged by a checker that shares nothing with it.
#include "graph/plan/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "graph/plan/search.h"

namespace tenure::plan {
namespace {

using Buffers = std::vector<Buffer>;
using Offsets = std::vector<std::int64_t>;
using Random = std::mt19937_64;

// Every pair and every offset, looked at one by one.
::testing::AssertionResult is_sound(const Buffers& buffers, const Plan& plan,
                                    std::int64_t alignment = 1) {
  if (plan.offsets.size() != buffers.size())
    return ::testing::AssertionFailure() << "a wrong count";
  std::int64_t height = 0;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& a = buffers[i];
    const std::int64_t at = plan.offsets[i];
    if (at < 0 || at % alignment != 0) {
      return ::testing::AssertionFailure() << "buffer " << i << " lies at " << at;
    }
    height = std::max(height, at + a.size);
    for (std::size_t j = 0; j < i; ++j) {
      const Buffer& b = buffers[j];
      const bool together = std::max(a.lower, b.lower) < std::min(a.upper, b.upper);
      const bool touching =
          std::max(at, plan.offsets[j]) < std::min(at + a.size, plan.offsets[j] + b.size);
      if (together && touching) {
        return ::testing::AssertionFailure() << "buffers " << j << " and " << i << " overlap";
      }
    }
  }
  if (height > plan.height) return ::testing::AssertionFailure() << "higher than it says";
  if (plan.height < plan.lower_bound) return ::testing::AssertionFailure() << "below its bound";
  return ::testing::AssertionSuccess();
}

// At each time somebody starts: the bytes alive then.
std::int64_t most_alive(const Buffers& buffers) {
  std::int64_t most = 0;
  for (const Buffer& start : buffers) {
    std::int64_t alive = 0;
    for (const Buffer& other : buffers) {
      if (other.lower <= start.lower && start.lower < other.upper) alive += other.size;
    }
    most = std::max(most, alive);
  }
  return most;
}

// The lowest plan there is: every order, each buffer dropped onto what lies there already.
std::int64_t lowest_height(const Buffers& buffers) {
  std::vector<std::size_t> order(buffers.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  do {
    Offsets at(buffers.size(), 0);
    std::int64_t height = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Buffer& own = buffers[order[i]];
      for (std::size_t j = 0; j < i; ++j) {
        const Buffer& other = buffers[order[j]];
        if (other.lower < own.upper && own.lower < other.upper) {
          at[order[i]] = std::max(at[order[i]], at[order[j]] + other.size);
        }
      }
      height = std::max(height, at[order[i]] + own.size);
    }
    best = std::min(best, height);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

Buffers drawn(Random& random, std::size_t count, std::int64_t times, std::int64_t most) {
  std::uniform_int_distribution<std::int64_t> time(0, times), size(1, most);
  Buffers buffers;
  while (buffers.size() < count) {
    const std::int64_t a = time(random), b = time(random);
    if (a != b) buffers.push_back({std::min(a, b), std::max(a, b), size(random)});
  }
  return buffers;
}

TEST(Plan, many_buffers_are_placed_soundly_and_not_much_higher_than_they_must) {
  Random random(5);
  for (const bool long_lived : {false, true}) {
    Buffers buffers;
    for (int i = 0; i < 6000; ++i) {
      const auto lower = static_cast<std::int64_t>(random() % 10000);
      const auto length = static_cast<std::int64_t>(1 + random() % (long_lived ? 5000 : 50));
      buffers.push_back({lower, lower + length, static_cast<std::int64_t>(random() % 4096)});
    }
    const Plan plan = make_plan(buffers, {.alignment = 64});
    EXPECT_TRUE(is_sound(buffers, plan, 64));
    EXPECT_LE(plan.height, plan.lower_bound * 3 / 2);
  }
}

TEST(Plan, nothing_needs_no_room) {
  const Plan plan = make_plan({});
  EXPECT_EQ(plan.height, 0);
  EXPECT_EQ(plan.lower_bound, 0);
  EXPECT_TRUE(plan.offsets.empty());
}

TEST(Plan, one_after_another_share_and_side_by_side_do_not) {
  const Buffers buffers{{0, 2, 10}, {2, 4, 10}, {1, 3, 5}};
  const Plan plan = make_plan(buffers);
  EXPECT_TRUE(is_sound(buffers, plan));
  EXPECT_EQ(plan.height, 15);
  EXPECT_EQ(plan.offsets[0], plan.offsets[1]);
}

TEST(Plan, empty_buffers_and_empty_lifetimes_cost_nothing) {
  const Buffers buffers{{0, 5, 0}, {3, 3, 100}, {0, 5, 7}};
  const Plan plan = make_plan(buffers, {.alignment = 4});
  EXPECT_EQ(plan.lower_bound, 8);
}

TEST(Plan, small_problems_are_solved_to_the_last_byte) {
  Random random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const Buffers buffers = drawn(random, 2 + static_cast<std::size_t>(trial % 5), 6, 9);
    const std::int64_t best = lowest_height(buffers);
    Offsets offsets;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    ASSERT_EQ(search(buffers, best, deadline, offsets), Found::plan) << trial;
    EXPECT_TRUE(is_sound(buffers, {offsets, best, 0})) << trial;
    ASSERT_EQ(search(buffers, best - 1, deadline, offsets), Found::none) << trial;
  }
}

TEST(Plan, random_problems_never_overlap) {
  Random random(2);
  for (int trial = 0; trial < 200; ++trial) {
    const Buffers buffers = drawn(random, 1 + static_cast<std::size_t>(trial), 40, 1000);
    const std::int64_t alignment = trial % 3 == 0 ? 64 : 1;
    const Plan plan = make_plan(buffers, {.alignment = alignment});
    ASSERT_TRUE(is_sound(buffers, plan, alignment)) << trial;
    if (alignment == 1) {
      ASSERT_EQ(plan.lower_bound, most_alive(buffers)) << trial;
    }
  }
}

TEST(Plan, the_same_problem_gives_the_same_plan) {
  Random random(3);
  const Buffers buffers = drawn(random, 80, 40, 1000);
  const Options options{.budget = std::chrono::milliseconds(0)};
  EXPECT_EQ(make_plan(buffers, options).offsets, make_plan(buffers, options).offsets);
}

// A rectangle of `times` by `bytes`, cut into so many buffers: full at every moment, so that no
// plan is lower, and one is just as high.
Buffers cut_rectangle(Random& random, std::int64_t times, std::int64_t bytes, std::size_t pieces) {
  Buffers buffers{{0, times, bytes}};
  while (buffers.size() < pieces) {
    // A large one, of a few drawn: pieces come out of much the same area.
    std::size_t largest = random() % buffers.size();
    const auto area = [](const Buffer& piece) { return (piece.upper - piece.lower) * piece.size; };
    for (int i = 0; i < 3; ++i) {
      const std::size_t other = random() % buffers.size();
      if (area(buffers[other]) > area(buffers[largest])) largest = other;
    }
    Buffer& piece = buffers[largest];
    Buffer rest = piece;
    const std::int64_t length = piece.upper - piece.lower;
    if (length > 1 && (piece.size == 1 || random() % 2 == 0)) {
      rest.lower = piece.upper =
          piece.lower + 1 + static_cast<std::int64_t>(random() % (length - 1));
    } else if (piece.size > 1) {
      piece.size = 1 + static_cast<std::int64_t>(random() % (piece.size - 1));
      rest.size -= piece.size;
    } else {
      continue;
    }
    buffers.push_back(rest);
  }
  std::ranges::shuffle(buffers, random);
  return buffers;
}

TEST(Plan, a_rectangle_that_was_cut_up_is_put_together_again) {
  Random random(7);
  for (const std::size_t pieces : {10, 40, 80, 160}) {
    for (int trial = 0; trial < 10; ++trial) {
      const Buffers buffers = cut_rectangle(random, 1000, 1 << 20, pieces);
      const Plan plan =
          make_plan(buffers, {.capacity = 1 << 20, .budget = std::chrono::seconds(60)});
      EXPECT_TRUE(is_sound(buffers, plan));
      EXPECT_EQ(plan.lower_bound, 1 << 20);
      EXPECT_EQ(plan.height, 1 << 20) << pieces << " pieces, trial " << trial;
    }
  }
}

}  // namespace
}  // namespace tenure::plan
