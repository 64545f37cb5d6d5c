#include "report/timeline.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "report/compare.h"
#include "report/holders.h"
#include "report/made_run.h"
#include "report/names.h"

namespace tenure::report {
namespace {

std::size_t index(Category category) { return static_cast<std::size_t>(category); }

TEST(Timeline, of_nothing_is_zero_everywhere) {
  const report::Run run;
  const Timeline timeline(run);
  EXPECT_EQ(sum(timeline.peak().live), 0u);
  EXPECT_EQ(sum(timeline.at(5).live), 0u);
  EXPECT_EQ(timeline.parts(4).size(), 4u);
}

TEST(Timeline, peak_is_the_first_moment_of_the_most_bytes) {
  MadeRun b;
  const std::uint32_t x = b.make(1, {.bytes = 100});
  const std::uint32_t y = b.make(2, {.bytes = 300});
  const std::int64_t at = b.run().tensors[y].born;
  b.die(y);
  const std::uint32_t z = b.make(3, {.bytes = 300});
  b.die(z);
  const Timeline timeline(b.run());
  EXPECT_EQ(sum(timeline.peak().live), 400u);
  EXPECT_EQ(timeline.peak().time, at);
  EXPECT_EQ(sum(timeline.end().live), 100u);
  EXPECT_EQ(b.run().tensors[x].died, kNever);
}

TEST(Timeline, bytes_move_between_categories) {
  MadeRun b;
  const std::uint32_t x = b.make(1, {.bytes = 100, .category = Category::saved_for_backward});
  const std::int64_t before = b.run().tensors[x].born;
  b.become(x, Category::gradient);
  const Timeline timeline(b.run());
  EXPECT_EQ(timeline.at(before).live[index(Category::saved_for_backward)], 100u);
  EXPECT_EQ(timeline.end().live[index(Category::saved_for_backward)], 0u);
  EXPECT_EQ(timeline.end().live[index(Category::gradient)], 100u);
  EXPECT_EQ(category_at(b.run().storages[0], before), Category::saved_for_backward);
}

TEST(Timeline, agrees_with_counting_at_random_moments) {
  std::mt19937 random(7);
  MadeRun b;
  std::vector<std::uint32_t> live;
  for (int i = 0; i < 400; ++i) {
    if (live.empty() || random() % 3 != 0) {
      live.push_back(b.make(1, {.bytes = random() % 1000, .category = Category(random() % 7)}));
    } else {
      const std::size_t at = random() % live.size();
      b.die(live[at]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  const report::Run& run = b.run();
  const Timeline timeline(run);
  const auto counted = [&](std::int64_t time) {
    CategoryBytes bytes{};
    for (const StorageLife& storage : run.storages) {
      if (is_alive(storage, time)) bytes[index(category_at(storage, time))] += storage.nbytes;
    }
    return bytes;
  };
  std::uint64_t most = 0;
  for (std::int64_t time = 0; time <= run.length; time += 500) {
    ASSERT_EQ(timeline.at(time).live, counted(time)) << time;
    most = std::max(most, sum(counted(time)));
  }
  EXPECT_EQ(sum(timeline.peak().live), most);
  std::uint64_t most_of_parts = 0;
  for (const Moment& part : timeline.parts(17)) {
    most_of_parts = std::max(most_of_parts, sum(part.live));
  }
  EXPECT_EQ(most_of_parts, most);
}

TEST(Holders, bytes_at_a_moment_add_up_however_they_are_put_together) {
  MadeRun b;
  const std::uint32_t scope = b.begin("tidy", "step", 1);
  const std::uint32_t x = b.make(2, {.op = "normal", .bytes = 1000, .thread = 3});
  b.make(2, {.op = "normal", .bytes = 500});
  b.make(3, {.op = "slice", .bytes = 10, .view_of = x});
  b.end(scope);
  b.make(4,
         {.op = "read", .bytes = 700, .owner = "variable \"w\"", .category = Category::parameter});
  for (const By by : {By::site, By::op, By::scope, By::thread, By::category}) {
    std::uint64_t bytes = 0;
    for (const HolderRow& row : holders_at(b.run(), b.run().length, by)) bytes += row.bytes;
    EXPECT_EQ(bytes, 2200u) << static_cast<int>(by);
  }
  const std::vector<HolderRow> rows = holders_at(b.run(), b.run().length, By::site);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].key, "prog.cpp:2");
  EXPECT_EQ(rows[0].bytes, 1500u);
  EXPECT_EQ(rows[0].storages, 2u);
  EXPECT_EQ(rows[0].tensors, 3u);
  EXPECT_EQ(rows[0].detail, "normal, float32 [250], ...");
  EXPECT_EQ(rows[1].detail, "read, float32 [175], variable \"w\"");
}

TEST(Holders, a_row_is_described_by_what_most_of_its_bytes_are) {
  MadeRun b;
  for (int i = 0; i < 10; ++i) b.make(2, {.op = "mean", .bytes = 4});
  b.make(2, {.op = "mul", .bytes = 32});
  const std::vector<HolderRow> rows = holders_at(b.run(), b.run().length, By::site);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].bytes, 72u);
  EXPECT_EQ(rows[0].detail, "mean, float32 [1], ...");
}

TEST(Holders, a_storage_left_to_a_view_is_the_views) {
  MadeRun b;
  const std::uint32_t big = b.make(2, {.op = "normal", .bytes = 1000});
  b.make(3, {.op = "slice", .bytes = 10, .view_of = big});
  b.die(big);
  const std::vector<HolderRow> rows = holders_at(b.run(), b.run().length, By::site);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].key, "prog.cpp:3");
  EXPECT_EQ(rows[0].bytes, 1000u);
}

