#include "report/findings.h"

#include <gtest/gtest.h>

#include <string>

#include "report/made_run.h"
#include "report/names.h"

namespace tenure::report {
namespace {

using Ids = std::vector<std::uint32_t>;

TEST(Findings, an_empty_run_has_none) { EXPECT_TRUE(findings(report::Run()).empty()); }

TEST(Outlived, a_tensor_of_an_ended_tidy_that_the_process_never_freed) {
  MadeRun b;
  const std::uint32_t scope = b.begin("tidy", "step", 4);
  b.make(5, {.op = "tanh", .bytes = 4096, .name = "h"});
  b.end(scope);
  b.work(7, 40);
  const std::vector<Finding> found = findings(b.run());
  ASSERT_EQ(found.size(), 1u) << texts(found);
  EXPECT_EQ(found[0].problem, Problem::outlived);
  EXPECT_EQ(line_of(b.run(), found[0]), 5u);
  EXPECT_EQ(found[0].bytes, 4096u);
  EXPECT_EQ(found[0].title,
            "1 tensor from prog.cpp:5 (tanh) outlived tidy \"step\" and was never freed: 4.0 KiB");
}

TEST(Outlived, a_tensor_of_an_ended_step_without_a_tidy) {
  MadeRun b;
  const std::uint32_t step = b.begin("step", "", 4);
  b.work(5, 3);
  b.make(6);
  b.end(step);
  b.work(7, 40);
  const std::vector<Finding> found = findings(b.run());
  ASSERT_EQ(found.size(), 1u) << texts(found);
  EXPECT_EQ(line_of(b.run(), found[0]), 6u);
}

TEST(Outlived, is_not_what_lives_where_the_program_stopped_recording) {
  MadeRun b;
  const std::uint32_t scope = b.begin("tidy", "step", 4);
  b.make(5);
  b.end(scope);
  b.run().whole_process = false;
  EXPECT_TRUE(findings(b.run()).empty());
  b.run().whole_process = true;
  b.run().cut_short = true;
  EXPECT_TRUE(findings(b.run()).empty());
}

TEST(Outlived, is_not_a_tensor_that_was_born_in_no_scope) {
  MadeRun b;
  b.make(2);
  b.work(7, 40);
  const std::uint32_t scope = b.begin("tidy", "step", 4);
  b.end(scope);
  b.make(3);
  EXPECT_TRUE(findings(b.run()).empty());
}

TEST(Outlived, is_not_a_variable_a_state_or_a_capture_that_something_owns) {
  MadeRun b;
  const std::uint32_t scope = b.begin("tidy", "step", 4);
  b.make(5, {.owner = "variable \"w\"", .category = Category::parameter});
  b.make(6, {.owner = "layer \"rnn\"", .category = Category::layer_state});
  b.make(7, {.owner = "function \"f\""});
  b.make(8, {.op = "read", .category = Category::parameter});  // a read of a variable
  b.end(scope);
  b.work(9, 40);
  const std::vector<Finding> found = findings(b.run());
  EXPECT_TRUE(found.empty()) << texts(found);
}

TEST(Outlived, what_a_tape_saved_that_is_never_destroyed_is_one_finding_at_the_tape) {
  MadeRun b;
  b.begin("tape", "lost", 4);
  for (const int line : {5, 6, 7}) {
    b.make(line, {.bytes = 1000, .owner = "tape \"lost\""});
  }
  b.work(9, 40);
  const std::vector<Finding> found = findings(b.run());
  ASSERT_EQ(found.size(), 1u) << texts(found);
  EXPECT_EQ(line_of(b.run(), found[0]), 4u);
  EXPECT_EQ(found[0].count, 3u);
  EXPECT_EQ(found[0].bytes, 3000u);
}

TEST(Outlived, a_hundred_thousand_lost_tensors_and_spans_are_each_looked_at_once) {
  constexpr int kMany = 100000;
  MadeRun b;
  b.begin("tape", "lost", 4);
  for (int i = 0; i < kMany; ++i) b.end(b.begin("step", "", 5));
  for (int i = 0; i < kMany; ++i) {
    b.make(6, {.owner = "tape \"lost\""});
    b.make(7, {.thread = 1});  // a thread without spans
  }
  const std::vector<Finding> found = findings(b.run());
  const auto tape = std::ranges::find_if(
      found, [&](const Finding& finding) { return line_of(b.run(), finding) == 4u; });
  ASSERT_EQ(found.size(), 2u) << texts(found);  // the tape, and the tensors that nobody ends
  ASSERT_NE(tape, found.end()) << texts(found);
  EXPECT_EQ(tape->count, static_cast<std::uint64_t>(kMany));
}

TEST(Outlived, says_of_a_symbolic_tensor_that_it_is_to_be_returned) {
  MadeRun b;
  const std::uint32_t call = b.begin("call", "f", 4);
  b.make(5, {.op = "mul", .is_symbolic = true});
  b.end(call);
  b.work(9, 20);
  const std::vector<Finding> found = findings(b.run());
  ASSERT_EQ(found.size(), 1u) << texts(found);
  EXPECT_NE(found[0].remedy.find("return it from the function"), std::string::npos);
}

TEST(Pinned, a_row_that_alone_holds_a_large_storage_for_long) {
  MadeRun b;
  const std::uint32_t big = b.make(3, {.op = "normal", .bytes = 1 << 20});
  const std::uint32_t row = b.make(4, {.op = "slice", .bytes = 1024, .view_of = big});
  b.die(big);
  b.work(9, 40);
  b.die(row);
  const std::vector<Finding> found = findings(b.run());
  ASSERT_EQ(found.size(), 1u) << texts(found);
  EXPECT_EQ(found[0].problem, Problem::pinned);
  EXPECT_EQ(line_of(b.run(), found[0]), 4u);
  EXPECT_EQ(found[0].bytes, 1u << 20);
  EXPECT_EQ(found[0].title, "1 view from prog.cpp:4 (slice) of 1.0 KiB alone holds 1.0 MiB");
}

TEST(Pinned, is_not_a_row_whose_whole_is_alive) {
  MadeRun b;
  const std::uint32_t big = b.make(3, {.op = "normal", .bytes = 1 << 20});
  const std::uint32_t row = b.make(4, {.op = "slice", .bytes = 1024, .view_of = big});
  b.work(9, 40);
  b.die(row);
  b.die(big);
  EXPECT_TRUE(findings(b.run()).empty());
}

TEST(Pinned, is_not_a_row_that_is_used_and_dropped) {
  MadeRun b;
  for (int i = 0; i < 50; ++i) {
    const std::uint32_t big = b.make(3, {.op = "normal", .bytes = 1 << 20});
    const std::uint32_t row = b.make(4, {.op = "slice", .bytes = 1024, .view_of = big});
    b.die(big);
    b.work(9, 3);
    b.die(row);
  }
  EXPECT_TRUE(findings(b.run()).empty());
}

TEST(Pinned, is_not_all_rows_together) {
  MadeRun b;
  const std::uint32_t big = b.make(3, {.op = "normal", .bytes = 1 << 20});
  Ids rows;
  for (int i = 0; i < 16; ++i) {
    rows.push_back(b.make(4, {.op = "slice", .bytes = 1 << 16, .view_of = big}));
  }
  b.die(big);
  b.work(9, 400);
  b.die(rows);
  EXPECT_TRUE(findings(b.run()).empty());
}

TEST(Pinned, a_view_the_process_never_freed_counts_however_short_the_run) {
  MadeRun b;
  const std::uint32_t big = b.make(3, {.op = "normal", .bytes = 1 << 20});
  b.make(4, {.op = "slice", .bytes = 1024, .view_of = big});
  b.die(big);
  const std::vector<Finding> found = findings(b.run());
  ASSERT_EQ(found.size(), 1u) << texts(found);
  EXPECT_EQ(found[0].problem, Problem::pinned);
}

TEST(Misused, an_error_about_a_life_is_found_at_the_line_of_the_use) {
  MadeRun b;
  const std::uint32_t h = b.make(5, {.op = "tanh", .bytes = 16});
  b.die(h, "disposed", 6);
  b.raise(8,
          {"DisposedError", "add", "input 1 was disposed: float32 [4] (#1)",
           "use it before it is disposed."},
          1);
  b.raise(8, {"DisposedError", "add", "input 1 was disposed: float32 [4] (#7)"}, 7);
  const std::vector<Finding> found = findings(b.run());
  ASSERT_EQ(found.size(), 1u) << texts(found);
  EXPECT_EQ(found[0].problem, Problem::misused);
  EXPECT_EQ(line_of(b.run(), found[0]), 8u);
  EXPECT_EQ(found[0].count, 2u);
  EXPECT_EQ(found[0].tensors, Ids{h});
  EXPECT_EQ(found[0].remedy, "use it before it is disposed.");
  EXPECT_EQ(found[0].title,
            "prog.cpp:8: DisposedError: add: input 1 was disposed: float32 [4] (#1) (2 times)");
}

TEST(Misused, the_first_tensor_of_JavaScript_has_the_id_0_and_an_error_about_none_another) {
  MadeRun b;
  const std::uint32_t h = b.make(5, {.op = "tanh", .bytes = 16});
  b.raise(8, {"DisposedError", "neg", "input 0 was disposed: float32 [4] (#0)"}, 0);
  b.raise(9, {"DisposedError", "predict", "model \"m\" was disposed"}, std::uint64_t{1} << 50);
  auto& run = b.run();
  run.tensors[h].id = 0;
  const std::vector<Finding> found = findings(run);
  ASSERT_EQ(found.size(), 2u) << texts(found);
  EXPECT_EQ(found[0].tensors, Ids{h});
  EXPECT_TRUE(found[1].tensors.empty());
}

TEST(Findings, of_a_program_in_JavaScript_advise_in_JavaScript) {
  MadeRun b;
  Ids all;
  for (int i = 0; i < 100; ++i) all.push_back(b.make(3, {.op = "ones", .bytes = 4096}));
  const std::uint32_t tidy = b.begin("tidy", "", 4);
  b.make(5, {.bytes = 100});
  b.end(tidy);
  for (const Finding& each : findings(b.run())) {
    EXPECT_EQ(each.remedy.find("tf."), std::string::npos) << each.remedy;
  }
  b.run().language = Language::javascript;
  const std::vector<Finding> found = findings(b.run());
  ASSERT_EQ(found.size(), 2u) << texts(found);
  for (const Finding& each : found) {
    EXPECT_NE(each.remedy.find("tensor.dispose()"), std::string::npos) << each.remedy;
    EXPECT_EQ(each.remedy.find("destroy"), std::string::npos) << each.remedy;
  }
}

TEST(Findings, errors_come_first_then_what_holds_most) {
  MadeRun b;
  const std::uint32_t scope = b.begin("tidy", "", 4);
  b.make(5, {.bytes = 100});
  b.make(6, {.bytes = 3000});
  b.make(7, {.bytes = 200});
  b.end(scope);
  b.raise(8, {"TapeError", "gradient", "called before"});
  const std::vector<Finding> found = findings(b.run());
  ASSERT_EQ(found.size(), 4u) << texts(found);
  EXPECT_EQ(line_of(b.run(), found[0]), 8u);
  EXPECT_EQ(line_of(b.run(), found[1]), 6u);
  EXPECT_EQ(line_of(b.run(), found[2]), 7u);
  EXPECT_EQ(line_of(b.run(), found[3]), 5u);
}

}  // namespace
}  // namespace tenure::report
