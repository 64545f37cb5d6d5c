#include <future>
#include <thread>

#include "support/expect.h"

namespace tenure {
namespace {

using testing::Floats;
using testing::floats;

// A job that ends when the test says so.
class Gate {
 public:
  Job<int> job() {
    return start_job<int>(
        [opened = opened_.get_future().share()](JobControl&) { return opened.get(); });
  }
  void open(int value = 1) { opened_.set_value(value); }

 private:
  std::promise<int> opened_;
};

Task<int> number(int value) { co_return value; }

Task<int> sum_to(int n) {
  if (n == 0) co_return 0;
  co_return n + co_await sum_to(n - 1);
}

Task<> fail(std::string why) {
  co_await next_turn();
  throw std::runtime_error(why);
}

TEST(Tasks, give_a_value) {
  EXPECT_EQ(run(number(3)), 3);
  EXPECT_EQ(start(number(4)).get(), 4);
  EXPECT_EQ(run([]() -> Task<int> { co_return co_await number(2) * co_await number(5); }), 10);
}

TEST(Tasks, are_lazy) {
  bool begun = false;
  {
    auto body = [&]() -> Task<> {
      begun = true;
      co_return;
    };
    const Task<> dropped = body();
  }
  EXPECT_FALSE(begun);
}

TEST(Tasks, hold_what_they_were_given_until_they_are_dropped) {
  const std::size_t before = memory().tensors;
  {
    const Task<Tensor> dropped = [](Tensor x) -> Task<Tensor> { co_return x + 1.f; }(ones({2}));
    EXPECT_EQ(memory().tensors, before + 1);
  }
  EXPECT_EQ(memory().tensors, before);
}

TEST(Tasks, move_only_results_move) {
  auto made = run([]() -> Task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); });
  EXPECT_EQ(*made, 7);
}

TEST(Tasks, errors_travel_through_every_await) {
  auto outer = []() -> Task<int> {
    co_await fail("deep");
    co_return 1;
  };
  EXPECT_THROW(run(outer), std::runtime_error);
  Job<int> job = start(outer);
  EXPECT_EQ(testing::message_of<std::runtime_error>([&] { job.get(); }), "deep");
  auto caught = [&]() -> Task<std::string> {
    try {
      co_await outer();
    } catch (const std::runtime_error& e) {
      co_return std::string("caught ") + e.what();
    }
    co_return "";
  };
  EXPECT_EQ(run(caught), "caught deep");
}

TEST(Tasks, long_chains_take_no_stack) {
  EXPECT_EQ(run(sum_to(60000)), 60000 / 2 * 60001);
  auto loop = []() -> Task<int> {
    int sum = 0;
    for (int i = 0; i < 300000; ++i) sum += co_await number(1);
    co_return sum;
  };
  EXPECT_EQ(run(loop), 300000);
  EXPECT_EQ(start(loop).get(), 300000);
}

TEST(Tasks, a_task_that_was_awaited_or_moved_from_is_refused) {
  auto twice = []() -> Task<int> {
    Task<int> task = number(1);
    const int first = co_await std::move(task);
    co_return first + co_await std::move(task);
  };
  EXPECT_HAS(testing::message_of<ValueError>([&] { run(twice); }),
             "await: the Task was awaited or started before");
  Task<int> task = number(1);
  const Task<int> taken = std::move(task);
  EXPECT_HAS(testing::message_of<ValueError>([&] { run(std::move(task)); }), "is empty");
}

TEST(Tasks, await_jobs) {
  const Tensor x = tensor({1.f, 2.f});
  auto twice = [](Tensor y) -> Task<Tensor> {
    const Floats values = co_await y.read_async<float>();
    Job<Floats> again = y.read_async<float>();
    const Floats same = co_await again;
    co_return tensor(Floats{values[0] + same[0], values[1] + same[1]});
  };
  EXPECT_EQ(floats(run(twice(x))), (Floats{2, 4}));
  EXPECT_EQ(floats(start(twice(x)).get()), (Floats{2, 4}));
}

TEST(Tasks, a_job_that_fails_throws_where_it_is_awaited) {
  auto body = []() -> Task<int> {
    co_return co_await start_job<int>([](JobControl&) -> int { throw std::range_error("no"); });
  };
  EXPECT_THROW(run(body), std::range_error);
  EXPECT_THROW(start(body).get(), std::range_error);
}

TEST(Tasks, jobs_of_nothing_can_be_awaited) {
  int done = 0;
  run([&]() -> Task<> {
    co_await start_job<void>([&](JobControl&) { done += 1; });
    co_await start([&]() -> Task<> {
      done += 1;
      co_return;
    });
  });
  EXPECT_EQ(done, 2);
}

TEST(Tasks, take_turns_in_a_fixed_order) {
  std::vector<int> order;
  auto body = [&](int name) -> Task<int> {
    for (int i = 0; i < 3; ++i) {
      order.push_back(name);
      co_await next_turn();
    }
    co_return name;
  };
  std::vector<Task<int>> tasks;
  for (int name = 0; name < 3; ++name) tasks.push_back(body(name));
  EXPECT_EQ(run_all(std::move(tasks)), (std::vector{0, 1, 2}));
  EXPECT_EQ(order, (std::vector{0, 1, 2, 0, 1, 2, 0, 1, 2}));
  const auto [number_of, text] = run_all(number(4), []() -> Task<std::string> { co_return "s"; }());
  EXPECT_EQ(number_of, 4);
  EXPECT_EQ(text, "s");
}

