// profile(fn): what ran, what it cost, and nothing left behind.
#include "tenure/profile.h"

#include <algorithm>
#include <barrier>
#include <thread>

#include "memory/context.h"
#include "memory/memory_watch.h"
#include "support/expect.h"

namespace tenure {
namespace {

using testing::here;

const ProfiledOp* find(const Profile& profile, std::string_view op) {
  const auto found = std::ranges::find(profile.ops, op, &ProfiledOp::op);
  return found == profile.ops.end() ? nullptr : &*found;
}

bool nothing_installed() {
  return detail::context().watch == nullptr && !detail::memory_is_watched();
}

TEST(Profile, gives_the_result_and_what_it_cost) {
  const Tensor a = ones({4, 8}), b = ones({8, 2});
  const std::size_t before = memory().live_bytes;
  const int line = static_cast<int>(here().line()) + 1;
  auto [y, profile] = tenure::profile([&] { return tanh(matmul(a, b)); });
  EXPECT_EQ(y.shape(), (Shape{4, 2}));
  EXPECT_EQ(profile.kernels_run, 2u);
  EXPECT_EQ(profile.kernels(), (std::vector<std::string>{"matmul", "tanh"}));
  EXPECT_EQ(profile.new_tensors, 1u);
  EXPECT_EQ(profile.new_bytes, 4 * 2 * 4);
  EXPECT_EQ(profile.bytes_before, before);
  EXPECT_GE(profile.peak_bytes, before + 32);
  EXPECT_GT(profile.time.count(), 0);
  const ProfiledOp* op = find(profile, "matmul");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(static_cast<int>(op->site.line()), line);
  EXPECT_EQ(op->count, 1u);
  EXPECT_EQ(op->shapes, "[4, 8] [8, 2]");
  EXPECT_EQ(op->result_bytes, 32u);
  EXPECT_EQ(op->new_bytes, 32);
  EXPECT_GT(op->time.count(), 0);
  EXPECT_LE(op->max_time, op->time);
  EXPECT_EQ(find(profile, "tanh")->new_bytes, 0);  // it took over the bytes of its input
  EXPECT_TRUE(nothing_installed());
}

TEST(Profile, counts_each_line_by_itself) {
  const Tensor x = ones({3});
  const Profile profile = tenure::profile([&] {
    for (int i = 0; i < 5; ++i) x + 1;
    x + 2;
  });
  std::vector<std::uint64_t> counts;
  for (const ProfiledOp& op : profile.ops) {
    if (op.op == "add") counts.push_back(op.count);
  }
  std::ranges::sort(counts);
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{1, 5}));
  EXPECT_EQ(profile.new_tensors, 0u);
  EXPECT_EQ(profile.new_bytes, 0);
}

TEST(Profile, the_peak_is_that_of_what_lived_at_once) {
  const Tensor x = ones({1000});
  const Profile profile = tenure::profile([&] {
    const Tensor a = x + 1, b = x + 2;
    x + 3;
  });
  EXPECT_EQ(profile.peak_bytes - profile.bytes_before, 12000u);
  std::vector<std::size_t> peaks;
  for (const ProfiledOp& op : profile.ops) {
    if (op.op == "add") peaks.push_back(op.peak_bytes - profile.bytes_before);
  }
  std::ranges::sort(peaks);
  EXPECT_EQ(peaks, (std::vector<std::size_t>{8000, 12000}));
}

TEST(Profile, what_was_freed_counts_against_what_was_made) {
  Tensor x = ones({100});
  const Profile profile = tenure::profile([&] { x.dispose(); });
  EXPECT_EQ(profile.new_bytes, -400);
  EXPECT_EQ(profile.new_tensors, 0u);
}

TEST(Profile, sees_the_steps_of_a_traced_function) {
  auto f = function("score", [](Tensor x) { return sum(matmul(x, x)); });
  const Tensor x = ones({4, 4});
  f(x);
  const Profile profile = tenure::profile([&] { f(x); });
  const ProfiledOp* op = find(profile, "matmul");
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->function, "score");
  EXPECT_EQ(op->shapes, "[4, 4] [4, 4]");
  EXPECT_EQ(op->count, 1u);
}

TEST(Profile, names_the_operation_whose_gradient_ran) {
  const Tensor x = ones({4});
  const Profile profile = tenure::profile([&] {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = tanh(x);
    tape.gradient(y, {x});
  });
  EXPECT_TRUE(std::ranges::any_of(profile.ops, [](const ProfiledOp& op) {
    return op.call == "gradient of tanh";
  })) << profile;
}

