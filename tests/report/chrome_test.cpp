#include "report/chrome.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/made_run.h"

namespace tenure::report {
namespace {

nlohmann::json exported(const Run& run) {
  std::ostringstream out;
  write_chrome_trace(run, out);
  return nlohmann::json::parse(out.str());
}

TEST(Chrome, events_nest_and_add_up_to_the_run) {
  MadeRun b;
  for (int i = 0; i < 5; ++i) {
    const std::uint32_t fit = b.begin("fit", "", 2);
    const std::uint32_t step = b.begin("step", "with \"quotes\"\n", 3);
    b.op(4, "matmul", 64, 300);
    b.op(4, "add", 8, 200);
    b.end(step);
    b.end(fit);
  }
  const report::Run& run = b.run();
  const nlohmann::json trace = exported(run);
  std::map<std::string, std::int64_t> time;
  std::vector<std::pair<double, double>> complete;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const double begin = event["ts"].get<double>();
    const double duration = event["dur"].get<double>();
    if (event["cat"] == "op") {
      time[event["name"]] += static_cast<std::int64_t>(std::llround(duration * 1000));
    }
    complete.emplace_back(begin, begin + duration);
  }
  EXPECT_EQ(time["matmul"], 5 * 300);
  EXPECT_EQ(time["add"], 5 * 200);
  EXPECT_EQ(complete.size(), run.spans.size() + run.ops.size());
  for (const auto& [a, a_end] : complete) {
    for (const auto& [c, c_end] : complete) {
      const bool apart = a_end <= c || c_end <= a;
      const bool nested = (a <= c && c_end <= a_end) || (c <= a && a_end <= c_end);
      EXPECT_TRUE(apart || nested) << a << ".." << a_end << " and " << c << ".." << c_end;
    }
  }
}

TEST(Chrome, a_span_that_is_not_nested_becomes_an_asynchronous_pair) {
  MadeRun b;
  const std::uint32_t tape = b.begin("tape", "t", 2);
  const std::uint32_t scope = b.begin("tidy", "s", 3);
  b.end(tape);
  b.op(4, "add");
  b.end(scope);
  int complete = 0, begun = 0, ended = 0;
  const nlohmann::json trace = exported(b.run());
  for (const nlohmann::json& event : trace["traceEvents"]) {
    complete += event["ph"] == "X" ? 1 : 0;
    begun += event["ph"] == "b" ? 1 : 0;
    ended += event["ph"] == "e" ? 1 : 0;
  }
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(complete, 2);
}

TEST(Chrome, the_last_counter_is_what_lives_at_the_end) {
  MadeRun b;
  b.make(2, {.bytes = 100, .category = Category::parameter});
  b.die(b.make(3, {.bytes = 1 << 20}));
  std::uint64_t most = 0, last = 0;
  int deaths = 0;
  const nlohmann::json trace = exported(b.run());
  for (const nlohmann::json& event : trace["traceEvents"]) {
    deaths += event["ph"] == "i" && event["cat"] == "death" ? 1 : 0;
    if (event["ph"] != "C" || event["name"] != "live bytes") continue;
    last = 0;
    for (const auto& [category, bytes] : event["args"].items()) last += bytes.get<std::uint64_t>();
    most = std::max(most, last);
  }
  EXPECT_EQ(last, 100u);
  EXPECT_EQ(most, 100u + (1 << 20));
  EXPECT_EQ(deaths, 1);
}

TEST(Chrome, errors_metrics_and_odd_text_are_sound_json) {
  MadeRun b;
  b.raise(3, {"DisposedError", "add", "\"x\"\n\xff\n"});
  b.value("loss", 1, 0.5);
  b.value("loss", 2, std::numeric_limits<double>::quiet_NaN());
  b.value("loss", 3, std::numeric_limits<double>::infinity());
  int errors = 0, values = 0;
  const nlohmann::json trace = exported(b.run());
  for (const nlohmann::json& event : trace["traceEvents"]) {
    errors += event["ph"] == "i" && event["name"] == "DisposedError" ? 1 : 0;
    values += event["ph"] == "C" && event["name"] == "loss" ? 1 : 0;
  }
  EXPECT_EQ(errors, 1);
  EXPECT_EQ(values, 1);
}

}  // namespace
}  // namespace tenure::report
