// The recorder among threads, on disks that are slow or full, across forks and crashes.
#include "report/recorder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "memory/event_rings.h"
#include "report/recorded.h"
#include "tenure/tenure.h"

namespace tenure::report {
namespace {

using testing::message_of;
using testing::named;
using testing::text;

class RecorderTest : public testing::Recorded {};

// Takes its time over every chunk, and looks at how much memory waits meanwhile.
class SlowSink final : public Sink {
 public:
  SlowSink(const std::string& path, std::size_t& most_ring_bytes)
      : file_(path), most_ring_bytes_(most_ring_bytes) {}
  void write(std::span<const std::byte> bytes) override {
    for (int i = 0; i < 5; ++i) std::this_thread::yield();
    most_ring_bytes_ = std::max(most_ring_bytes_, detail::events::ring_bytes());
    EXPECT_LT(bytes.size(), std::size_t{256} << 10);
    file_.write(bytes);
  }

 private:
  FileSink file_;
  std::size_t& most_ring_bytes_;
};

TEST_F(RecorderTest, a_slow_disk_makes_threads_wait_and_loses_nothing) {
  constexpr int kTensors = 20000, kThreads = 3;
  std::size_t most = 0;
  {
    const Recorder recorder(std::make_unique<SlowSink>(at("run"), most),
                            std::source_location::current());
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < kTensors; ++i) full({3}, i).set_name("x");
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_LE(most, (kThreads + 1) * detail::events::kRingBytes);
  EXPECT_EQ(detail::events::ring_bytes(), 0u);
  const report::Run run = read_run(at("run"));
  EXPECT_FALSE(run.cut_short);
  const auto lives = named(run, "x");
  EXPECT_EQ(lives.size(), static_cast<std::size_t>(kTensors * kThreads));
  for (const TensorLife& life : lives) ASSERT_NE(life.died, kNever);
}

TEST_F(RecorderTest, many_short_threads_share_few_rings) {
  std::size_t most = 0;
  {
    Recorder recorder(std::make_unique<FileSink>(at("run")), std::source_location::current());
    for (int i = 0; i < 200; ++i) {
      std::thread([] { ones({2}).set_name("x"); }).join();
      if (i % 20 == 0) recorder.flush();  // the drain has had its turn
      most = std::max(most, detail::events::ring_bytes());
    }
  }
  const report::Run run = read_run(at("run"));
  testing::expect_consistent(run);
  const auto lives = named(run, "x");
  EXPECT_EQ(lives.size(), 200u);
  EXPECT_LE(most, 50 * detail::events::kRingBytes);
  for (std::size_t i = 1; i < lives.size(); ++i) EXPECT_NE(lives[i].thread, lives[i - 1].thread);
  EXPECT_EQ(detail::events::ring_bytes(), 0u);
}

TEST_F(RecorderTest, a_tensor_that_dies_with_its_thread_is_told) {
  const report::Run run = record([&] {
    std::thread([] {
      thread_local Tensor last;  // made before the thread has a ring, and so gone after it
      last = ones({2});
      last.set_name("last");
    }).join();
  });
  ASSERT_EQ(named(run, "last").size(), 1u);
  EXPECT_NE(named(run, "last")[0].died, kNever);
}

// Such a thread has no number in the library: nothing it did needed one.
TEST_F(RecorderTest, threads_that_only_drop_tensors_are_told_apart) {
  const report::Run run = record([&] {
    for (int round = 0; round < 50; ++round) {
      std::vector<Tensor> made;
      for (int i = 0; i < 8; ++i) made.push_back(ones({3}).set_name("x"));
      std::thread first([a = std::move(made[0]), b = std::move(made[1])]() mutable {
        a = Tensor();
        b = Tensor();
      });
      std::thread second([a = std::move(made[2])]() mutable { a = Tensor(); });
      ones({3}).set_name("x");
      first.join();
      second.join();
    }
  });
  const auto lives = named(run, "x");
  ASSERT_EQ(lives.size(), 450u);
  for (const TensorLife& life : lives) {
    ASSERT_GE(life.born, run.storages.at(life.storage).born);
    ASSERT_GE(life.died, life.born);
    ASSERT_LE(life.died, run.storages.at(life.storage).freed);
    ASSERT_EQ(text(run, life.cause), "last_handle");
  }
}

TEST_F(RecorderTest, a_recording_ends_while_other_threads_go_on) {
  std::atomic<bool> go_on{true};
  std::atomic<int> made{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (go_on) {
        ones({2});
        ++made;
      }
    });
  }
  for (int round = 0; round < 5; ++round) {
    const report::Run run = record([&] {
      const int before = made;
      while (made < before + 300) std::this_thread::yield();
    });
    EXPECT_FALSE(run.cut_short);
    EXPECT_GT(run.tensors.size(), 100u);
  }
  go_on = false;
  for (std::thread& thread : threads) thread.join();
}

// Full after some bytes.
class FullSink final : public Sink {
 public:
  explicit FullSink(std::size_t room) : room_(room) {}
  void write(std::span<const std::byte> bytes) override {
    if (bytes.size() > room_) throw IoError("recording: the disk is full");
    room_ -= bytes.size();
  }

