// What the child of a fork can do: everything, with threads of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <thread>

#include "memory/ledger.h"
#include "report/recorded.h"
#include "support/child.h"
#include "support/expect.h"
#include "tensor/access.h"

// What threads of the parent held is no leak of a child, which has none of them.
#if defined(TENURE_ASAN)
static const pid_t g_parent = getpid();
extern "C" [[gnu::visibility("default")]] int __lsan_is_turned_off() {  // NOLINT: its name
  return getpid() != g_parent ? 1 : 0;
}
#endif

namespace tenure {
namespace {

using testing::floats;
using testing::here;
using testing::in_child;
using testing::kCanFork;

class Fork : public testing::Recorded {
 protected:
  void SetUp() override {
    if (!kCanFork) GTEST_SKIP() << "ThreadSanitizer knows no threads after a fork";
    threads_ = num_threads();
    set_num_threads(4);  // teams, on whatever machine
  }
  void TearDown() override {
    if (kCanFork) set_num_threads(threads_);
  }

 private:
  int threads_ = 1;
};

Tensor positive(std::int64_t n) {
  return matmul(ones({n, n}) * 0.01, ones({n, n}) * 0.01) + eye(n) * static_cast<float>(n);
}

// Large enough for several threads, each in its own way.
void use_threads() {
  const Tensor a = ones({300, 300});
  EXPECT_EQ(matmul(a, a)[0][0].item<float>(), 300.f);
  EXPECT_EQ(sum(ones({1000, 1000})).item<float>(), 1e6f);
  EXPECT_EQ(floats(conv2d(ones({4, 32, 32, 16}), ones({3, 3, 16, 16})))[0], 144.f);
  EXPECT_EQ(exp(zeros({400'000}))[7].item<float>(), 1.f);
  EXPECT_EQ(cholesky(stack({positive(64), positive(64), positive(64), positive(64)})).rank(), 3);
  EXPECT_EQ(sort(ones({200'000}))[0].item<float>(), 1.f);
  EXPECT_EQ(ones({3}).read_async<float>().get(), testing::Floats(3, 1.f));
  EXPECT_EQ(
      run([]() -> Task<int> { co_return co_await start_job<int>([](JobControl&) { return 2; }); }),
      2);
  EXPECT_EQ(start([]() -> Task<int> { co_return 3; }).get(), 3);
}

void train() {
  const nn::Sequential model({nn::Dense({.units = 64, .activation = "relu", .input_shape = {32}}),
                              nn::Dense({.units = 4})});
  model.compile({.optimizer = "adam", .loss = "mse"});
  const Tensor x = ones({256, 32}), y = ones({256, 4});
  model.fit(x, y, {.batch_size = 64, .verbose = nn::Verbose::silent});
  model.fit(nn::Dataset::from_tensors(x, y).batch(64).prefetch(2),
            {.verbose = nn::Verbose::silent});
  model.fit_async(x, y, {.verbose = nn::Verbose::silent}).get();
  EXPECT_EQ(model.predict_async(x).get().shape(), Shape({256, 4}));
}

TEST_F(Fork, a_child_of_a_process_that_used_threads_uses_its_own) {
  use_threads();
  train();
  in_child([] {
    use_threads();
    train();
    use_threads();
  });
  use_threads();
}

TEST_F(Fork, a_childs_child_does_too) {
  use_threads();
  in_child([] {
    use_threads();
    in_child([] {
      use_threads();
      train();
    });
    use_threads();
  });
}

TEST_F(Fork, a_thread_that_is_not_the_first_may_fork) {
  use_threads();
  std::thread([] {
    use_threads();
    in_child([] {
      use_threads();
      std::thread(use_threads).join();
      train();
    });
    use_threads();
  }).join();
  use_threads();
}

// Waits in the middle of its first use.
int slow_value(std::atomic<bool>& begun, const std::atomic<bool>& may_end) {
  static const int value = [&] {
    begun = true;
    begun.notify_all();
    may_end.wait(false);
    return 5;
  }();
  return value;
}

TEST_F(Fork, a_child_makes_the_static_that_another_thread_was_making) {
  std::atomic<bool> begun = false, may_end = false;
  std::jthread first([&] { EXPECT_EQ(slow_value(begun, may_end), 5); });
  begun.wait(false);
  in_child([&] {
    may_end = true;
    EXPECT_EQ(slow_value(begun, may_end), 5);
    EXPECT_EQ(slow_value(begun, may_end), 5);
  });
  may_end = true;
  may_end.notify_all();
  EXPECT_EQ(slow_value(begun, may_end), 5);
}

TEST_F(Fork, a_child_may_exit) {
  use_threads();
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) {
    alarm(120);
    use_threads();
    std::exit(7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
}

TEST_F(Fork, a_job_of_the_parent_ends_in_the_child_with_an_error_that_says_so) {
  std::atomic<bool> open = false;
  const auto line = here().line() + 1;
  Job<int> job = start_job<int>([&](JobControl&) {
    open.wait(false);
    return 5;
  });
  Job<int> queued_behind = start([&]() -> Task<int> { co_return co_await job + 1; });
  in_child([&] {
    const std::string text = testing::message_of<CancelledError>([&] { job.get(); });
    EXPECT_HAS(text, "left behind by a fork");
    EXPECT_HAS(text, "fork_test.cpp:" + std::to_string(line));
    EXPECT_TRUE(job.ready());
    EXPECT_THROW(queued_behind.get(), CancelledError);
    EXPECT_THROW(run([&]() -> Task<int> { co_return co_await job; }), CancelledError);
    EXPECT_EQ(start_job<int>([](JobControl&) { return 6; }).get(), 6);
  });
  open = true;
  open.notify_all();
  EXPECT_EQ(queued_behind.get(), 6);
}

TEST_F(Fork, a_loop_goes_on_in_the_child_without_the_jobs_of_the_parent) {
  std::atomic<bool> open = false;
  Job<int> job = start_job<int>([&](JobControl&) {
    open.wait(false);
    return 5;
  });
  {
    TaskLoop loop;
    Job<int> waiting = loop.add([&]() -> Task<int> { co_return co_await job; });
    Job<int> other = loop.add([]() -> Task<int> { co_return 1; });
    loop.step();
    in_child([&] {
      loop.run();
      EXPECT_THROW(waiting.get(), CancelledError);
      EXPECT_EQ(other.get(), 1);
    });
    open = true;
    open.notify_all();
    loop.run();
    EXPECT_EQ(waiting.get(), 5);
  }
}

TEST_F(Fork, a_pass_that_was_begun_before_it_ends_in_the_child_with_an_error) {
  const nn::Dataset batches = nn::Dataset::from_tensors(ones({64, 2})).batch(1).prefetch(2);
  nn::DatasetIterator pass = batches.iterate();
  ASSERT_TRUE(pass.next().has_value());
  in_child([&] {
    const std::string text = testing::message_of<ValueError>([&] {
      while (pass.next()) {
      }
    });
    EXPECT_HAS(text, "begun before a fork");
    int count = 0;
    for (nn::Batch& batch : batches) count += static_cast<int>(batch.x.size());
    EXPECT_EQ(count, 64);
    const nn::DatasetIterator dropped = std::move(pass);
  });
  int count = 1;
  while (pass.next()) ++count;
  EXPECT_EQ(count, 64);
}

TEST_F(Fork, a_child_does_not_write_into_the_recording_of_its_parent) {
  const report::Run run = record([&] {
    const Tensor before = ones({3}).set_name("before");
    in_child([&] {
      const Tensor inside = (before + 1).set_name("in the child");
      use_threads();
    });
    const Tensor after = (before * 2).set_name("after");
  });
  EXPECT_EQ(testing::named(run, "before").size(), 1u);
  EXPECT_EQ(testing::named(run, "after").size(), 1u);
  EXPECT_EQ(testing::named(run, "in the child").size(), 0u);
  EXPECT_FALSE(run.cut_short);
}

// Whatever a thread of a recorded process is in the middle of: a new ring, a kind of span that
// nobody had named, an event of a scope.
TEST_F(Fork, a_child_made_while_others_record_makes_a_recording_of_its_own) {
  if (!testing::kCanForkAmongThreads) GTEST_SKIP() << "AddressSanitizer's allocator may hang";
  std::vector<std::string> kinds;  // to tell them apart takes time
  for (char c = 'a'; c <= 'z'; ++c) kinds.push_back(std::string(50'000, 'x') + c);
  std::atomic<bool> stop = false;
  const Recording recording(at("parent.tenure"));
  std::vector<std::jthread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; !stop; ++i) {
        const RecordedSpan span(kinds[i % kinds.size()], "of the parent");
      }
    });
  }
  threads.emplace_back([&] {
    while (!stop) std::thread([] { record_value("loss", 1.0, 1); }).join();
  });
  for (int i = 0; i < 30 && !HasFailure(); ++i) {
    in_child([&] {
      const std::string path = at("child.tenure");
      {
        const Recording own(path);
        const RecordedSpan span("phase", "of the child");
        (void)(ones({3}) * 2);
      }
      EXPECT_EQ(testing::spans(report::read_run(path), "phase").size(), 1u);
    });
  }
  stop = true;
}

TEST_F(Fork, a_child_reads_the_error_that_another_thread_was_reading) {
  if (!testing::kCanForkAmongThreads) GTEST_SKIP() << "AddressSanitizer's allocator may hang";
  constexpr int kLines = 20'000;  // the text takes its time
  for (int i = 0; i < 4 && !HasFailure(); ++i) {
    const ValueError error(
        describe("test: much to tell")
            .told(std::vector<ErrorLine>(kLines, {"line", "a.cpp:1", "x", ""}), "read it all."));
    std::atomic<bool> begun = false;
    std::jthread reader([&] {
      begun = true;
      begun.notify_all();
      EXPECT_HAS(error.what(), "read it all");
    });
    begun.wait(false);
    in_child([&] { EXPECT_HAS(error.what(), "read it all"); });
  }
}

TEST_F(Fork, a_tape_that_another_thread_was_using_records_no_more_in_the_child) {
  const Tensor x = full({3}, 2.f);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  std::atomic<int> stage = 0;
  const Tensor y = custom_gradient(
      [&](const std::vector<Tensor>& in) {
        return CustomResult{in[0] * 2, [&](Tensor dy) {
                              stage = 1;
                              stage.notify_all();
                              stage.wait(1);
                              return std::vector<Tensor>{dy * 2};
                            }};
      },
      {x});
  std::thread other([&] { (void)tape.gradient(y, x); });
  stage.wait(0);
  in_child([&] {
    EXPECT_EQ(floats(square(x))[0], 4.f);
    EXPECT_HAS(testing::message_of<TapeError>([&] { (void)tape.gradient(y, x); }), "fork");
    GradientTape own;
    own.watch(x);
    EXPECT_EQ(floats(own.gradient(square(x), x))[0], 4.f);
  });
  stage = 2;
  stage.notify_all();
  other.join();
}

TEST_F(Fork, a_model_that_a_job_of_the_parent_trains_is_free_in_the_child) {
  std::atomic<int> stage = 0;
  struct Hold final : nn::CallbackBase {
    explicit Hold(std::atomic<int>& at) : stage(at) {}
    void on_train_batch_end(nn::Training&, const nn::Logs&) override {
      stage = 1;
      stage.notify_all();
      stage.wait(1);
    }
    std::atomic<int>& stage;
  };
  const nn::Sequential model({nn::Dense({.units = 2, .input_shape = {3}})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor x = ones({4, 3}), y = ones({4, 2});
  Job<nn::History> job = model.fit_async(
      x, y, {.verbose = nn::Verbose::silent, .callbacks = {nn::make_callback<Hold>(stage)}});
  stage.wait(0);
  EXPECT_THROW(model.dispose(), BusyError);
  in_child([&] {
    EXPECT_THROW(job.get(), CancelledError);
    model.train_on_batch(x, y);
    model.evaluate(x, y);
    model.fit(x, y, {.verbose = nn::Verbose::silent});
    model.fit_async(x, y, {.verbose = nn::Verbose::silent}).get();
    model.compile({.optimizer = "sgd", .loss = "mse"});
    model.dispose();
  });
  EXPECT_THROW(model.dispose(), BusyError) << "in the parent it is being trained";
  stage = 2;
  stage.notify_all();
  job.get();
}

TEST_F(Fork, a_fit_whose_callback_forks_keeps_its_model_busy_in_the_child) {
  const nn::Sequential model({nn::Dense({.units = 2, .input_shape = {3}})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  struct Forks final : nn::CallbackBase {
    void on_train_batch_end(nn::Training& training, const nn::Logs&) override {
      in_child([&] { EXPECT_THROW(nn::Model(training.model()).dispose(), BusyError); });
    }
  };
  model.fit(ones({2, 3}), ones({2, 2}),
            {.verbose = nn::Verbose::silent, .callbacks = {nn::make_callback<Forks>()}});
}

TEST_F(Fork, a_session_that_others_work_in_can_be_closed_in_the_child) {
  std::atomic<int> inside = 0;
  std::atomic<bool> open = false;
  Session session({.name = "shared"});
  const auto wait = [&] {
    inside++;
    inside.notify_all();
    open.wait(false);
  };
  std::thread thread([&] { session.run(wait); });
  Job<int> task = session.run([&] {
    return start([&]() -> Task<int> {
      wait();
      co_return 1;
    });
  });
  for (int n = inside; n < 2; n = inside) inside.wait(n);
  EXPECT_THROW(session.close(), BusyError);
  session.run([&] {
    in_child([&] { EXPECT_THROW(session.close(), BusyError) << "its own thread is inside"; });
  });
  in_child([&] {
    const Tensor x = session.run([] { return ones({3}); });
    EXPECT_EQ(session.close().disposed.size(), 1u);
    EXPECT_TRUE(x.is_disposed());
  });
  EXPECT_THROW(session.close(), BusyError);
  open = true;
  open.notify_all();
  thread.join();
  task.get();
  session.close();
}

TEST_F(Fork, a_tensor_that_an_operation_of_another_thread_uses_can_be_given_away_in_the_child) {
  Tensor x = ones({64});
  detail::Header& header = *detail::Access::header(x);
  ASSERT_TRUE(detail::try_pin(header));  // as an operation that is under way does
  auto twice = function("twice", [](Tensor in) { return in * 2; });
  twice(ones({64}));
  in_child([&] {
    EXPECT_EQ(floats(twice(donate(x)))[0], 2.f);
    EXPECT_TRUE(x.is_disposed());
  });
  detail::unpin(header);
  EXPECT_EQ(floats(twice(x))[0], 2.f);
}

TEST_F(Fork, a_tensor_that_another_thread_was_looking_at_dies_in_the_child) {
  Tensor x = ones({1000});
  std::promise<void> looked, forked;
  std::jthread looking([&] {
    detail::for_each_header([&](detail::Header& header) {
      if (header.id != x.id()) return;
      looked.set_value();
      forked.get_future().wait();
    });
  });
  looked.get_future().wait();
  in_child([&] {
    EXPECT_EQ(x.story().handles, 1u);
    const std::size_t live = memory().live_bytes;
    x = {};
    EXPECT_EQ(memory().live_bytes, live - 4000);
  });
  forked.set_value();
}

// Whatever others are in the middle of: the child has all of the library for itself.
TEST_F(Fork, a_child_made_while_others_are_inside_operations_waits_for_none_of_them) {
  if (!testing::kCanForkAmongThreads) GTEST_SKIP() << "AddressSanitizer's allocator may hang";
  std::atomic<bool> stop = false;
  Variable shared(ones({64}), {.name = "shared"});
  auto twice = function("twice", [&](Tensor x) { return x * 2 + shared; });
  auto learn = function("learn", [&](Tensor x) { shared.assign(shared * 0.5 + x * 0.5); });
  const Tensor common = ones({64});
  twice(common);
  learn(common);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; !stop; ++i) {
          tidy("step", [&] {
            const Tensor x = ones({64 + i % 7 * 100}).set_name("x");
            (void)(x * 2 + common[i % 64]);
            (void)twice(common);
            if (t == 0) learn(common);
            if (t == 1) shared.assign(common * 1);
            if (t == 2) (void)matmul(ones({200, 200}), ones({200, 200}));
            if (t == 3) (void)common.read_async<float>().get();
            if (i % 16 == 0) trim_pool();
          });
          if (i % 8 == 0) (void)memory();
        }
      });
    }
    for (int i = 0; i < 20 && !HasFailure(); ++i) {
      in_child([&] {
        tidy("child", [&] {
          const Tensor x = ones({64}).set_name("x");
          EXPECT_EQ(floats(common * 2 + x)[0], 3.f);
          (void)twice(common);
          learn(common);
          shared.assign(x);
          EXPECT_EQ(floats(twice(common))[0], 3.f);
          (void)matmul(ones({200, 200}), ones({200, 200}));
          EXPECT_EQ(common.read_async<float>().get()[0], 1.f);
          (void)nn::Dense({.units = 2})(ones({1, 3}));
        });
        (void)memory();
        trim_pool();
        Session session;
        session.run([] { ones({3}); });
        session.close();
      });
    }
    stop = true;
  }
}

}  // namespace
}  // namespace tenure
