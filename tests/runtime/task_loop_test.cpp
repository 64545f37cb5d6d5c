// What a task may do to the loop that runs it, and what would wait for ever.
#include <future>
#include <memory>
#include <optional>

#include "support/expect.h"

namespace tenure {
namespace {

using testing::message_of;
using testing::whole_message_of;

TEST(TaskLoops, a_task_may_destroy_the_loop_it_is_in) {
  auto loop = std::make_unique<TaskLoop>();
  Job<int> job = loop->add([&]() -> Task<int> {
    loop.reset();
    co_return 1;
  });
  loop.get()->run();
  EXPECT_EQ(job.get(), 1);
}

TEST(TaskLoops, a_task_that_destroyed_its_loop_goes_on_to_its_end_and_the_others_do_not) {
  const std::size_t before = memory().tensors;
  {
    auto loop = std::make_unique<TaskLoop>();
    bool unwound = false;
    Job<int> other = loop->add([&]() -> Task<int> {
      struct Unwinds {
        bool& flag;
        ~Unwinds() { flag = true; }
      } const unwinds{unwound};
      const Tensor held = ones({2});
      for (;;) co_await next_turn();
    });
    Job<float> job = loop->add([&]() -> Task<float> {
      co_await next_turn();
      const Tensor x = ones({3});
      loop.reset();
      EXPECT_TRUE(unwound);
      co_await next_turn();
      const std::vector<float> values = co_await x.read_async<float>();
      co_return values[0] + static_cast<float>(values.size());
    });
    loop.get()->run();
    EXPECT_EQ(job.get(), 4);
    EXPECT_HAS(message_of<CancelledError>([&] { other.get(); }), "the TaskLoop it was added to");
  }
  EXPECT_EQ(memory().tensors, before);
}

TEST(TaskLoops, a_task_that_destroyed_its_loop_in_a_step_ends_with_the_step) {
  auto loop = std::make_unique<TaskLoop>();
  bool after = false;
  Job<int> job = loop->add([&]() -> Task<int> {
    loop.reset();
    co_await next_turn();
    after = true;
    co_return 1;
  });
  EXPECT_TRUE(loop.get()->step());
  EXPECT_FALSE(after);
  EXPECT_THROW(job.get(), CancelledError);
}

TEST(TaskLoops, a_task_that_awaits_its_own_job_is_told) {
  TaskLoop loop;
  std::optional<Job<int>> own;
  const int line = static_cast<int>(testing::here().line()) + 1;
  own = loop.add([&]() -> Task<int> { co_return co_await *own; });
  loop.run();
  const std::string text = whole_message_of<ValueError>([&] { own->get(); });
  EXPECT_HAS(text, "co_await: the task would wait for ever");
  EXPECT_HAS(text, "started   task_loop_test.cpp:" + std::to_string(line));
  EXPECT_HAS(text, "used      task_loop_test.cpp:" + std::to_string(line));
}

TEST(TaskLoops, a_started_task_that_waits_for_its_own_job_is_told) {
  const auto waits_for_itself = [](auto body) {
    std::promise<Job<int>> own;
    Job<int> job = start([&, job = own.get_future().share()]() { return body(job); });
    own.set_value(job);
    return message_of<ValueError>([&] { job.get(); });
  };
  EXPECT_HAS(waits_for_itself([](auto own) -> Task<int> {
               Job<int> job = own.get();
               co_return co_await job;
             }),
             "co_await: the task would wait for ever");
  EXPECT_HAS(waits_for_itself([](auto own) -> Task<int> {
               Job<int> job = own.get();
               co_return job.get();
             }),
             "wait: the job's task is in the middle of this very call");
}

TEST(TaskLoops, tasks_that_await_each_other_are_told) {
  TaskLoop loop;
  std::optional<Job<int>> second;
  Job<int> first = loop.add([&]() -> Task<int> { co_return co_await *second; });
  second = loop.add([&]() -> Task<int> {
    try {
      co_return co_await first;
    } catch (const ValueError& error) {
      EXPECT_HAS(error.what(), "through others");
      co_return 5;
    }
  });
  loop.run();
  EXPECT_EQ(first.get(), 5);
}

TEST(TaskLoops, a_task_may_await_the_end_of_one_that_waits_for_it_and_was_cancelled) {
  TaskLoop loop;
  std::optional<Job<int>> second;
  Job<int> first = loop.add([&]() -> Task<int> { co_return co_await *second; });
  second = loop.add([&]() -> Task<int> {
    first.cancel();
    try {
      co_await first;
    } catch (const CancelledError&) {
      co_return 4;
    }
    co_return 0;
  });
  loop.run();
  EXPECT_EQ(second->get(), 4);
}

TEST(TaskLoops, a_task_run_within_another_cannot_await_that_one) {
  std::optional<Job<int>> outer;
  std::promise<void> known;
  outer = start([&, known = known.get_future().share()]() -> Task<int> {
    known.wait();
    co_return run([&]() -> Task<int> { co_return co_await *outer; });
  });
  known.set_value();
  EXPECT_HAS(message_of<ValueError>([&] { outer->get(); }),
             "co_await: the task would wait for ever");
}

TEST(TaskLoops, a_task_run_within_another_cannot_await_what_is_in_the_loop_around) {
  TaskLoop loop;
  std::optional<Job<int>> later;
  Job<int> job = loop.add(
      [&]() -> Task<int> { co_return run([&]() -> Task<int> { co_return co_await *later; }); });
  later = loop.add([]() -> Task<int> { co_return 1; });
  loop.run();
  EXPECT_HAS(message_of<ValueError>([&] { job.get(); }), "co_await: the task would wait for ever");
  EXPECT_EQ(later->get(), 1);
}

TEST(TaskLoops, a_step_within_a_task_lets_others_await_it) {
  TaskLoop loop;
  std::optional<Job<int>> other;
  Job<int> job = loop.add([&]() -> Task<int> {
    EXPECT_TRUE(loop.step());
    co_return 2;
  });
  other = loop.add([&]() -> Task<int> { co_return 1 + co_await job; });
  loop.run();
  EXPECT_EQ(other->get(), 3);
}

TEST(TaskLoops, run_within_one_of_its_own_tasks_is_told) {
  TaskLoop loop;
  int line = 0;
  Job<void> job = loop.add([&]() -> Task<> {
    line = static_cast<int>(testing::here().line()) + 1;
    loop.run();
    co_return;
  });
  loop.run();
  const std::string text = whole_message_of<ValueError>([&] { job.get(); });
  EXPECT_HAS(text, "run: one of the TaskLoop's own tasks calls it");
  EXPECT_HAS(text, "task_loop_test.cpp:" + std::to_string(line));
}

}  // namespace
}  // namespace tenure