 private:
  std::size_t room_;
};

TEST_F(RecorderTest, a_full_disk_is_one_warning_and_the_end_of_the_recording) {
  std::vector<std::string> warnings;
  set_warning_sink([&](std::string_view warning) { warnings.emplace_back(warning); });
  {
    Recorder recorder(std::make_unique<FullSink>(20000), std::source_location::current());
    for (int i = 0; i < 50000; ++i) ones({2});
    recorder.stop();
  }
  set_warning_sink({});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_HAS(warnings[0], "the disk is full");
  EXPECT_EQ(record([] { ones({2}).set_name("x"); }).cut_short, false);
}

TEST_F(RecorderTest, a_disk_that_is_full_from_the_start_is_an_error) {
  EXPECT_HAS(message_of<IoError>([] { const Recording recording("/dev/full"); }),
             "cannot be written");
}

// Runs this program again for one test that is made for it; gives how it ended.
int run_child(const std::string& test, const std::string& variable, const std::string& value) {
  const pid_t child = fork();
  if (child == 0) {
    setenv(variable.c_str(), value.c_str(), 1);
    const std::string filter = "--gtest_filter=" + test;
    execl("/proc/self/exe", "test_report", filter.c_str(), "--gtest_also_run_disabled_tests",
          "--gtest_brief=1", nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

void record_much_and_end_by(int signal) {
  const Recording recording(std::getenv("TENURE_TEST_RUN"));
  const std::uint64_t before = recording.events();
  for (int i = 0; i < 1000; ++i) ones({2}).set_name("x");
  while (recording.events() < before + 1000) std::this_thread::yield();
  std::raise(signal);
}

TEST(RecorderChild, DISABLED_is_killed) { record_much_and_end_by(SIGKILL); }
TEST(RecorderChild, DISABLED_aborts) { record_much_and_end_by(SIGABRT); }

TEST_F(RecorderTest, what_was_written_before_a_crash_can_be_read) {
  for (const auto& [child, signal] : {std::pair{"RecorderChild.DISABLED_is_killed", SIGKILL},
                                      std::pair{"RecorderChild.DISABLED_aborts", SIGABRT}}) {
    const int status = run_child(child, "TENURE_TEST_RUN", at("run"));
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(WTERMSIG(status), signal);
    const report::Run run = read_run(at("run"));
    EXPECT_TRUE(run.cut_short);
    EXPECT_GE(run.events, 1000u);
    EXPECT_GT(named(run, "x").size(), 100u);
  }
}

// In the child that is traced: made before main, gone after it.
const Tensor kStatic =
    std::getenv("TENURE_TRACE") != nullptr ? ones({5}).set_name("static") : Tensor();

TEST(RecorderChild, DISABLED_does_nothing) {}

TEST_F(RecorderTest, TENURE_TRACE_records_a_program_from_its_first_tensor_to_its_end) {
  const int status = run_child("RecorderChild.DISABLED_does_nothing", "TENURE_TRACE", at("run-%p"));
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(at(""))) {
    EXPECT_TRUE(found.empty());
    found = entry.path().filename().string();
  }
  ASSERT_EQ(found.find("run-"), 0u);
  EXPECT_EQ(found.find('%'), found.npos);
  const report::Run run = read_run(at(found));
  EXPECT_FALSE(run.cut_short);
  EXPECT_HAS(run.program, "DISABLED_does_nothing");
  EXPECT_EQ(run.version, version());
  EXPECT_GT(run.started, std::int64_t{1'700'000'000} * 1'000'000'000);
  ASSERT_EQ(named(run, "static").size(), 1u);
  EXPECT_NE(named(run, "static")[0].died, kNever);
  for (const TensorLife& life : run.tensors) EXPECT_FALSE(life.before);
}

TEST_F(RecorderTest, TENURE_TRACE_to_nowhere_is_a_warning) {
  ::testing::internal::CaptureStderr();
  const int status =
      run_child("RecorderChild.DISABLED_does_nothing", "TENURE_TRACE", at("no/such/folder"));
  EXPECT_HAS(::testing::internal::GetCapturedStderr(), at("no/such/folder"));
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(RecorderTest, the_child_of_a_fork_records_nothing_until_it_asks) {
  const report::Run run = record([&] {
    ones({2}).set_name("parent");
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < 100; ++i) ones({2}).set_name("child");
      {
        const Recording own(at("child"));
        ones({2}).set_name("own");
      }
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    ones({2}).set_name("parent");
  });
  EXPECT_FALSE(run.cut_short);
  EXPECT_EQ(named(run, "parent").size(), 2u);
  EXPECT_EQ(named(run, "child").size(), 0u);
  const report::Run own = read_run(at("child"));
  EXPECT_EQ(named(own, "own").size(), 1u);
  EXPECT_EQ(named(own, "parent").size() + named(own, "child").size(), 0u);
}

}  // namespace
}  // namespace tenure::report
