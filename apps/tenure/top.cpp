// `tenure top`: where the bytes and the time of a recorded run went, also while it runs.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "commands.h"
#include "report/findings.h"
#include "report/holders.h"
#include "report/names.h"
#include "report/timeline.h"
#include "show_findings.h"
#include "tenure/error.h"

namespace tenure::app {

const std::map<std::string, report::By> kBy{{"site", report::By::site},
                                            {"op", report::By::op},
                                            {"scope", report::By::scope},
                                            {"thread", report::By::thread},
                                            {"category", report::By::category}};

namespace {

std::string name_of(report::By by) {
  for (const auto& [name, value] : kBy) {
    if (value == by) return name;
  }
  return "";
}

// 1.5s, 200ms, 30us, 1200ns; a number alone is seconds.
std::optional<std::int64_t> parse_time(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 5> kUnits{
      {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}}};
  constexpr double kLongest = 1e18;  // nanoseconds: thirty years
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !(value >= 0)) return {};
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const auto& [name, factor] : kUnits) {
    if (unit != name) continue;
    if (value * factor > kLongest) return {};
    return static_cast<std::int64_t>(value * factor);
  }
  return {};
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? ""
                    : fmt::format("{:.1f} %",
                                  100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string graphs(const Terminal& to, const report::Timeline& timeline) {
  const auto width = static_cast<std::size_t>(std::max(20, to.width - 36));
  const std::vector<report::Moment> parts = timeline.parts(width);
  const std::uint64_t largest = report::sum(timeline.peak().live);
  std::string text;
  const auto add = [&](std::string_view name, const auto& bytes_at) {
    std::vector<std::uint64_t> values;
    std::uint64_t most = 0;
    for (const report::Moment& part : parts) {
      values.push_back(bytes_at(part));
      most = std::max(most, values.back());
    }
    if (most == 0) return;
    text += fmt::format("  {:<18}  {}  {:>10}\n", name, sparkline(to, values, largest),
                        report::bytes_text(most));
  };
  add("live", [](const report::Moment& part) { return report::sum(part.live); });
  for (std::size_t i = 0; i < tenure::kCategories; ++i) {
    add(tenure::name(static_cast<tenure::Category>(i)),
        [i](const report::Moment& part) { return part.live[static_cast<std::size_t>(i)]; });
  }
  return text;
}

std::string more_text(std::size_t shown, std::size_t all) {
  return all <= shown ? "" : fmt::format("  and {} more\n", all - shown);
}

std::string holders(const Terminal& to, const report::Run& run, const TopOptions& options,
                    std::int64_t time) {
  const std::vector<report::HolderRow> rows = report::holders_at(run, time, options.by);
  std::uint64_t all = 0;
  for (const report::HolderRow& row : rows) all += row.bytes;
  Table table({{"bytes", true},
               {"share", true},
               {"storages", true},
               {"age", true},
               {name_of(options.by), false, options.by != report::By::site},
               {"mostly", false, true}});
  for (std::size_t i = 0; i < std::min(rows.size(), options.rows); ++i) {
    const report::HolderRow& row = rows[i];
    table.add({report::bytes_text(row.bytes), share_text(row.bytes, all),
               std::to_string(row.storages), report::time_text(time - row.oldest), row.key,
               row.detail});
  }
  return table.empty() ? "  nothing\n" : table.text(to) + more_text(options.rows, rows.size());
}

std::string operations(const Terminal& to, const report::Run& run, std::size_t most) {
  const std::vector<report::OpTotal> ops = report::op_totals(run);
  std::int64_t all = 0;
  for (const report::OpTotal& op : ops) all += op.time;
  Table table({{"op", false, true},
               {"calls", true},
               {"time", true},
               {"share", true},
               {"each", true},
               {"longest", true},
               {"bytes made", true}});
  for (std::size_t i = 0; i < std::min(ops.size(), most); ++i) {
    const report::OpTotal& op = ops[i];
    table.add({op.op, std::to_string(op.calls), report::time_text(op.time),
               share_text(static_cast<std::uint64_t>(op.time), static_cast<std::uint64_t>(all)),
               report::time_text(op.time / static_cast<std::int64_t>(op.calls)),
               report::time_text(op.longest), report::bytes_text(op.bytes)});
  }
  return table.empty() ? "" : table.text(to) + more_text(most, ops.size());
}

std::string spans(const Terminal& to, const report::Run& run, std::size_t most) {
  const std::vector<report::SpanTotal> totals = report::span_totals(run);
  Table table({{"span", false, true},
               {"where", false},
               {"count", true},
               {"time", true},
               {"each", true},
               {"longest", true}});
  for (std::size_t i = 0; i < std::min(totals.size(), most); ++i) {
    const report::SpanTotal& span = totals[i];
    table.add({span.label, report::site_text(run, span.site), std::to_string(span.count),
               report::time_text(span.time),
               report::time_text(span.time / static_cast<std::int64_t>(span.count)),
               report::time_text(span.longest)});
  }
  return table.empty() ? "" : table.text(to) + more_text(most, totals.size());
}

std::string metrics(const Terminal& to, const report::Run& run) {
  struct Series {
    std::uint64_t count = 0;
    double first = 0, last = 0, lowest = 0, highest = 0;
  };
  std::map<std::string_view, Series> all;
  for (const report::Value& value : run.values) {
    Series& series = all[report::text_of(run, value.name)];
    if (series.count++ == 0) series.first = series.lowest = series.highest = value.value;
    series.last = value.value;
    series.lowest = std::min(series.lowest, value.value);
    series.highest = std::max(series.highest, value.value);
  }
  Table table({{"metric", false, true},
               {"values", true},
               {"first", true},
               {"last", true},
               {"lowest", true},
               {"highest", true}});
  for (const auto& [name, series] : all) {
    const auto text = [](double value) { return fmt::format("{:.4g}", value); };
    table.add({std::string(name), std::to_string(series.count), text(series.first),
               text(series.last), text(series.lowest), text(series.highest)});
  }
  return table.empty() ? "" : table.text(to);
}

std::string page(const Terminal& to, const report::Run& run, const TopOptions& options) {
  const report::Timeline timeline(run);
  std::string text = summary_text(to, options.file, run);
  const auto section = [&](const std::string& title, const std::string& body) {
    if (!body.empty()) text += fmt::format("\n{}\n{}", to.paint(Colour::bold, title), body);
  };
  const std::vector<report::Finding> findings = report::findings(run);
  if (!findings.empty()) {
    section(report::count_text(findings.size(), "finding") + " (tenure leaks tells more)",
            findings_text(to, run, findings, 0));
    text.pop_back();
  }
  section("live bytes over time", graphs(to, timeline));
  std::int64_t time = timeline.peak().time;
  std::string moment = "the peak";
  if (options.at == "end") {
    time = run.length;
    moment = "the end";
  } else if (options.at != "peak") {
    time = std::min(*parse_time(options.at), run.length);
    moment = report::time_text(time);
  }
  section(fmt::format("held at {}, by {}", moment, name_of(options.by)),
          holders(to, run, options, time));
  section("operations", operations(to, run, options.rows));
  section("spans", spans(to, run, options.rows));
  section("metrics", metrics(to, run));
  return text;
}

std::atomic<bool> g_interrupted{false};

// 0 for a file that the program has yet to make.
std::uintmax_t size_of(const std::string& file) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error == std::errc::no_such_file_or_directory) return 0;
  if (error) throw std::filesystem::filesystem_error("top", file, error);
  return size;
}

