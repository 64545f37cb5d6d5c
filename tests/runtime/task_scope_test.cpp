// Scopes and tapes that stay open while a task waits.
#include <future>
#include <thread>

#include "support/expect.h"

namespace tenure {
namespace {

using testing::Floats;
using testing::floats;

// A tidy that is open over `turns` turns. What it saw goes to `seen`, what it returns is alive.
Task<Tensor> busy(std::string name, float value, int turns, std::vector<Tensor>& seen) {
  co_return co_await tidy(name, [=, &seen]() -> Task<Tensor> {
    Tensor sum = zeros({4});
    for (int i = 0; i < turns; ++i) {
      Tensor x = full({4}, value);
      seen.push_back(x);
      co_await next_turn();
      EXPECT_FALSE(x.is_disposed()) << "by another task's tidy";
      sum = sum + x;
      co_await x.read_async<float>();
    }
    co_return sum;
  });
}

void expect_ended_by(const std::vector<Tensor>& seen, const std::string& name) {
  for (const Tensor& x : seen) {
    ASSERT_TRUE(x.is_disposed());
    EXPECT_EQ(x.story().death->cause, Cause::scope_exit);
    EXPECT_EQ(x.story().death->by, "tidy \"" + name + "\" ended");
  }
}

// A read that a task no longer waits for still holds its bytes until it is done.
void wait_for_reads(std::size_t live_bytes) {
  while (memory().live_bytes != live_bytes) std::this_thread::yield();
}

TEST(Contract, L12_tasks_that_interleave_on_one_thread_free_only_their_own) {
  const std::size_t before = memory().tensors;
  std::vector<Tensor> of_a, of_b;
  const auto [a, b] = run_all(busy("a", 1.f, 3, of_a), busy("b", 2.f, 7, of_b));
  EXPECT_EQ(memory().tensors, before + 2) << "the two results";
  EXPECT_EQ(floats(a), Floats(4, 3.f));
  EXPECT_EQ(floats(b), Floats(4, 14.f));
  expect_ended_by(of_a, "a");
  expect_ended_by(of_b, "b");
}

TEST(Contract, L12_tasks_that_interleave_on_several_threads_free_only_their_own) {
  constexpr int kTasks = 8;
  std::vector<std::vector<Tensor>> seen(kTasks);
  std::vector<Job<Tensor>> jobs;
  for (int i = 0; i < kTasks; ++i) {
    jobs.push_back(start(busy("task " + std::to_string(i), static_cast<float>(i), 20,
                              seen[static_cast<std::size_t>(i)])));
  }
  for (int i = 0; i < kTasks; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(floats(jobs[at].get()), Floats(4, 20.f * static_cast<float>(i)));
    expect_ended_by(seen[at], "task " + std::to_string(i));
  }
}

TEST(Contract, L12_a_tidy_around_a_task_is_a_task_and_ends_when_that_one_does) {
  Tensor inside;
  TaskLoop loop;
  Job<Tensor> job = loop.add([&]() -> Task<Tensor> {
    return tidy("step", [&]() -> Task<Tensor> {
      inside = ones({2});
      co_await next_turn();
      co_return inside * 3.f;
    });
  });
  EXPECT_FALSE(inside.defined()) << "it begins when the task does";
  loop.step();
  EXPECT_FALSE(inside.is_disposed());
  loop.run();
  EXPECT_TRUE(inside.is_disposed());
  EXPECT_EQ(floats(job.get()), (Floats{3, 3}));
}

TEST(Contract, L12_tidies_nest_across_tasks) {
  Tensor inner_local, passed;
  auto body = [&]() -> Task<Tensor> {
    return tidy("outer", [&]() -> Task<Tensor> {
      passed = co_await tidy("inner", [&]() -> Task<Tensor> {
        inner_local = ones({2});
        co_await next_turn();
        co_return inner_local + 1.f;
      });
      EXPECT_TRUE(inner_local.is_disposed());
      EXPECT_FALSE(passed.is_disposed());
      co_await next_turn();
      const Tensor plain = tidy("plain", [&] { return passed * 2.f; });
      co_return plain + 0.f;
    });
  };
  EXPECT_EQ(floats(run(body)), (Floats{4, 4}));
  EXPECT_EQ(passed.story().death->by, "tidy \"outer\" ended");
  EXPECT_EQ(inner_local.story().death->by, "tidy \"inner\" ended");
}

TEST(Contract, L12_what_an_awaited_task_makes_belongs_to_the_tidy_that_awaits_it) {
  Tensor made;
  auto helper = [&]() -> Task<float> {
    made = full({1}, 5.f);
    co_return (co_await made.read_async<float>())[0];
  };
  const float value = run([&]() -> Task<float> {
    co_return co_await tidy("caller", [&]() -> Task<float> { co_return co_await helper(); });
  });
  EXPECT_EQ(value, 5.f);
  EXPECT_EQ(made.story().death->by, "tidy \"caller\" ended");
}

TEST(Contract, L12_run_is_a_call_and_its_tensors_join_the_tidy_around_it) {
  Tensor local, result;
  tidy("around", [&] {
    result = run([&]() -> Task<Tensor> {
      local = ones({2});
      co_await next_turn();
      co_return local + 1.f;
    });
    EXPECT_FALSE(result.is_disposed());
  });
  EXPECT_TRUE(local.is_disposed());
  EXPECT_TRUE(result.is_disposed());
}

TEST(Contract, L12_a_tidy_whose_task_throws_frees_all_but_what_was_kept) {
  Tensor inside, kept;
  auto body = [&]() -> Task<Tensor> {
    return tidy("fails", [&]() -> Task<Tensor> {
      inside = ones({2});
      kept = keep(ones({2}));
      co_await next_turn();
      throw std::runtime_error("stop");
    });
  };
  EXPECT_THROW(run(body), std::runtime_error);
  EXPECT_TRUE(inside.is_disposed());
  EXPECT_FALSE(kept.is_disposed());
}

TEST(Contract, L12_a_cancelled_task_frees_exactly_its_own) {
  const std::size_t before = memory().tensors, bytes = memory().live_bytes;
  std::vector<Tensor> of_a, of_b;
  {
    TaskLoop loop;
    Job<Tensor> a = loop.add(busy("a", 1.f, 50, of_a));
    Job<Tensor> b = loop.add(busy("b", 2.f, 5, of_b));
    for (int i = 0; i < 4; ++i) loop.step();
    ASSERT_FALSE(of_a.empty());
    a.cancel();
    loop.run();
    EXPECT_THROW(a.get(), CancelledError);
    expect_ended_by(of_a, "a");
    EXPECT_EQ(floats(b.get()), Floats(4, 10.f));
  }
  of_a.clear();
  of_b.clear();
  EXPECT_EQ(memory().tensors, before);
  wait_for_reads(bytes);
}

TEST(Contract, L12_tasks_cancelled_at_any_moment_free_exactly_their_own) {
  const std::size_t before = memory().tensors, bytes = memory().live_bytes;
  for (int round = 0; round < 100; ++round) {
    std::vector<Tensor> of_a, of_b;
    Job<Tensor> a = start(busy("a", 1.f, 10, of_a));
    Job<Tensor> b = start(busy("b", 2.f, 3, of_b));
    std::thread canceller([&] {
      for (int i = 0; i < round % 10 * 20; ++i) std::this_thread::yield();
      a.cancel();
    });
    EXPECT_EQ(floats(b.get()), Floats(4, 6.f));
    canceller.join();
    try {
      EXPECT_EQ(floats(a.get()), Floats(4, 10.f));
    } catch (const CancelledError&) {
    }
    expect_ended_by(of_a, "a");
  }
  EXPECT_EQ(memory().tensors, before);
  wait_for_reads(bytes);
}

TEST(Contract, L12_a_task_destroyed_unfinished_frees_exactly_its_own) {
  const std::size_t before = memory().tensors;
  std::vector<Tensor> seen;
  std::optional<Job<Tensor>> job;
  const Tensor bystander = ones({2});
  {
    TaskLoop loop;
    job = loop.add([&]() -> Task<Tensor> {
      const Tensor local = ones({3});
      co_return co_await busy("cut short", 1.f, 50, seen) + local;
    });
    loop.step();
    ASSERT_FALSE(seen.empty());
    EXPECT_FALSE(seen[0].is_disposed());
  }
  expect_ended_by(seen, "cut short");
  EXPECT_THROW(job->get(), CancelledError);
  seen.clear();
  EXPECT_EQ(memory().tensors, before + 1);
  EXPECT_FALSE(bystander.is_disposed());
}

TEST(Contract, L12_a_loop_dropped_while_a_job_runs_is_not_woken_by_it) {
  std::promise<int> opened;
  Job<int> slow =
      start_job<int>([f = opened.get_future().share()](JobControl&) { return f.get(); });
  {
    TaskLoop loop;
    Job<int> job = loop.add([&]() -> Task<int> { co_return co_await slow; });
    loop.step();
  }
  opened.set_value(2);
  EXPECT_EQ(slow.get(), 2);
}

TEST(Contract, L12_a_tape_belongs_to_its_task) {
  const auto slope = [](float at) -> Task<float> {
    const Tensor x = full({1}, at);
    GradientTape tape;
    tape.watch(x);
    Tensor y = x * x;
    co_await next_turn();
    y = y * x;
    co_await y.read_async<float>();
    const Tensor g = tape.gradient(sum(y), x);
    co_return g.item<float>();
  };
  const auto [a, b] = run_all(slope(2.f), slope(3.f));
  EXPECT_EQ(a, 12.f);
  EXPECT_EQ(b, 27.f);
  Job<float> c = start(slope(1.f)), d = start(slope(4.f));
  EXPECT_EQ(c.get(), 3.f);
  EXPECT_EQ(d.get(), 48.f);
}

TEST(Contract, L12_a_tape_records_the_task_its_thread_runs) {
  const Tensor x = full({1}, 3.f);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = run([&]() -> Task<Tensor> {
    Tensor square = x * x;
    co_await next_turn();
    co_return square * 2.f;
  });
  EXPECT_EQ(tape.gradient(sum(y), x).item<float>(), 12.f);
}

TEST(Contract, L12_a_tape_that_leaves_its_task_records_no_more) {
  const Tensor x = full({1}, 3.f);
  std::unique_ptr<GradientTape> tape;
  const Tensor y = start([&]() -> Task<Tensor> {
                     tape = std::make_unique<GradientTape>(TapeOptions{.persistent = true});
                     tape->watch(x);
                     co_return x* x;
                   }).get();
  const Tensor later = y * 2.f;
  EXPECT_EQ(tape->gradient(y, x).item<float>(), 6.f);
  EXPECT_FALSE(tape->gradient(later, x).defined());
}

TEST(Contract, L12_loops_on_several_threads_do_not_meet) {
  const auto on_a_thread = [](float value) {
    std::vector<Tensor> mine;
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(floats(run(busy("loop", value, 3, mine))), Floats(4, 3 * value));
    }
    expect_ended_by(mine, "loop");
  };
  std::jthread a(on_a_thread, 1.f), b(on_a_thread, 2.f);
}

TEST(Contract, L13_a_task_started_inside_a_tidy_outlives_it) {
  std::promise<void> ended;
  Job<Tensor> job = tidy("starter", [&] {
    const Tensor x = keep(full({2}, 2.f));
    return start([x, after = ended.get_future().share()]() -> Task<Tensor> {
      const Tensor y = x * 2.f;
      Job<void> opened = start_job<void>([after](JobControl&) { after.wait(); });
      co_await std::move(opened);
      co_return y + x;
    });
  });
  ended.set_value();
  EXPECT_EQ(floats(job.get()), (Floats{6, 6}));
}

TEST(Contract, L13_a_tensor_that_a_tidy_disposed_is_an_error_in_the_task_that_uses_it) {
  std::promise<void> ended;
  Job<Tensor> job = tidy("starter", [&] {
    const Tensor x = full({2}, 2.f);
    return start([x, after = ended.get_future().share()]() -> Task<Tensor> {
      Job<void> opened = start_job<void>([after](JobControl&) { after.wait(); });
      co_await std::move(opened);
      co_return x + 1.f;
    });
  });
  ended.set_value();
  EXPECT_HAS(testing::message_of<DisposedError>([&] { job.get(); }), "tidy \"starter\" ended");
}

TEST(Contract, L13_a_read_started_inside_a_tidy_outlives_it) {
  Job<Floats> job = tidy([] { return tensor({1.f, 2.f}).read_async<float>(); });
  EXPECT_EQ(job.get(), (Floats{1, 2}));
}

TEST(Contract, L13_a_job_of_a_task_may_be_dropped) {
  const std::size_t before = memory().tensors;
  std::promise<void> open;
  {
    const Tensor x = ones({8});
    start([x, after = open.get_future().share()]() -> Task<Tensor> {
      Job<void> opened = start_job<void>([after](JobControl&) { after.wait(); });
      co_await std::move(opened);
      co_return x + 1.f;
    });
  }
  EXPECT_EQ(memory().tensors, before + 1);
  open.set_value();
  while (memory().tensors != before) std::this_thread::yield();
}

}  // namespace
}  // namespace tenure