TEST(Tasks, the_first_failure_cancels_the_others) {
  bool unwound = false;
  auto waits = [&]() -> Task<> {
    try {
      for (;;) co_await next_turn();
    } catch (const CancelledError&) {
      unwound = true;
      throw;
    }
  };
  std::vector<Task<>> tasks;
  tasks.push_back(waits());
  tasks.push_back(fail("first"));
  tasks.push_back(waits());
  EXPECT_EQ(testing::message_of<std::runtime_error>([&] { run_all(std::move(tasks)); }), "first");
  EXPECT_TRUE(unwound);
}

TEST(Tasks, of_a_loop_step_one_by_one) {
  TaskLoop loop;
  int steps = 0;
  Job<int> job = loop.add([&]() -> Task<int> {
    ++steps;
    co_await next_turn();
    ++steps;
    co_return steps;
  });
  EXPECT_EQ(steps, 0);
  EXPECT_TRUE(loop.step());
  EXPECT_EQ(steps, 1);
  EXPECT_EQ(loop.unfinished(), 1u);
  EXPECT_TRUE(loop.step());
  EXPECT_FALSE(loop.step());
  EXPECT_EQ(loop.unfinished(), 0u);
  EXPECT_EQ(job.get(), 2);
}

TEST(Tasks, of_a_loop_await_each_other) {
  TaskLoop loop;
  Job<int> first = loop.add([]() -> Task<int> {
    co_await next_turn();
    co_return 5;
  });
  Job<int> second = loop.add([&]() -> Task<int> { co_return 1 + co_await first; });
  loop.run();
  EXPECT_EQ(second.get(), 6);
}

TEST(Tasks, tell_progress) {
  Gate gate;
  Job<void> job = start([&]() -> Task<> {
    JobControl& control = co_await this_task();
    control.set_progress(0.5);
    co_await gate.job();
  });
  while (job.progress() == 0) std::this_thread::yield();
  EXPECT_EQ(job.progress(), 0.5);
  gate.open();
  job.get();
  EXPECT_EQ(job.progress(), 1);
}

TEST(Tasks, blocking_in_the_background_starves_nobody) {
  Gate gate;
  std::vector<Job<int>> jobs{gate.job()};
  for (int i = 0; i < 40; ++i) {
    jobs.push_back(start_job<int>([first = jobs.front()](JobControl&) {
      first.wait();
      return 1;
    }));
  }
  EXPECT_EQ(start(number(1)).get(), 1) << "though all the others wait";
  gate.open();
  for (Job<int>& job : jobs) EXPECT_EQ(job.get(), 1);
}

TEST(Tasks, cancelled_before_they_begin_never_do) {
  TaskLoop loop;
  bool begun = false;
  Job<void> job = loop.add([&]() -> Task<> {
    begun = true;
    co_return;
  });
  job.cancel();
  loop.run();
  EXPECT_FALSE(begun);
  EXPECT_THROW(job.get(), CancelledError);
}

TEST(Tasks, cancel_wakes_one_that_waits_for_a_job) {
  Gate gate;
  Job<int> slow = gate.job();
  std::promise<void> waiting;
  Job<int> job = start([&, mine = slow]() mutable -> Task<int> {
    waiting.set_value();
    co_return co_await mine;
  });
  waiting.get_future().wait();
  job.cancel();
  EXPECT_THROW(job.get(), CancelledError);
  EXPECT_FALSE(slow.ready()) << "a job that others know is not cancelled";
  gate.open(3);
  EXPECT_EQ(slow.get(), 3);
}

TEST(Tasks, cancel_reaches_the_job_that_only_the_task_knows) {
  std::promise<void> begun;
  const auto stopped = std::make_shared<std::promise<void>>();
  Job<void> job = start([&]() -> Task<> {
    Job<void> work = start_job<void>([&begun, stopped](JobControl& control) {
      begun.set_value();
      while (!control.cancelled()) std::this_thread::yield();
      stopped->set_value();
    });
    co_await std::move(work);
  });
  begun.get_future().wait();
  job.cancel();
  EXPECT_THROW(job.get(), CancelledError);
  stopped->get_future().wait();
}

TEST(Tasks, belong_to_the_session_they_were_started_in) {
  Session session({.name = "work"});
  Gate gate;
  Job<Tensor> job = session.run([&] {
    return start([&]() -> Task<Tensor> {
      co_await gate.job();
      co_return ones({4});
    });
  });
  EXPECT_THROW(session.close(), BusyError);
  gate.open();
  Tensor made = job.get();
  EXPECT_THROW(made + 1.f, InaccessibleTensorError);
  EXPECT_EQ(session.close().disposed.size(), 1u);
}

TEST(Tasks, enter_a_session_for_as_long_as_they_last) {
  Session session({.name = "inner"});
  const auto body = [&]() -> Task<> {
    Tensor inside = co_await session.run([]() -> Task<Tensor> {
      Tensor x = ones({2});
      co_await next_turn();
      co_return x + 1.f;
    });
    EXPECT_THROW(inside + 1.f, InaccessibleTensorError);
    Tensor outside = ones({2});
    co_await next_turn();
    EXPECT_EQ(floats(outside + 1.f), (Floats{2, 2}));
  };
  std::vector<Task<>> tasks;
  tasks.push_back(body());
  tasks.push_back(body());
  run_all(std::move(tasks));
  session.close();
}

}  // namespace
}  // namespace tenure