TEST(Profile, one_within_another_is_part_of_both) {
  const Tensor x = ones({10});
  Profile inner;
  const Profile outer = tenure::profile([&] {
    tanh(x);
    inner = tenure::profile([&] { exp(x); });
    tanh(x);
  });
  EXPECT_EQ(inner.kernels(), (std::vector<std::string>{"exp"}));
  EXPECT_EQ(outer.kernels(), (std::vector<std::string>{"exp", "tanh"}));
  EXPECT_EQ(outer.kernels_run, 3u);
  EXPECT_LE(inner.time, outer.time);
}

TEST(Profile, each_thread_sees_its_own) {
  constexpr int kThreads = 4;
  std::barrier together(kThreads);
  std::vector<Profile> profiles(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Tensor x = ones({100});
      together.arrive_and_wait();
      Tensor kept;
      profiles[static_cast<std::size_t>(t)] = tenure::profile([&] {
        for (int i = 0; i <= t; ++i) tanh(x);
        kept = exp(x);
        together.arrive_and_wait();
      });
      together.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t) {
    const Profile& profile = profiles[static_cast<std::size_t>(t)];
    EXPECT_EQ(profile.kernels_run, static_cast<std::uint64_t>(t + 2));
    EXPECT_EQ(profile.new_tensors, 1u);
    EXPECT_EQ(profile.new_bytes, 400);
    EXPECT_EQ(profile.peak_bytes - profile.bytes_before, t == 0 ? 400u : 400u);
  }
  EXPECT_TRUE(nothing_installed());
}

TEST(Profile, an_error_passes_through_and_leaves_nothing_installed) {
  const Tensor x = ones({2});
  Tensor gone = ones({2});
  gone.dispose();
  EXPECT_THROW(tenure::profile([&] { x + gone; }), DisposedError);
  EXPECT_TRUE(nothing_installed());
  const Profile profile = tenure::profile([&] {
    try {
      matmul(x, ones({3, 3}));
    } catch (const ShapeError&) {
    }
    tanh(x);
  });
  EXPECT_EQ(find(profile, "matmul"), nullptr);
  EXPECT_EQ(find(profile, "tanh")->count, 1u);
}

TEST(Profile, of_a_task_is_a_task) {
  const Tensor x = ones({10});
  auto work = [&]() -> Task<Tensor> {
    Tensor y = tanh(x);
    co_await next_turn();
    co_return exp(y);
  };
  auto [y, profile] = run(tenure::profile(work));
  EXPECT_EQ(y.shape(), (Shape{10}));
  EXPECT_EQ(profile.kernels(), (std::vector<std::string>{"exp", "tanh"}));
  EXPECT_EQ(profile.new_tensors, 1u);
  const Profile nothing = run(tenure::profile([]() -> Task<> { co_await next_turn(); }));
  EXPECT_EQ(nothing.kernels_run, 0u);
  EXPECT_TRUE(nothing_installed());
}

TEST(Profile, tasks_that_take_turns_see_their_own) {
  const Tensor x = ones({10});
  auto work = [&](int n) -> Task<Profile> {
    co_return co_await tenure::profile([&x, n]() -> Task<> {
      for (int i = 0; i < n; ++i) {
        tanh(x);
        co_await next_turn();
      }
    });
  };
  const auto [one, three] = run_all(work(1), work(3));
  EXPECT_EQ(one.kernels_run, 1u);
  EXPECT_EQ(three.kernels_run, 3u);
}

TEST(Profile, takes_what_a_tidy_takes) {
  const Tensor x = ones({2});
  auto profiled = tidy(
      [&] { return tenure::profile([&] { return std::pair{std::vector{x + 1, x + 2}, 3}; }); });
  EXPECT_EQ(profiled.result.first.size(), 2u);
  EXPECT_EQ(profiled.result.second, 3);
  EXPECT_FALSE(profiled.result.first[0].is_disposed());
  EXPECT_EQ(profiled.profile.new_tensors, 2u);
  EXPECT_EQ(tenure::profile([] { return 7; }).result, 7);
}

TEST(Profile, prints_a_table_the_costliest_first) {
  const Tensor x = ones({64, 64});
  const Profile profile = tenure::profile([&] {
    matmul(x, x);
    tanh(x);
    exp(x);
  });
  const std::string table = profile.table();
  EXPECT_HAS(table, "3 kernels");
  EXPECT_HAS(table, "profile_test.cpp:");
  EXPECT_HAS(table, "[64, 64] [64, 64]");
  EXPECT_TRUE(std::ranges::is_sorted(profile.ops, std::ranges::greater(), &ProfiledOp::time));
  EXPECT_HAS(profile.table(1), "and 2 more");
}

}  // namespace
}  // namespace tenure
