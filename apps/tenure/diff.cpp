// `tenure diff`: what a second run holds that the first did not.
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "commands.h"
#include "report/compare.h"
#include "report/names.h"
#include "show_findings.h"
#include "terminal.h"

namespace tenure::app {
namespace {

std::string signed_bytes(std::uint64_t first, std::uint64_t second) {
  if (first == second) return "=";
  return second > first ? "+" + report::bytes_text(second - first)
                        : "-" + report::bytes_text(first - second);
}

std::string signed_time(std::int64_t change) {
  return change < 0 ? "-" + report::time_text(-change) : "+" + report::time_text(change);
}

std::string change_text(std::uint64_t first, std::uint64_t second) {
  return fmt::format("{} to {} ({})", report::bytes_text(first), report::bytes_text(second),
                     signed_bytes(first, second));
}

std::string sites(const Terminal& to, const std::vector<report::SiteChange>& lines,
                  std::size_t most) {
  Table table({{"change", true},
               {"first", true},
               {"second", true},
               {"storages", true},
               {"where", false},
               {"what", false, true}});
  for (std::size_t i = 0; i < std::min(lines.size(), most); ++i) {
    const report::SiteChange& line = lines[i];
    table.add({signed_bytes(line.first.bytes, line.second.bytes),
               report::bytes_text(line.first.bytes), report::bytes_text(line.second.bytes),
               fmt::format("{} to {}", line.first.count, line.second.count),
               line.site.substr(line.site.find_last_of('/') + 1), line.op});
  }
  if (table.empty()) return "  the same\n";
  std::string text = table.text(to);
  if (lines.size() > most) text += fmt::format("  and {} more\n", lines.size() - most);
  return text;
}

std::string operations(const Terminal& to, const std::vector<report::OpChange>& ops,
                       std::size_t most) {
  Table table({{"op", false, true},
               {"calls", true},
               {"first", true},
               {"second", true},
               {"change", true},
               {"", false}});
  for (std::size_t i = 0; i < std::min(ops.size(), most); ++i) {
    const report::OpChange& op = ops[i];
    const char* note = op.first_calls == 0 ? "new" : op.second_calls == 0 ? "gone" : "";
    table.add({op.op, fmt::format("{} to {}", op.first_calls, op.second_calls),
               report::time_text(op.first_time), report::time_text(op.second_time),
               signed_time(op.second_time - op.first_time), note});
  }
  return table.empty() ? "" : table.text(to);
}

}  // namespace

int run_diff(const DiffOptions& options) {
  const report::Run first = report::read_run(options.first);
  const report::Run second = report::read_run(options.second);
  const report::Comparison change = report::compare(first, second);
  const Terminal to = terminal();
  const bool more = change.holds_more();
  fmt::print("first   {}: {}, {}\n", options.first, report::time_text(first.length),
             report::count_text(first.events, "event"));
  fmt::print("second  {}: {}, {}\n", options.second, report::time_text(second.length),
             report::count_text(second.events, "event"));
  for (const auto& [file, run] :
       {std::pair(&options.first, &first), std::pair(&options.second, &second)}) {
    if (run->cut_short) fmt::print("{}: {}", *file, cut_short_note(to, *run));
  }
  fmt::print("peak    {}\n", change_text(change.first_peak, change.second_peak));
  fmt::print("end     {}\n\n", change_text(change.first_end, change.second_end));
  fmt::print("{}\n", more ? to.paint(Colour::red, "the second run holds more")
                          : to.paint(Colour::green, "the second run holds no more"));
  fmt::print("\n{}\n{}", to.paint(Colour::bold, "alive at the end"),
             sites(to, change.at_end, options.rows));
  fmt::print("\n{}\n{}", to.paint(Colour::bold, "alive at the peak of each"),
             sites(to, change.at_peak, options.rows));
  fmt::print("\n{}\n{}", to.paint(Colour::bold, "time per operation"),
             operations(to, change.ops, options.rows));
  return more ? kFound : 0;
}

}  // namespace tenure::app
