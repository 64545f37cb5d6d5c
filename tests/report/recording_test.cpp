#include "tenure/recording.h"

#include "report/recorded.h"
#include "tenure/tenure.h"

namespace tenure::report {
namespace {

using testing::file;
using testing::line;
using testing::live_at;
using testing::message_of;
using testing::named;
using testing::spans;
using testing::text;

class RecordingTest : public testing::Recorded {};

TEST_F(RecordingTest, a_birth_has_its_op_line_shape_and_scope) {
  int born = 0, opened = 0;
  const report::Run run = record([&] {
    opened = __LINE__ + 1;
    tidy("step", [&] {
      const Tensor x = ones({2, 3});
      born = __LINE__ + 1;
      Tensor y = tanh(x);
      y.set_name("y");
    });
  });
  const auto lives = named(run, "y");
  ASSERT_EQ(lives.size(), 1u);
  const TensorLife& y = lives[0];
  EXPECT_EQ(text(run, y.op), "tanh");
  EXPECT_EQ(text(run, y.dtype), "float32");
  EXPECT_EQ(text(run, y.shape), "[2, 3]");
  EXPECT_EQ(y.nbytes, 24u);
  EXPECT_EQ(line(run, y.birth_site), static_cast<std::uint32_t>(born));
  EXPECT_EQ(file(run, y.birth_site), "recording_test.cpp");
  EXPECT_FALSE(y.is_view);
  EXPECT_FALSE(y.reused);
  EXPECT_FALSE(y.before);
  ASSERT_NE(y.scope, kNone);
  EXPECT_EQ(text(run, run.spans[y.scope].kind), "tidy");
  EXPECT_EQ(text(run, run.spans[y.scope].name), "step");
  EXPECT_EQ(line(run, run.spans[y.scope].site), static_cast<std::uint32_t>(opened));
  ASSERT_NE(y.storage, kNone);
  const StorageLife& bytes = run.storages[y.storage];
  EXPECT_EQ(bytes.nbytes, 24u);
  EXPECT_EQ(bytes.capacity, 64u);
  EXPECT_LE(bytes.born, y.born);
  EXPECT_GE(bytes.freed, y.died);
  EXPECT_EQ(line(run, bytes.site), static_cast<std::uint32_t>(born));
  EXPECT_EQ(text(run, bytes.op), "tanh");
  EXPECT_FALSE(run.cut_short);
  EXPECT_GT(run.events, 0u);
  EXPECT_GE(run.length, bytes.freed);
}

TEST_F(RecordingTest, a_death_has_its_cause_line_and_who) {
  int opened = 0, disposed = 0;
  const report::Run run = record([&] {
    Tensor escaped;
    opened = __LINE__ + 1;
    tidy("step", [&] {
      escaped = ones({4});
      escaped.set_name("ended");
    });
    Tensor given = ones({4});
    given.set_name("given");
    disposed = __LINE__ + 1;
    given.dispose();
    {
      Tensor dropped = ones({4});
      dropped.set_name("dropped");
    }
  });
  const auto ended = named(run, "ended"), given = named(run, "given"),
             dropped = named(run, "dropped");
  ASSERT_EQ(ended.size() * given.size() * dropped.size(), 1u);
  EXPECT_EQ(text(run, ended[0].cause), "scope_exit");
  EXPECT_EQ(text(run, ended[0].death_by), "tidy \"step\" ended");
  EXPECT_EQ(line(run, ended[0].death_site), static_cast<std::uint32_t>(opened));
  EXPECT_EQ(text(run, given[0].cause), "disposed");
  EXPECT_EQ(line(run, given[0].death_site), static_cast<std::uint32_t>(disposed));
  EXPECT_EQ(text(run, dropped[0].cause), "last_handle");
  for (const auto& lives : {ended, given, dropped}) {
    EXPECT_GT(lives[0].died, lives[0].born);
    EXPECT_GE(run.storages[lives[0].storage].freed, lives[0].died);
  }
}

TEST_F(RecordingTest, what_outlives_the_recording_has_no_death) {
  Tensor x;
  const report::Run run = record([&] {
    x = ones({4});
    x.set_name("x");
  });
  const auto lives = named(run, "x");
  ASSERT_EQ(lives.size(), 1u);
  EXPECT_EQ(lives[0].died, kNever);
  EXPECT_EQ(lives[0].cause, 0u);
  EXPECT_EQ(run.storages[lives[0].storage].freed, kNever);
}

TEST_F(RecordingTest, what_lived_before_is_told_with_its_birth) {
  Tensor x = ones({1000});
  const int born = __LINE__ - 1;
  x.set_name("x");
  const Variable w(ones({10}), {.name = "w"});
  const report::Run run = record([&] { x.dispose(); });
  const auto lives = named(run, "x");
  ASSERT_EQ(lives.size(), 1u);
  EXPECT_TRUE(lives[0].before);
  EXPECT_EQ(lives[0].born, 0);
  EXPECT_EQ(line(run, lives[0].birth_site), static_cast<std::uint32_t>(born));
  EXPECT_EQ(text(run, lives[0].cause), "disposed");
  EXPECT_EQ(run.storages[lives[0].storage].nbytes, 4000u);
  EXPECT_EQ(run.storages[lives[0].storage].born, 0);
  EXPECT_NE(run.storages[lives[0].storage].freed, kNever);
  bool found = false;
  for (const TensorLife& life : run.tensors) {
    if (text(run, life.owner) != "variable \"w\"") continue;
    found = true;
    EXPECT_TRUE(life.before);
    EXPECT_EQ(category_at(run.storages[life.storage], 0), Category::parameter);
  }
  EXPECT_TRUE(found);
}

TEST_F(RecordingTest, views_and_reused_memory_are_told_apart) {
  int used = 0;
  const report::Run run = record([&] {
    Tensor x = ones({8});
    x.set_name("x");
    Tensor view = reshape(x, {2, 4});
    view.set_name("view");
    Tensor copy = x + 1;
    copy.set_name("copy");
    used = __LINE__ + 1;
    Tensor next = std::move(copy) * 2;
    next.set_name("next");
  });
  const TensorLife x = named(run, "x").at(0), view = named(run, "view").at(0),
                   copy = named(run, "copy").at(0), next = named(run, "next").at(0);
  EXPECT_EQ(view.storage, x.storage);
  EXPECT_TRUE(view.is_view);
  EXPECT_FALSE(view.reused);
  EXPECT_EQ(next.storage, copy.storage);
  EXPECT_TRUE(next.reused);
  EXPECT_FALSE(next.is_view);
  EXPECT_EQ(text(run, copy.cause), "last_handle");
  EXPECT_EQ(line(run, copy.death_site), static_cast<std::uint32_t>(used));
  EXPECT_LE(copy.died, next.born);
}

TEST_F(RecordingTest, every_op_that_ran_has_its_line_time_and_bytes) {
  int ran = 0;
  const report::Run run = record([&] {
    const Tensor x = ones({16, 16});
    ran = __LINE__ + 1;
    const Tensor y = tidy("inner", [&] { return matmul(x, x); });
  });
  int found = 0;
  for (const OpRun& op : run.ops) {
    if (text(run, op.op) != "matmul") continue;
    ++found;
    EXPECT_EQ(line(run, op.site), static_cast<std::uint32_t>(ran));
    EXPECT_EQ(op.bytes, 1024u);
    EXPECT_GT(op.duration, 0);
    ASSERT_NE(op.span, kNone);
    EXPECT_EQ(text(run, run.spans[op.span].name), "inner");
    EXPECT_GE(op.begin, run.spans[op.span].begin);
    EXPECT_LE(op.begin + op.duration, run.spans[op.span].end);
  }
  EXPECT_EQ(found, 1);
}

TEST_F(RecordingTest, a_second_recording_is_refused_and_told_where_the_first_began) {
  const Recording first(at("first.tenure"));
  const int began = __LINE__ - 1;
  const std::string message = message_of<BusyError>([&] { const Recording second(at("second")); });
  EXPECT_HAS(message, "recording_test.cpp:" + std::to_string(began));
  EXPECT_FALSE(std::filesystem::exists(at("second")));
}

TEST_F(RecordingTest, a_file_that_cannot_be_made_is_an_error_and_nothing_is_recorded) {
  EXPECT_HAS(message_of<IoError>([&] { const Recording none(at("no/such/folder")); }),
             "cannot be made");
  const Recording recording(at("run"));  // the way is free
}

TEST_F(RecordingTest, recordings_follow_each_other) {
  for (int i = 0; i < 3; ++i) {
    const report::Run run = record([&] { ones({4}).set_name("x"); });
    EXPECT_EQ(named(run, "x").size(), 1u);
    EXPECT_FALSE(run.cut_short);
  }
}

TEST_F(RecordingTest, events_counts_what_the_file_has) {
  Recording recording(at("run"));
  for (int i = 0; i < 100; ++i) ones({4});
  recording.stop();
  recording.stop();
  const report::Run run = read_run(at("run"));
  EXPECT_EQ(recording.events(), run.events);
  EXPECT_GE(run.events, 400u);
  EXPECT_EQ(recording.path(), at("run"));
}

}  // namespace
}  // namespace tenure::report