TEST(Totals, of_operations_and_spans) {
  MadeRun b;
  for (int i = 0; i < 3; ++i) {
    const std::uint32_t step = b.begin("step", "", 1);
    b.op(2, "matmul", 100, 400 + i);
    b.op(2, "add", 10, 5);
    b.end(step);
  }
  const std::vector<OpTotal> ops = op_totals(b.run());
  ASSERT_EQ(ops.size(), 2u);
  EXPECT_EQ(ops[0].op, "matmul");
  EXPECT_EQ(ops[0].calls, 3u);
  EXPECT_EQ(ops[0].time, 1203);
  EXPECT_EQ(ops[0].longest, 402);
  EXPECT_EQ(ops[0].bytes, 300u);
  const std::vector<SpanTotal> spans = span_totals(b.run());
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].label, "step");
  EXPECT_EQ(spans[0].count, 3u);
}

TEST(Totals, are_at_most_what_fits) {
  MadeRun b;
  for (int i = 0; i < 3; ++i) {
    b.end(b.begin("step", "", 1));
    b.op(2, "matmul", 0, std::int64_t{1} << 62);
  }
  for (Span& span : b.run().spans) span.end = span.begin + (std::int64_t{1} << 62);
  EXPECT_EQ(op_totals(b.run()).at(0).time, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(span_totals(b.run()).at(0).time, std::numeric_limits<std::int64_t>::max());
}

TEST(Compare, a_run_with_itself_holds_no_more) {
  MadeRun b;
  b.make(2, {.bytes = 100});
  const Comparison same = compare(b.run(), b.run());
  EXPECT_FALSE(same.holds_more());
  EXPECT_TRUE(same.at_end.empty());
  EXPECT_TRUE(same.at_peak.empty());
}

TEST(Compare, names_the_line_that_holds_more_and_the_operation_that_is_new) {
  MadeRun a, b;
  for (MadeRun* each : {&a, &b}) each->make(2, {.op = "normal", .bytes = 100});
  b.make(7, {.op = "tanh", .bytes = 50});
  const Comparison change = compare(a.run(), b.run());
  EXPECT_TRUE(change.holds_more());
  EXPECT_EQ(change.first_end, 100u);
  EXPECT_EQ(change.second_end, 150u);
  ASSERT_EQ(change.at_end.size(), 1u);
  EXPECT_EQ(change.at_end[0].site, "dir/prog.cpp:7");
  EXPECT_EQ(change.at_end[0].second.bytes, 50u);
  ASSERT_EQ(change.ops.size(), 2u);
  EXPECT_EQ(change.ops[0].op, "tanh");
  EXPECT_EQ(change.ops[0].first_calls, 0u);
  EXPECT_FALSE(compare(b.run(), a.run()).holds_more());
}

TEST(Names, read_as_in_errors) {
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(bytes_text(1024), "1.0 KiB");
  EXPECT_EQ(bytes_text(1024 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(time_text(999), "999 ns");
  EXPECT_EQ(time_text(1'500'000), "1.5 ms");
  EXPECT_EQ(time_text(2'000'000'000), "2.00 s");
  MadeRun b;
  const std::uint32_t scope = b.begin("tidy", "step", 4);
  const std::uint32_t h = b.make(5, {.op = "tanh", .bytes = 16, .name = "h"});
  b.die(h, "scope_exit", 4);
  b.end(scope);
  EXPECT_EQ(story_text(b.run(), h, "  "),
            "  float32 [4] \"h\" (#1)\n"
            "    born   prog.cpp:5  tanh         at 3.0 us\n"
            "    in     prog.cpp:4  tidy \"step\"\n"
            "    died   prog.cpp:4  scope_exit   at 4.0 us\n"
            "    16 B\n");
}

}  // namespace
}  // namespace tenure::report
