#include "show_findings.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "report/names.h"
#include "report/timeline.h"

namespace tenure::app {
namespace {

constexpr std::size_t kStories = 5;  // of each finding, for programs

Colour colour_of(report::Problem problem) {
  return problem == report::Problem::pinned ? Colour::yellow : Colour::red;
}

// The line itself, where the source is at hand.
std::string source_line(const report::Run& run, std::uint32_t site) {
  if (site >= run.sites.size()) return "";
  const std::filesystem::path path(report::text_of(run, run.sites[site].file));
  std::ifstream file(path);
  // The compiler was given it as seen from a folder of the build, which the program lies in.
  std::filesystem::path folder =
      std::filesystem::path(run.program.substr(0, run.program.find(' ')));
  while (!file.is_open() && path.is_relative() && folder.has_relative_path()) {
    folder = folder.parent_path();
    file.open(folder / path);
  }
  std::string line;
  for (std::uint32_t i = 0; i < run.sites[site].line; ++i) {
    if (!std::getline(file, line)) return "";
  }
  line.erase(0, line.find_first_not_of(" \t"));
  return line;
}

}  // namespace

std::string_view name(report::Problem problem) {
  switch (problem) {
    case report::Problem::growth:
      return "growth";
    case report::Problem::outlived:
      return "outlived";
    case report::Problem::pinned:
      return "pinned";
    case report::Problem::misused:
      return "misused";
  }
  return "";
}

std::string findings_text(const Terminal& to, const report::Run& run,
                          const std::vector<report::Finding>& findings, std::size_t stories) {
  const auto width = static_cast<std::size_t>(to.width);
  std::string text;
  for (const report::Finding& finding : findings) {
    const std::string kind(name(finding.problem));
    std::string title = wrapped(finding.title, width, "            ");
    title.replace(0, 12, fmt::format("  {:<8}  ", kind));
    if (to.has_colours) {
      title.replace(2, kind.size(), to.paint(colour_of(finding.problem), kind));
    }
    text += title;
    const std::string path = report::site_path(run, finding.site);
    if (std::string source = source_line(run, finding.site); !source.empty()) {
      if (display_width(source) + 14 > width) source = cut(source, width - 14);
      text += to.paint(Colour::dim, fmt::format("            {}\n              {}", path, source)) +
              "\n";
    } else {
      text += to.paint(Colour::dim, fmt::format("            {}", path)) + "\n";
    }
    text += to.paint(Colour::cyan, wrapped(finding.remedy, width, "            "));
    const std::vector<std::uint32_t> listed = report::some_of(finding.tensors, stories);
    for (const std::uint32_t tensor : listed) {
      text += "\n" + report::story_text(run, tensor, "            ");
    }
    if (stories > 0 && finding.problem != report::Problem::misused &&
        finding.count > listed.size()) {
      text += fmt::format("            and {} more\n", finding.count - listed.size());
    }
    text += "\n";
  }
  return text;
}

std::string findings_json(const report::Run& run, const std::vector<report::Finding>& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const report::Finding& finding : findings) {
    nlohmann::ordered_json each;
    each["problem"] = name(finding.problem);
    each["title"] = finding.title;
    each["remedy"] = finding.remedy;
    if (finding.site < run.sites.size()) {
      const report::Site& site = run.sites[finding.site];
      each["file"] = report::text_of(run, site.file);
      each["line"] = site.line;
      each["function"] = report::text_of(run, site.function);
    }
    each["bytes"] = finding.bytes;
    each["count"] = finding.count;
    each["stories"] = nlohmann::ordered_json::array();
    for (const std::uint32_t tensor : report::some_of(finding.tensors, kStories)) {
      each["stories"].push_back(report::story_text(run, tensor));
    }
    list.push_back(std::move(each));
  }
  nlohmann::ordered_json whole;
  whole["program"] = run.program;
  whole["events"] = run.events;
  whole["seconds"] = static_cast<double>(run.length) / 1e9;
  whole["cut_short"] = run.cut_short;
  whole["findings"] = std::move(list);
  return whole.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string summary_text(const Terminal& to, const std::string& file, const report::Run& run) {
  const report::Timeline timeline(run);
  const auto started = static_cast<std::time_t>(run.started / 1'000'000'000);
  std::string text = to.paint(Colour::bold, run.program.empty() ? "(no name)" : run.program);
  text += fmt::format("\n{}: {}, {}", file, report::time_text(run.length),
                      report::count_text(run.events, "event"));
  if (started != 0) text += fmt::format(", started {:%Y-%m-%d %H:%M:%S}", fmt::localtime(started));
  text += fmt::format("\npeak {} at {}; at the end {}",
                      report::bytes_text(report::sum(timeline.peak().live)),
                      report::time_text(timeline.peak().time),
                      report::bytes_text(report::sum(timeline.end().live)));
  if (run.budget != 0) text += fmt::format("; budget {}", report::bytes_text(run.budget));
  return text + "\n" + cut_short_note(to, run);
}

std::string cut_short_note(const Terminal& to, const report::Run& run) {
  const std::string text = report::cut_short_text(run);
  if (text.empty()) return "";
  return to.paint(Colour::yellow, wrapped(text, static_cast<std::size_t>(to.width), ""));
}

}  // namespace tenure::app