// Reads the file again whenever it has grown, until the recording is closed.
void follow(const TopOptions& options) {
  std::signal(SIGINT, [](int) { g_interrupted = true; });
  if (!std::filesystem::exists(options.file)) {
    fmt::print(stderr, "tenure top: waiting for {}, which is not there yet\n", options.file);
  }
  std::uintmax_t size = 0;
  while (!g_interrupted) {
    const std::uintmax_t now = size_of(options.file);
    if (now != size) {
      size = now;
      std::optional<report::Run> run;
      try {
        run = report::read_run(options.file);
      } catch (const IoError&) {
        if (now != 0) throw;  // nothing has been written yet
      }
      const Terminal to = terminal();
      if (run && (to.is_terminal || !run->cut_short)) {
        const std::string text = page(to, *run, options);
        fmt::print("{}{}", to.is_terminal ? "\033[H\033[2J" : "", text);
        std::fflush(stdout);
      }
      if (run && !run->cut_short) return;
    }
    for (int i = 0; i < 5 && !g_interrupted; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
}

}  // namespace

std::string check_moment(const std::string& text) {
  if (text == "peak" || text == "end" || parse_time(text)) return "";
  return fmt::format("no moment: {} (peak, end, or a time such as 1.5s or 200ms)", text);
}

int run_top(const TopOptions& options) {
  if (options.follow) {
    follow(options);
  } else {
    fmt::print("{}", page(terminal(), report::read_run(options.file), options));
  }
  return 0;
}

}  // namespace tenure::app
